"""What the keys of the special sections do, those that are no columns, by their path.

A key without a sentence stops the generator of the reference pages, where the links lead.
"""

from __future__ import annotations

SENTENCES = {
    "instances.name": "The name for `--instance` and in plans. Required, but not with `dns`.",
    "instances.host": "Address of the admin interface. Give `host`, `socket` or `dns`.",
    "instances.dns": "A DNS name: each of its addresses is an instance, named after its address.",
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
    "pxc_clusters.nodes.hostgroup": "The hostgroup of the node's row. By default the writer"
    " hostgroup.",
    "pxc_clusters.node_defaults.hostgroup": "The hostgroup of nodes that name none.",
    "sharding.name": "A name for messages and plans.",
    "sharding.tables": "Table names: `sbtest{1..60}`, a list, or a mapping to hostgroups."
    " They become query rules.",
    "sharding.schemas": "Schema names, in the same forms. They become fast routing.",
    "sharding.hostgroups": "The hostgroups to use. The order matters.",
    "sharding.assign": "How a name finds its hostgroup. `explicit` for a mapping.",
    "sharding.rules": "One rule per hostgroup, or one per table.",
    "sharding.first_rule_id": "The number of the first rule. The others follow in the order of the"
    " hostgroups.",
    "sharding.rule_ids": "The numbers that the rules may use. Having too few is an error.",
    "sharding.username": "Only for this user.",
    "sharding.schema": "Only when this is the default schema.",
    "sharding.match": "Match the digest, or the query as it was sent.",
    "sharding.comment": "The comment of the rules. By default it lists the names.",
    "sharding.flagIN": "The flagIN of the rules: their place in the rule chain.",
    "routing_tests.name": "A name for the test.",
    "routing_tests.query": "The query.",
    "routing_tests.username": "The user who sends it. Without a user, a rule that names one does"
    " not match.",
    "routing_tests.schemaname": "The default schema.",
    "routing_tests.client_addr": "The address of the client.",
    "routing_tests.proxy_addr": "The address of ProxySQL that the client uses.",
    "routing_tests.proxy_port": "The port of ProxySQL that the client uses.",
    "routing_tests.flagIN": "The flagIN to begin with.",
    "routing_tests.expect": "The expected result. Only the keys given are compared.",
    "routing_tests.expect.hostgroup": "The hostgroup that gets the query.",
    "routing_tests.expect.rule_id": "The last rule that matches.",
    "routing_tests.expect.matched_rules": "All rules that match, in order.",
    "routing_tests.expect.rewritten": "The text after rewriting.",
    "routing_tests.expect.digest": "The digest.",
    "routing_tests.expect.digest_text": "The text of the digest.",
    "routing_tests.expect.cache_ttl": "How long the result is cached, in milliseconds.",
    "routing_tests.expect.error_msg": "The error that the client gets instead.",
    "routing_tests.expect.OK_msg": "The OK that the client gets instead.",
    "policies.name": "The name, for messages.",
    "policies.for": "A table, such as `mysql_users` or `mysql_variables`, or `change`.",
    "policies.that": "A Jinja2 expression that is true if the policy holds. It sees `row`"
    " and `hostgroups`; for `change` it sees `table`, `action`, `before`, `after`, `instance` and"
    " `hostgroups`.",
    "policies.message": "The message to the author of such a row or change, as plain text.",
    "policies.action": "`refuse`: an error, and an apply is refused. `warn`: a warning.",
    "guards.max_deletes": "How many rows of a table may be deleted at once.",
    "guards.table_emptied": "All servers, users or rules go, or all users or rules are switched"
    " off.",
    "guards.empty_hostgroup": "A hostgroup that traffic needs loses its last serving server, or"
    " users, rules and fast routing are sent to one without.",
    "guards.admin_access": "The login or the address that proxyctl itself uses would be gone.",
    "guards.monitor_credentials": "The monitor's account becomes empty while it places servers.",
    "guards.stale_member": "A LOAD is sent to a member of a ProxySQL Cluster that has not yet"
    " copied a newer LOAD of another member.",
    "guards.drained_elsewhere": "A node of a family is drained in all layers, as if another member"
    " of a ProxySQL Cluster had drained it, but the files say otherwise.",
    "guards.shard_moves": "Tables of sharding or schemas of fast routing change shard, whoever owns"
    " their rows. It is allowed with"
    " `--allow-shard-moves`.",
    "guards.policies": "The change breaks one of the [policies](../how-to/policies.md) that"
    " refuse.",
    "guards.lint": "The change brings an error that `lint` finds. With more than 2,000 rules or"
    " 10,000 rows a plan runs [only part of the"
    " checks](../how-to/guards.md#checks-of-lint-in-large-plans).",
    "lint.ignore": "Checks, each by its code, the beginning of a code (`PX3`) or its name; or a"
    " mapping for one table or one row.",
    "lint.ignore.code": "The check: its code, the beginning of a code (`PX3`) or its name.",
    "lint.ignore.table": "Only findings in this table.",
    "lint.ignore.key": "Only findings at the row with this primary key: its value, or a list of"
    " values if it has several columns. The first columns of a key are enough.",
    "lint.ignore.because": "The reason, for people.",
    "guards.max_deletes.percent": "The largest share of a table that may be deleted.",
    "guards.max_deletes.above_rows": "The share applies only to tables with more rows than this.",
    "guards.max_deletes.rows": "The most rows that may be deleted, whatever their share.",
    "guards.max_deletes.action": "What happens beyond these limits.",
}
