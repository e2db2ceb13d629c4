"""PX321 sharding-overlaps."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_sharding import (
    first_of_each,
    where_it_goes,
)


@check("PX321", "sharding-overlaps", Severity.ERROR)
def overlaps(subject: Subject) -> Iterator[Finding]:
    """Two sharding sections claim the same table.

    The rules with the smaller ids win, and the other section's shards never see the table. Rows
    that were written before the second section came are then on a shard that nobody asks.

    ```yaml
    # Bad
    hostgroups: {shard0: {id: 100}, shard1: {id: 101}}
    sharding:
      - {name: a, tables: "orders{1..4}", hostgroups: [shard0], assign: modulo, first_rule_id: 100}
      - {name: b, tables: "orders{3..6}", hostgroups: [shard1], assign: modulo, first_rule_id: 200}
    ```

    ```yaml
    # Good
    hostgroups: {shard0: {id: 100}, shard1: {id: 101}}
    sharding:
      - {name: a, tables: "orders{1..4}", hostgroups: [shard0], assign: modulo, first_rule_id: 100}
      - {name: b, tables: "orders{5..6}", hostgroups: [shard1], assign: modulo, first_rule_id: 200}
    ```
    """
    for one in first_of_each(subject):
        if one.origin:
            message = where_it_goes(subject, one) + f", before {one.section} gets it"
            yield Finding(one.table, one.key, message, one.column, "give each table to one section")
