"""Servers that ProxySQL left SHUNNED, and whether it tries them again. Pure.

It does so when a query comes to their hostgroup, a few seconds after the last error, no sooner.
Where none comes, a server that was away for a moment stays SHUNNED for days, and is well. Source:
ProxySQL 2.7.1, run.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from proxyctl.doctor.facts import Facts, Server
from proxyctl.doctor.monitor import failing_nodes
from proxyctl.shunned import shunned_by_hand
from proxyctl.state import Key


def with_recovering(facts: Facts, failing: Collection[Key]) -> tuple[Server, ...]:
    """Return the servers, those with `is_tried_again` that the next query brings back.

    The monitor gets through to them. `failing`: those by hostgroup, host and port that lag, which
    the monitor itself brings back, as it does nodes that it places; or that connections for clients
    failed to, of which nobody knows what becomes: the monitor has another account.
    """
    if not facts.is_on("mysql-monitor_enabled"):
        return facts.servers
    if facts.number("mysql-shun_recovery_time_sec") <= 0:
        return facts.servers
    well = {log.node for log in facts.monitor_logs if log.error is None} - failing_nodes(facts)
    placed = {
        hostgroup
        for family in facts.families
        if family.kind != "replication"
        for hostgroup in family.hostgroups
    }

    def is_tried_again(one: Server) -> bool:
        return (
            one.status == "SHUNNED"
            and one.node in well
            and one.hostgroup not in placed
            and (one.hostgroup, *one.node) not in failing
            and one._replace(status="ONLINE").is_usable
            and not was_loaded_so(facts, [one])
        )

    return tuple(one._replace(is_tried_again=is_tried_again(one)) for one in facts.servers)


def was_loaded_so(facts: Facts, rows: Sequence[Server]) -> bool:
    """Return whether MEMORY has a server SHUNNED that nobody brings back."""
    survey = facts.surveys.get("mysql_servers")
    if survey is None:
        return False
    keys = [(row.hostgroup, row.hostname, row.port) for row in rows]
    return bool(shunned_by_hand(survey.layout, keys, survey.memory, facts.families))
