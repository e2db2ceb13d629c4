"""The sentences of the reference pages that the program does not show."""

from __future__ import annotations

COMMANDS = """\
`proxyctl COMMAND --help` explains a command and its own options, `proxyctl help connection` the
options that many commands share, and `proxyctl COMMAND --help-all` all of them. Data goes to
stdout, progress and errors to stderr. An option wins over the environment, and the environment over
the files. See also [exit codes](exit-codes.md) and the [JSON](json.md) that `--format json`
writes."""

ENVIRONMENT = {
    "PROXYCTL_PASSWORD": "the password of the admin account",
    "PROXYCTL_BACKEND_USER": "as `--backend-user`",
    "PROXYCTL_BACKEND_PASSWORD": "the password of that account",
    "PROXYCTL_BACKEND_PASSWORD_FILE": "as `--backend-password-file`",
    "PROXYCTL_STATE_DIR": "where snapshots are kept; else `$XDG_STATE_HOME/proxyctl`, else"
    " `~/.local/state/proxyctl`",
    "NO_COLOR": "no colour, even on a terminal",
    "FORCE_COLOR": "colour, even without a terminal",
}

KEYS = """\
Every section of the files and every key in it. An editor knows them too: `proxyctl schema` prints
the JSON Schema. So does the terminal: `proxyctl schema --key mysql_servers.weight`.

- Several files are joined: lists are appended, and the same key twice is an error.
- **text** is also `{env: NAME}` (an environment variable), `{file: PATH}` (a file without its last
  line break, relative to the YAML file) or `{hex: DIGITS}` (bytes). A value from the environment or
  a file is a secret: no plan, drift or rendered file shows it, except in the key of a row.
- A password, or a variable that holds one, is also `{command: [PROGRAM, ARGUMENT, ...]}`: see
  [passwords from a command](../how-to/passwords.md#passwords-from-a-command).
- `attributes: {additional_password: ...}` of a MySQL user accepts `{env: NAME}`, `{file: PATH}` or
  `{command: ...}` for the second password (ProxySQL 3.0), which ProxySQL holds as hexadecimal
  digits: see [rotate passwords](../how-to/rotate-passwords.md).
- A **hostgroup** is its number, or a name from [`hostgroups`](#hostgroups).
- Quote text that looks like a number or a boolean: `"8.10"`, `"on"`.
- A column that is not given gets ProxySQL's default. `null` is SQL NULL."""

SECTIONS = {
    "version": "The version of the file format, `1`. Optional.",
    "proxysql_version": "The ProxySQL that the files are for, such as `3.0.3` or `2.7.1`."
    " Without an instance, the files are checked against its tables, columns and variables."
    " `--proxysql-version` wins, and without both it is 3.0.3. An instance reports its own version."
    " `export` writes this key.",
    "instances": "The ProxySQL instances, and how to reach their admin interfaces. Optional: the"
    " [connection options](commands.md#options-for-connection) name one as well.",
    "variables": "A mapping of variable names to values. Only the variables named here are managed."
    " They are listed in [variables.md](variables.md).",
    "hostgroups": "A mapping of names to hostgroups. Use a name wherever a hostgroup number is"
    " expected. The columns of"
    " [`mysql_hostgroup_attributes`](#mysql_hostgroup_attributes) may be given next to `id`; with"
    " one of them, that table is managed.",
    "pxc_clusters": "Percona XtraDB Clusters. Each makes one row of"
    " [`mysql_galera_hostgroups`](#mysql_galera_hostgroups), whose columns are given next to the"
    " keys below, and one row of [`mysql_servers`](#mysql_servers) per node.",
    "sharding": "Tables spread over hostgroups, as query rules; or schemas, as fast routing. See"
    " [how to shard](../how-to/sharding.md).",
    "routing_tests": "Queries, and where they have to go. [`proxyctl"
    " test`](../how-to/query-rules.md#write-down-what-must-hold) runs them.",
    "manage": """\
The part of a table that these files own: a mapping of table names to key columns, each with a
value, a list of values, a range such as `"10-5999"` or a pattern such as `"app_*"`. `ignore` maps
table names to columns that are set when a row is added and left alone afterwards. See
[several teams](../how-to/several-teams.md).""",
    "policies": "House rules: expressions that must hold for the rows of a table, or for the"
    " changes of a plan. See [policies](../how-to/policies.md). The policies of several files are"
    " joined.",
    "guards": "What an apply refuses without `--force`: see [guards](../how-to/guards.md). `warn`"
    " shows it in the plan and goes on; `off`, in quotes, is silent.",
    "lint": "What [`proxyctl lint`](../how-to/lint.md) leaves out. The entries of several files are"
    " joined.",
    "keep_fast_routing_alive": """\
`true` (the default): if the last active rule has `apply`, proxyctl adds a rule after it that never
matches, because ProxySQL before 3.0.9 would skip fast routing. A plan does so even for fast routing
that the files leave alone. `false`: it adds none, and warns if fast routing is skipped. `export`
writes `false` for an instance that skips it.""",
}

