"""Nodes that the Galera monitor keeps out of service."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.doctor.facts import Facts
from proxyctl.doctor.finding import Finding, Severity, check
from proxyctl.doctor.monitor import failing_nodes, in_maintenance
from proxyctl.families import node_text
from proxyctl.nodes.wsrep import why_kept_out


@check("node-kept-out", Severity.WARNING)
def kept_out(facts: Facts) -> Iterator[Finding]:
    """The Galera monitor keeps a node in the offline hostgroup, and proxyctl did not drain it."""
    known = {*in_maintenance(facts), *failing_nodes(facts)}
    for family in facts.families:
        if not family.is_galera:
            continue
        for node in facts.nodes:
            rows = [s for s in facts.servers if s.node == node and s.hostgroup in family.hostgroups]
            online = {row.hostgroup for row in rows if row.status == "ONLINE"}
            if online != {family.offline} or node in known:
                continue
            if all(row.is_out_of_service for row in rows):
                continue  # it is drained as well, and that is said
            why = why_kept_out(facts.wsrep.get(node, {})) or "its last check does not tell why"
            yield Finding(
                node_text(node),
                f"the monitor keeps it in the offline hostgroup {family.offline}: {why}",
                "nothing to do while it is looked after; `proxyctl nodes list` shows what it says",
            )
