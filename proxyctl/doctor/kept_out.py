"""Nodes that the monitor keeps out of service, or leaves in service though it should not."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.doctor.facts import Facts
from proxyctl.doctor.finding import Finding, Severity, check
from proxyctl.doctor.monitor import failing_nodes, in_maintenance
from proxyctl.families import node_text
from proxyctl.nodes.group_member import why_out
from proxyctl.nodes.wsrep import why_kept_out


@check("node-kept-out", Severity.WARNING)
def kept_out(facts: Facts) -> Iterator[Finding]:
    """The monitor keeps a node in the offline hostgroup, and proxyctl did not drain it."""
    known = {*in_maintenance(facts), *failing_nodes(facts)}
    for family in facts.families:
        if family.offline is None:
            continue
        for node in facts.nodes:
            rows = [s for s in facts.rows_by_node[node] if s.hostgroup in family.hostgroups]
            online = {row.hostgroup for row in rows if row.status == "ONLINE"}
            if online != {family.offline} or node in known:
                continue
            if all(row.is_out_of_service for row in rows):
                continue  # it is drained as well, and that is said
            if family.is_galera:
                why = why_kept_out(facts.wsrep.get(node, {}))
            else:
                why = why_out(facts.group_checks.get(node, {}))
            why = why or "its last check does not tell why"
            yield Finding(
                node_text(node),
                f"the monitor keeps it in the offline hostgroup {family.offline}: {why}",
                "nothing to do while it is looked after; `proxyctl nodes list` shows what it says",
            )


@check("node-not-primary", Severity.ERROR)
def not_primary(facts: Facts) -> Iterator[Finding]:
    """A Galera node is ONLINE outside of the primary component: every query fails there.

    Source: ProxySQL 2.7.1, run with simulated nodes: the last writer stays where no node is in it.
    """
    for family in facts.families:
        if not family.is_galera:
            continue
        serving = family.hostgroups - {family.offline}
        for node in facts.nodes:
            found = [
                str(server.hostgroup)
                for server in facts.rows_by_node[node]
                if server.hostgroup in serving and server.is_usable
            ]
            if found and facts.wsrep.get(node, {}).get("primary_partition") == "NO":
                yield Finding(
                    node_text(node),
                    f"it is ONLINE in hostgroup {', '.join(found)}, and at its last check it was"
                    " outside of the primary component: queries fail there",
                    "look at the network between the nodes; where none is in a primary component,"
                    " bootstrap the cluster again at the node with the newest data",
                )