TABLE_SECTIONS = """\
Each section below is a table of ProxySQL, as a list of rows. It may also be `{csv: FILE}` (the
first line names the columns; an empty field is absent, `\\N` is NULL) or `{jsonl: FILE}` (one
JSON object per line), relative to the YAML file: see [tables from CSV or JSON
lines](../how-to/files.md#tables-from-csv-or-json-lines). A section in the files makes its whole
table managed: a row that is in no file is deleted."""

TABLE = {
    "mysql_servers": "A `status` that is not given is left alone, so a server that an operator took"
    " out stays out. A new row gets ONLINE.",
    "mysql_users": "A user is one row unless `frontend` or `backend` is given. Without `password`,"
    " an existing user keeps the present one. For a new user, that is an error.",
    "mysql_query_rules": "A rule in a file is active unless it says `active: false`.",
}

VARIABLES = """\
The variables that `variables:` can set, with the defaults of a fresh ProxySQL 2.7.1. A variable
that the files do not name is left alone. A variable that this ProxySQL lacks is an error, because
ProxySQL would silently drop it. So is a value that ProxySQL would refuse, round or change.
Secret values are never shown.

Name `mysql-default_charset` and `mysql-default_collation_connection` together: in ProxySQL, the
collation changes the character set.

`proxyctl schema --key mysql-threads` shows one of them in the terminal."""

SIDES = {"admin": "Admin", "mysql": "MySQL", "pgsql": "PostgreSQL"}
"""The prefixes of variables, with their headings."""

LINT = """\
What `proxyctl lint` finds. An **error** does harm, or the row has no effect at all; a **warning**
may be intended; a **note** is worth knowing. [How to lint](../how-to/lint.md) shows how to run it
and how to ignore a finding. The page of a check has examples of what is wrong and what is right;
`proxyctl lint --explain CODE` shows it in the terminal."""

EXIT_CODES = """\
With 1, 2, 3 and 64 no instance was changed. Only `apply`, `rollback`, `nodes drain`,
`nodes restore`, `unlock` and `digest reset` change one at all. `plan` exits with 0
whether something would change, nothing would change, or an apply would be refused;
`--detailed-exitcode` gives 2 or 3 instead."""

EXIT_CODE = {
    "DONE": "Done, or in sync.",
    "ERROR": "An error in the files, while connecting or while reading. Also a routing test that"
    " fails, or a finding of `lint`, `doctor` or `validate` that is an error.",
    "DIFFERENCES": "There are differences: `drift`, `plan --detailed-exitcode`, `nodes discover`"
    " with files, or `import --check`. Or something needs a decision: `upgrade-check`.",
    "REFUSED": "Refused: by a guard, pending edits, a stale plan, a lock, a file that already"
    " exists, or the person asked. With `plan --detailed-exitcode`: an apply would be refused.",
    "INCOMPLETE": "An `apply` or a `rollback` did not finish; the message lists what each layer of"
    " each admin module holds. Or it finished, and the members of a ProxySQL Cluster that it names"
    " do not follow. Or a watch (`--watch`) saw harm, and the message says what was restored; or it"
    " ended early, and the change stays. With `--all`: some instances were changed, and those that"
    " it names were not."
    " `nodes drain` and `nodes restore`: the message says what became of the node, for example that"
    " it is still in use after `--timeout`; with `--all`, of each instance. `digest reset`: it is"
    " not known whether the statistics were cleared.",
    "USAGE": "A wrong command line.",
    "INTERRUPTED": "Interrupted from the keyboard. The message says what holds, as for 4.",
}

ERRORS = "With `--format json` an error is also JSON on stdout, and names its type:"

RULES_COST = """\
Do query rules scale? ProxySQL tries the rules one after the other, so a query pays for each rule
before its own. The number of rules counts, not the number of tables:
[`sharding`](../how-to/sharding.md) makes one rule per hostgroup, with a pattern that matches all
of its tables at once. Fast routing looks a schema up in a hash."""

RULES_COST_CONCLUSIONS = """\
- **One rule a table** costs little for 60 tables. With 1,000 a query costs about five times as
  much as without rules. With 10,000 ProxySQL spends nearly all of its time on patterns.
- **Rules per hostgroup**, the default of `sharding`, cost about the same for 60 and for 10,000
  tables.
- **Fast routing** costs the same for every number of schemas.
- **A read/write split in front** adds two patterns, which hardly count. With one rule a table it
  doubles the number of rules: ProxySQL passes over rules with another `flagIN` without trying
  their pattern, yet 10,000 of them made a query half as expensive again.

The tables have regular names here, so six patterns hold 10,000 of them. Names without a common
form make longer patterns, which become several rules of at most 8 KB each.

How it was measured: ProxySQL 2.7.1 with its default settings and without the monitor, one MariaDB
10.11 for all hostgroups, and sysbench with 8 threads, on the same two cores. Each query is a point
select on a random table; with fast routing, each thread stays in one schema. The processor time is
that of the ProxySQL process, divided by the queries; the best of three runs counts. Queries a
second depend on the machine, which also worked for sysbench, MariaDB and other programs: read no
meaning into differences below 25 microseconds. In the checkout, `python -m tests.bench.rules_cost`
measures it on yours."""
