"""The sentences of the reference pages. A key without one stops the generator."""

from __future__ import annotations

COMMANDS = """\
`proxyctl COMMAND --help` shows the same. Data goes to stdout, progress and errors to stderr. An
option wins over the environment, and the environment over the files. See also [exit
codes](exit-codes.md) and the [JSON](json.md) that `--format json` writes."""

ENVIRONMENT = {
    "PROXYCTL_PASSWORD": "the password of the admin account",
    "PROXYCTL_BACKEND_USER": "as `--backend-user`",
    "PROXYCTL_BACKEND_PASSWORD": "the password of that account",
    "PROXYCTL_BACKEND_PASSWORD_FILE": "as `--backend-password-file`",
    "PROXYCTL_STATE_DIR": "where snapshots are kept; else `$XDG_STATE_HOME/proxyctl`, else"
    " `~/.local/state/proxyctl`",
    "NO_COLOR": "no colour, also on a terminal",
    "FORCE_COLOR": "colour, also without a terminal",
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
- `attributes: {additional_password: ...}` of a MySQL user takes `{env: NAME}`, `{file: PATH}` or
  `{command: ...}` for his second password (ProxySQL 3.0), which ProxySQL holds as hexadecimal
  digits: see [rotate passwords](../how-to/rotate-passwords.md).
- A **hostgroup** is its number, or a name from [`hostgroups`](#hostgroups).
- Quote text that looks like a number or a boolean: `"8.10"`, `"on"`.
- A column that is not given gets ProxySQL's default. `null` is SQL NULL."""

SECTIONS = {
    "version": "The version of the file format, `1`. Optional.",
    "proxysql_version": "The ProxySQL that the files are for, such as `3.0.3` or `2.7.1`. Where"
    " no instance is asked, the files are checked against its tables, columns and variables;"
    " `--proxysql-version` wins, and without both it is 3.0.3. An instance has its own version."
    " `export` writes this key.",
    "instances": "The ProxySQL instances, and how to reach their admin interfaces. Optional: the"
    " [connection options](commands.md#options-for-connection) name one as well.",
    "variables": "A mapping of variable names to values. Only the variables named here are managed."
    " They are listed in [variables.md](variables.md).",
    "hostgroups": "A mapping of names to hostgroups. Use a name wherever a hostgroup number is"
    " expected. The columns of"
    " [`mysql_hostgroup_attributes`](#mysql_hostgroup_attributes) may stand beside `id`; with one"
    " of them that table is managed.",
    "pxc_clusters": "Percona XtraDB Clusters. Each makes one row of"
    " [`mysql_galera_hostgroups`](#mysql_galera_hostgroups), whose columns stand beside the keys"
    " below, and one row of [`mysql_servers`](#mysql_servers) a node.",
    "sharding": "Tables spread over hostgroups, as query rules; or schemas, as fast routing. See"
    " [how to shard](../how-to/sharding.md).",
    "routing_tests": "Queries, and where they have to go. [`proxyctl"
    " test`](../how-to/query-rules.md#write-down-what-must-hold) runs them.",
    "manage": """\
The part of a table that these files own: a mapping of table names to key columns, each with a
value, a list of values, a range such as `"10-5999"` or a pattern such as `"app_*"`. `ignore` maps
table names to columns that are set when a row is added and left alone afterwards. See
[several teams](../how-to/several-teams.md).""",
    "policies": "Rules of the house: expressions that must hold for the rows of a table, or for the"
    " changes of a plan. See [policies](../how-to/policies.md). The policies of several files are"
    " joined.",
    "guards": "What an apply refuses without `--force`: see [guards](../how-to/guards.md). `warn`"
    " says it in the plan and goes on; `off`, in quotes, says nothing.",
    "lint": "What [`proxyctl lint`](../how-to/lint.md) leaves out. The entries of several files are"
    " joined.",
    "keep_fast_routing_alive": """\
`true` (the default): if the last active rule has `apply`, proxyctl adds a rule behind it that never
matches, because ProxySQL before 3.0.9 would skip fast routing. A plan does so also for fast routing
that the files leave alone. `false`: it adds none, and warns if fast routing is skipped. `export`
writes `false` for an instance that skips it.""",
}

TABLE_SECTIONS = """\
Each section below is a table of ProxySQL, as a list of rows. It may also be `{csv: FILE}` (the
first line names the columns; an empty field is absent, `\\N` is NULL) or `{jsonl: FILE}` (a JSON
object a line), relative to the YAML file: see [tables from CSV or JSON
lines](../how-to/files.md#tables-from-csv-or-json-lines). A section that is there makes the whole
table managed: a row that is in no file is deleted."""

MODELS = {
    "Expectation": "expect",
    "MaxDeletes": "max_deletes",
    "IgnoredFindings": "ignore",
    "pxc_node": "nodes",
    "pxc_node_defaults": "node_defaults",
}
"""Models below a section that get a table of their own, and the key they stand under."""

TYPES = {
    "EnvReference": "text",
    "FileReference": "text",
    "HexReference": "text",
    "Expectation": "mapping, below",
    "MaxDeletes": "mapping, below",
    "IgnoredFindings": "mapping, below",
    "pxc_node": "mappings, below",
    "pxc_node_defaults": "mapping, below",
}

KEY = {
    "instances.name": "The name for `--instance` and in plans. Required, but not with `dns`.",
    "instances.host": "Address of the admin interface. Give `host`, `socket` or `dns`.",
    "instances.dns": "A DNS name: each of its addresses is an instance, and the address its name.",
    "instances.port": "Port of the admin interface.",
    "instances.user": "Admin account. ProxySQL accepts `admin` from its own host only.",
    "instances.password": "Its password; `{env: NAME}` or `{file: PATH}` keeps it out of the file.",
    "instances.socket": "Unix socket, instead of host and port.",
    "instances.tls_ca": "Use TLS and verify the certificate with this CA.",
    "instances.tls_verify_identity": "With `tls_ca`: the certificate also has to name the host.",
    "instances.tls_required": "Refuse to talk without TLS.",
    "instances.vars": "Variables for templates when this instance is chosen.",
    "hostgroups.id": "The hostgroup number.",
    "pxc_clusters.name": "A name for messages and plans.",
    "pxc_clusters.nodes": "The nodes, each once.",
    "pxc_clusters.node_defaults": "Columns of `mysql_servers` that all nodes share.",
    "nodes.hostgroup": "The hostgroup of the node's row. By default the writer hostgroup.",
    "node_defaults.hostgroup": "As for a node.",
    "sharding.name": "A name for messages and plans.",
    "sharding.tables": "Table names: `sbtest{1..60}`, a list, or a mapping to hostgroups."
    " They become query rules.",
    "sharding.schemas": "Schema names, in the same forms. They become fast routing.",
    "sharding.hostgroups": "The hostgroups to use. The order matters.",
    "sharding.assign": "How a name finds its hostgroup. `explicit` for a mapping.",
    "sharding.rules": "One rule per hostgroup, or one per table.",
    "sharding.first_rule_id": "The number of the first rule. The others follow in the order of the"
    " hostgroups.",
    "sharding.rule_ids": "The numbers that the rules may use. Too few are an error.",
    "sharding.username": "Only for this user.",
    "sharding.schema": "Only when this is the default schema.",
    "sharding.match": "Match the digest, or the query as it was sent.",
    "sharding.comment": "The comment of the rules. By default it lists the names.",
    "sharding.flagIN": "The flagIN of the rules: their place in the rule chain.",
    "routing_tests.name": "A name for the test.",
    "routing_tests.query": "The query.",
    "routing_tests.username": "The user who sends it. Without a user, no rule matches that names"
    " one.",
    "routing_tests.schemaname": "The default schema.",
    "routing_tests.client_addr": "The address of the client.",
    "routing_tests.proxy_addr": "The address of ProxySQL that the client uses.",
    "routing_tests.proxy_port": "The port of ProxySQL that the client uses.",
    "routing_tests.flagIN": "The flagIN to begin with.",
    "routing_tests.expect": "The expected result. Only the keys given are compared.",
    "expect.hostgroup": "The hostgroup that gets the query.",
    "expect.rule_id": "The last rule that matches.",
    "expect.matched_rules": "All rules that match, in order.",
    "expect.rewritten": "The text after rewriting.",
    "expect.digest": "The digest.",
    "expect.digest_text": "The text of the digest.",
    "expect.cache_ttl": "How long the result is cached, in milliseconds.",
    "expect.error_msg": "The error that the client gets instead.",
    "expect.OK_msg": "The OK that the client gets instead.",
    "policies.name": "The name, for messages.",
    "policies.for": "A table, such as `mysql_users` or `mysql_variables`, or `change`.",
    "policies.that": "An expression of Jinja2 that is true where the policy holds. It sees `row`"
    " and `hostgroups`; for `change` it sees `table`, `action`, `before`, `after`, `instance` and"
    " `hostgroups`.",
    "policies.message": "What the author of such a row or change is told, as plain text.",
    "policies.action": "`refuse`: an error, and an apply is refused. `warn`: a warning.",
    "guards.max_deletes": "How many rows of a table may be deleted at once.",
    "guards.table_emptied": "All servers, users or rules go, or all users or rules are switched"
    " off.",
    "guards.empty_hostgroup": "A hostgroup that traffic needs loses its last serving server, or"
    " users, rules and fast routing are sent to one without.",
    "guards.admin_access": "The login or the address that proxyctl itself uses would be gone.",
    "guards.monitor_credentials": "The monitor's account becomes empty while it places servers.",
    "guards.stale_member": "A member of a ProxySQL Cluster is loaded before it has taken over what"
    " another one was loaded with later.",
    "guards.drained_elsewhere": "A node of a family is drained in all layers, as where another"
    " member of a ProxySQL Cluster drained it, and the files say otherwise.",
    "guards.shard_moves": "Tables of sharding or schemas of fast routing change shard, whoever owns"
    " their rows. It is allowed with"
    " `--allow-shard-moves`.",
    "guards.policies": "The change breaks one of the [policies](../how-to/policies.md) that"
    " refuse.",
    "guards.lint": "The change brings an error that `lint` finds. With more than 2,000 rules or"
    " 10,000 rows a plan runs [a part of the"
    " checks](../how-to/guards.md#checks-of-lint-in-large-plans).",
    "lint.ignore": "Checks, each by its code, the beginning of a code (`PX3`) or its name; or a"
    " mapping for one table or one row.",
    "ignore.code": "As in `ignore`.",
    "ignore.table": "Only findings in this table.",
    "ignore.key": "Only findings at the row with this primary key: its value, or a list of those of"
    " several columns. The first columns of a key will do.",
    "ignore.because": "The reason, for people.",
    "max_deletes.percent": "The largest share of a table that may be deleted.",
    "max_deletes.above_rows": "The share applies only to tables with more rows than this.",
    "max_deletes.rows": "The most rows that may be deleted, whatever their share.",
    "max_deletes.action": "What happens beyond these limits.",
}

TABLE = {
    "mysql_servers": "A `status` that is not given is left alone, so a server that an operator took"
    " out stays out. A new row gets ONLINE.",
    "mysql_users": "A user is one row unless `frontend` or `backend` is given. Without `password`,"
    " an existing user keeps the one he has. For a new user that is an error.",
    "mysql_query_rules": "A rule in a file is active unless it says `active: false`.",
}

VARIABLES = """\
The variables that `variables:` can set, with the defaults of a fresh ProxySQL 2.7.1. A variable
that the files do not name is left alone. A variable that this ProxySQL does not have is an error,
because ProxySQL would silently drop it. So is a value that ProxySQL would refuse, round or change.
Secret values are never shown.

`mysql-default_charset` and `mysql-default_collation_connection` are named together: ProxySQL lets
the collation change the character set.

`proxyctl schema --key mysql-threads` shows one of them in the terminal."""

SIDES = {"admin": "Admin", "mysql": "MySQL", "pgsql": "PostgreSQL"}
"""The prefixes of variables, with their headings."""

LINT = """\
What `proxyctl lint` finds. An **error** does harm, or the row has no effect at all; a **warning**
may be intended; a **note** is worth knowing. [lint.md](../how-to/lint.md) shows how to run it and
how to ignore a finding. `proxyctl lint --explain CODE` adds an example of each mistake, and one of
what is right."""

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
    "REFUSED": "Refused: by a guard, pending edits, a stale plan, a lock, a file that exists"
    " already, or the person asked. With `plan --detailed-exitcode`: an apply would be refused.",
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
