"""Servers that take no queries though the monitor gets through to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proxyctl.doctor.facts import Facts, Server
from proxyctl.doctor.finding import Finding, Severity, check
from proxyctl.doctor.monitor import failing_nodes
from proxyctl.doctor.recovering import was_loaded_so
from proxyctl.families import node_text
from proxyctl.nodes.group_member import transactions_behind


@check("server-shunned", Severity.WARNING)
def shunned(facts: Facts) -> Iterator[Finding]:
    """A server is SHUNNED, and ONLINE nowhere: it was loaded so, lags, or had too many errors."""
    told = failing_nodes(facts)
    for node in facts.nodes:
        rows = facts.rows_by_node[node]
        out = [row for row in rows if row.status == "SHUNNED" and not row.is_out_of_service]
        if node in told or not out or any(row.status == "ONLINE" for row in rows):
            continue
        hostgroups = ", ".join(str(row.hostgroup) for row in out)
        message = f"it takes no queries: SHUNNED in hostgroup {hostgroups}"
        way_out = (
            "its lag, stats_mysql_errors and the log of ProxySQL tell why; ProxySQL tries it again"
            " by itself"
        )
        if was_loaded_so(facts, out):
            message += ", as it was loaded, and ProxySQL does not try it again"
            way_out = (
                "say `status: ONLINE` in the files, and `proxyctl apply`; or set it in"
                " mysql_servers, LOAD MYSQL SERVERS TO RUNTIME and SAVE MYSQL SERVERS TO DISK"
            )
        elif all(row.is_tried_again for row in out):
            message += ", though the monitor gets through to it"
            way_out = (
                "the next query that is sent there has ProxySQL try it again; the log of ProxySQL"
                " tells why it was left out"
            )
        elif behind := _transactions_behind(facts, out):
            message += f"; it was {behind} transactions behind at its last check"
        yield Finding(node_text(node), message, way_out)


def _transactions_behind(facts: Facts, rows: Sequence[Server]) -> str:
    """Return how far a member of a replication group was behind; its log outlives membership."""
    groups = [one.hostgroups for one in facts.families if one.kind == "group_replication"]
    if not any(row.hostgroup in hostgroups for row in rows for hostgroups in groups):
        return ""
    return transactions_behind(facts.group_checks.get(rows[0].node, {}))
