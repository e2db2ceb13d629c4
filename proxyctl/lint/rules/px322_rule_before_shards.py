"""PX322 rule-before-shards."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_readers import called
from proxyctl.lint.traffic_sharding import (
    first_of_each,
    where_it_goes,
)


@check("PX322", "rule-before-shards", Severity.WARNING)
def rules_before_shards(subject: Subject) -> Iterator[Finding]:
    """A rule sends queries for a sharded table or schema elsewhere.

    A read/write split in front of sharding rules is the usual case: `^SELECT` with apply takes the
    reads of every shard and sends them to one reader, which does not have the rows. Put such rules
    behind the sharding rules, or let sharding come first and split inside each shard by flagOUT.

    ```yaml
    # Bad
    hostgroups: {reader: {id: 20}, shard0: {id: 100}, shard1: {id: 101}}
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: reader, apply: true}
    sharding:
      - name: a
        tables: "orders{1..4}"
        hostgroups: [shard0, shard1]
        assign: modulo
        first_rule_id: 100
    ```

    ```yaml
    # Good
    hostgroups: {reader: {id: 20}, shard0: {id: 100}, shard1: {id: 101}}
    mysql_query_rules:
      - {rule_id: 900, match_digest: '^SELECT', destination_hostgroup: reader, apply: true}
    sharding:
      - name: a
        tables: "orders{1..4}"
        hostgroups: [shard0, shard1]
        assign: modulo
        first_rule_id: 100
    ```
    """
    for one in first_of_each(subject):
        if not one.origin:
            wanted = called(subject, one.wanted)
            message = f"{where_it_goes(subject, one)}; {one.section} has it on {wanted}"
            hint = "put the rule behind those of the sharding section"
            yield Finding(one.table, one.key, message, one.column, hint)
