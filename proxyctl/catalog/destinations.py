"""Which tables send traffic to a hostgroup, and when ProxySQL looks at fast routing at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from proxyctl.catalog.model import Layout
from proxyctl.catalog.releases import FAST_ROUTING_BEHIND_LAST_RULE, Version

DESTINATIONS = {
    "mysql_query_rules": "destination_hostgroup",
    "mysql_query_rules_fast_routing": "destination_hostgroup",
    "mysql_users": "default_hostgroup",
    "pgsql_query_rules": "destination_hostgroup",
    "pgsql_query_rules_fast_routing": "destination_hostgroup",
    "pgsql_users": "default_hostgroup",
}
"""The tables that send traffic to a hostgroup, and the column of each that names it."""

SERVERS = ("mysql_servers", "pgsql_servers")
"""A hostgroup of one is none of the other, even with the same number."""


def servers_of(table: str) -> str:
    """Return the table of servers whose hostgroups a table names."""
    return f"{table.partition('_')[0]}_servers"


def destinations_of(servers: str) -> dict[str, str]:
    """Return those of DESTINATIONS that send traffic to the hostgroups of a table of servers."""
    return {name: column for name, column in DESTINATIONS.items() if servers_of(name) == servers}


def is_hidden_by_last_rule(version: Version) -> bool:
    """Return whether a last rule with apply=1 hides fast routing also where it does not match.

    Before 3.0.9 ProxySQL asks fast routing only if the last rule that it evaluated has apply=0.
    Where the last active rule has apply=1, a query that no rule matched never gets there.
    Source: ProxySQL 2.7.1 and 3.0.3, run.
    """
    return not version.has(FAST_ROUTING_BEHIND_LAST_RULE)


def last_rule_in_the_way(layout: Layout, rules: Iterable[Sequence[object]]) -> int | None:
    """Return the rule_id of the last active rule if it has apply=1, so that fast routing is dead.

    Shape: `rules` are rows of a table of query rules, in any order.
    """
    if not is_hidden_by_last_rule(layout.version):
        return None
    index = layout.index
    position, active, apply = index["rule_id"], index["active"], index["apply"]
    last: Sequence[object] | None = None
    last_id = -1
    for row in rules:
        rule_id = row[position]
        if row[active] == 1 and isinstance(rule_id, int) and rule_id > last_id:
            last, last_id = row, rule_id
    return last_id if last is not None and last[apply] == 1 else None


def dead_text(table: str, rule_id: int) -> str:
    """Return the warning for a table of fast routing that ProxySQL never looks at."""
    return (
        f"{table}: ProxySQL skips all of it, since rule {rule_id} is the last active one and has"
        " apply 1; without `keep_fast_routing_alive: false` a rule is added that mends this"
    )
