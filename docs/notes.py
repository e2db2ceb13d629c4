"""The sentences of the reference pages. A key without one stops the generator."""

from __future__ import annotations

COMMANDS = """\
`proxyctl COMMAND --help` shows the same. Data goes to stdout, progress and errors to stderr. An
option wins over the environment, and the environment over the files. What an exit code means stands
in [exit-codes.md](exit-codes.md), what `--format json` writes in [json.md](json.md)."""

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
the JSON Schema. Section and column names are ProxySQL's own, so its manual explains what a column
does.

- Several files are joined: lists are appended, and the same key twice is an error.
- **text** is also `{env: NAME}` (an environment variable), `{file: PATH}` (a file without its last
  line break, relative to the YAML file) or `{hex: DIGITS}` (bytes). What comes from the environment
  or a file is a secret: no plan, drift or rendered file shows it, except as part of the key of its
  row.
- A **hostgroup** is its number, or a name from [`hostgroups`](#hostgroups).
- Text that looks like a number or a boolean has to be quoted: `"8.10"`, `"on"`.
- A column that is not given has ProxySQL's default. `null` is SQL NULL."""

SECTIONS = {
    "version": "The version of the file format: `1`. It may be left out.",
    "instances": "The ProxySQL instances, and how to reach their admin interfaces. Optional: the"
    " [connection options](commands.md#options-for-connection) name one as well.",
    "variables": "A mapping of variable names to values. Only the variables named here are managed."
    " They are listed in [variables.md](variables.md).",
    "hostgroups": "A mapping of names to hostgroups. A name can stand wherever a hostgroup number"
    " can. The columns of"
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
Which part of a table these files own. A mapping of table names to key columns, each with a value,
a list of values, a range such as `"10-5999"` or a pattern such as `"app_*"`. `ignore` maps table
names to lists of columns that are set when a row is added and left alone afterwards. See
[several teams](../how-to/several-teams.md).""",
    "guards": "What an apply refuses without `--force`: see [guards](../how-to/guards.md). `warn`"
    " says it in the plan and goes on; `off`, in quotes, says nothing.",
    "lint": "What [`proxyctl lint`](../how-to/lint.md) leaves out. The entries of several files are"
    " joined.",
    "keep_fast_routing_alive": """\
`true` (the default): where the last active rule has `apply`, a rule that never matches is added
behind it, since ProxySQL would skip fast routing. `false`: no such rule, and a warning where fast
routing is skipped. `export` writes `false` for an instance that skips it.""",
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
    "instances.name": "The name for `--instance` and in plans.",
    "instances.host": "Address of the admin interface. `host` or `socket` has to be there.",
    "instances.port": "Port of the admin interface.",
    "instances.user": "Admin account. ProxySQL accepts `admin` from its own host only.",
    "instances.password": "Its password; `{env: NAME}` or `{file: PATH}` keeps it out of the file.",
    "instances.socket": "Unix socket, in place of host and port.",
    "instances.tls_ca": "Use TLS and verify the certificate with this CA.",
    "instances.tls_required": "Refuse to talk without TLS.",
    "instances.vars": "Variables for templates when this instance is chosen.",
    "hostgroups.id": "The hostgroup number.",
    "pxc_clusters.name": "A name for messages and plans.",
    "pxc_clusters.nodes": "The nodes, each once.",
    "pxc_clusters.node_defaults": "Columns of `mysql_servers` that all nodes share.",
    "nodes.hostgroup": "Where the node's row stands. Without it: the writer hostgroup.",
    "node_defaults.hostgroup": "As for a node.",
    "sharding.name": "A name for messages and plans.",
    "sharding.tables": "Table names: `sbtest{1..60}`, a list, or a mapping to hostgroups."
    " They become query rules.",
    "sharding.schemas": "Schema names, in the same forms. They become fast routing.",
    "sharding.hostgroups": "The hostgroups to spread over. The order counts.",
    "sharding.assign": "How a name finds its hostgroup. `explicit` for a mapping.",
    "sharding.rules": "One rule a hostgroup, or one rule a table.",
    "sharding.first_rule_id": "Rules are numbered from here on, in the order of the hostgroups.",
    "sharding.rule_ids": "The numbers that the rules may take. More rules than that are an error.",
    "sharding.username": "Only for this user.",
    "sharding.schema": "Only when this is the default schema.",
    "sharding.match": "Look at the digest, or at the text as it was sent.",
    "sharding.comment": "The comment of the rules. Without it one is made from the names.",
    "sharding.flagIN": "Where in the rule chain the rules stand.",
    "routing_tests.name": "A name for the test.",
    "routing_tests.query": "The query.",
    "routing_tests.username": "Who sends it. Without it no rule matches that names a user.",
    "routing_tests.schemaname": "The default schema.",
    "routing_tests.client_addr": "Where the client is.",
    "routing_tests.proxy_addr": "The address of ProxySQL that the client uses.",
    "routing_tests.proxy_port": "The port of ProxySQL that the client uses.",
    "routing_tests.flagIN": "Where in the rule chain to begin.",
    "routing_tests.expect": "What has to come out. Only what is named is compared.",
    "expect.hostgroup": "Where the query goes.",
    "expect.rule_id": "The last rule that matches.",
    "expect.matched_rules": "All rules that match, in order.",
    "expect.rewritten": "The text after rewriting.",
    "expect.digest": "The digest.",
    "expect.digest_text": "The text of the digest.",
    "expect.cache_ttl": "For how long the result is cached, in milliseconds.",
    "expect.error_msg": "The error that the client gets instead.",
    "expect.OK_msg": "The OK that the client gets instead.",
    "guards.max_deletes": "How many rows of a table may be deleted at once.",
    "guards.table_emptied": "All servers, users or rules go, or all users or rules are switched"
    " off.",
    "guards.empty_hostgroup": "A hostgroup that traffic needs loses its last serving server, or"
    " users and rules are sent to one without.",
    "guards.admin_access": "The login or the address that proxyctl itself uses would be gone.",
    "guards.monitor_credentials": "The monitor's account becomes empty while it places servers.",
    "guards.stale_member": "A member of a ProxySQL Cluster is loaded before it has taken over what"
    " another one was loaded with later.",
    "guards.drained_elsewhere": "A node of a family is drained in all layers, as where another"
    " member of a ProxySQL Cluster drained it, and the files say otherwise.",
    "guards.shard_moves": "Tables or schemas change shard. It is allowed with"
    " `--allow-shard-moves`.",
    "lint.ignore": "Checks, each by its code, the beginning of one (`PX3`) or its name; or a"
    " mapping, for one row or one table.",
    "ignore.code": "As in `ignore`.",
    "ignore.table": "Only findings in this table.",
    "ignore.key": "Only findings at the row with this primary key: its value, or a list of those of"
    " several columns. The first columns of a key will do.",
    "ignore.because": "Why. It is for people.",
    "max_deletes.percent": "More than this share of a table is too much.",
    "max_deletes.above_rows": "The share counts only for tables with more rows than this.",
    "max_deletes.rows": "More rows than this are too many, whatever their share.",
    "max_deletes.action": "What happens then.",
}

TABLE = {
    "mysql_servers": "`status` that is not given is left alone, so that a server that an operator"
    " took out stays out. It is ONLINE when the row is added.",
    "mysql_users": "A user is one row unless `frontend` or `backend` is given. `password` that is"
    " not given is left alone for an existing user, and is an error for a new one.",
    "mysql_query_rules": "A rule in a file is active unless it says `active: false`.",
}

DEFAULT = {"active": "`1`", "status": "left alone", "password": "left alone"}
"""Columns whose default in a file is not ProxySQL's."""

VARIABLES = """\
The variables that `variables:` can set, with the defaults of a fresh ProxySQL 2.7.1. A variable
that is not named in the files is left alone. One that the ProxySQL at hand does not have is an
error: ProxySQL itself would silently drop it. So is a value that ProxySQL would refuse, round
or change. Secret values are never shown.

`mysql-default_charset` and `mysql-default_collation_connection` are named together: ProxySQL lets
the collation change the character set."""

LINT = """\
What `proxyctl lint` finds. An **error** does harm, or the row has no effect at all; a **warning**
may be intended; a **note** is worth knowing. [lint.md](../how-to/lint.md) shows how to run it and
how to ignore a finding. `proxyctl lint --explain CODE` adds an example of each mistake, and one of
what is right."""

EXIT_CODES = """\
With 1 to 3 and 64 no instance was changed. With 0 `apply`, `rollback`, `nodes drain`,
`nodes restore`, `unlock` and `digest reset` did what they are for; no other command changes one.
`plan` ends with 0, whether there are changes or not, and also when an apply would be refused;
with `--detailed-exitcode` it ends with 2 or 3 then."""

EXIT_CODE = {
    "DONE": "Done, or in sync.",
    "ERROR": "An error: in the files, or while connecting or reading; routing tests that fail; a"
    " finding of `lint` or `doctor` that is an error.",
    "DIFFERENCES": "There are differences: `drift`, `plan --detailed-exitcode`, or `nodes discover`"
    " with files.",
    "REFUSED": "Refused by a guard, pending edits, a stale plan, a lock, files that are there"
    " already, or by the person asked. `plan --detailed-exitcode`: an apply would be refused.",
    "INCOMPLETE": "An `apply` or a `rollback` did not finish. The message says what each layer of"
    " each admin module holds now. Or it did, and members of a ProxySQL Cluster do not follow,"
    " which it names. With `--all` also: some instances are changed, and others, which it names,"
    " are not. `nodes drain` and `nodes restore`: what became of the node is said; so after"
    " `--timeout`, where a drained node is still in use. `digest reset`: whether it cleared is not"
    " known. These list no layers.",
    "USAGE": "A wrong command line.",
    "INTERRUPTED": "Interrupted from the keyboard. What holds now is said as for 4.",
}

ERRORS = "With `--format json` an error is also JSON on stdout, and names its type:"
