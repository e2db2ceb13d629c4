"""The tables that send traffic to a hostgroup, and the cases where ProxySQL skips fast routing."""

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
"""The tables that send traffic to a hostgroup, and the column that names the hostgroup."""

SERVERS = ("mysql_servers", "pgsql_servers")
"""Hostgroups of the two tables are different hostgroups, even with the same number."""


def servers_of(table: str) -> str:
    """Return the table of servers that has the hostgroups of a table."""
    return f"{table.partition('_')[0]}_servers"


def destinations_of(servers: str) -> dict[str, str]:
    """Return the DESTINATIONS that send traffic to the hostgroups of a table of servers."""
    return {name: column for name, column in DESTINATIONS.items() if servers_of(name) == servers}


def is_hidden_by_last_rule(version: Version) -> bool:
    """Return whether a last rule with apply=1 hides fast routing even from queries it misses.

    Before 3.0.9 ProxySQL uses fast routing only if the last evaluated rule has apply=0. If the last
    active rule has apply=1, a query that matches no rule never reaches fast routing.
    Source: ProxySQL 2.7.1 and 3.0.3, run.
    """
    return not version.has(FAST_ROUTING_BEHIND_LAST_RULE)


def last_rule_in_the_way(layout: Layout, rules: Iterable[Sequence[object]]) -> int | None:
    """Return the rule_id of the last active rule if its apply=1 makes ProxySQL skip fast routing.

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
    """Return the warning for a table of fast routing that ProxySQL skips."""
    return (
        f"{table}: ProxySQL skips this table because the last active rule, rule {rule_id}, has"
        " apply 1; without `keep_fast_routing_alive: false` proxyctl adds a rule that fixes this"
    )
