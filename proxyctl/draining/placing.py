"""Waits for ProxySQL's monitor, which places the nodes of a Galera family at its checks."""

from __future__ import annotations

import time
from collections.abc import Callable

from proxyctl.admin.client import AdminClient
from proxyctl.catalog import Value
from proxyctl.errors import ApplyError
from proxyctl.families import Node, node_text
from proxyctl.held_servers import HeldServers
from proxyctl.nodes.draining import Standing, in_order

NO_OTHER_WRITER = "the monitor made no other node the writer"
_POLL_S = 0.2
_CALM_S = 1.0
"""RUNTIME did not change for so long: above the time that a check of the monitor may take."""
_LEAST_WAIT_S = 30.0
"""How long the monitor has at least; three of its checks if that is more."""


def wait_until_placed(
    servers: HeldServers, lacks: Callable[[HeldServers], str | None], *, hint: str
) -> HeldServers:
    """Return the servers once RUNTIME lacks nothing, and has not changed for a moment.

    The monitor moves nodes one by one: a state that is passed through is not waited for. `lacks`
    says what the monitor has yet to do, None where it has done all.

    Raises: ApplyError with what it did not do in time.
    """
    timeout_s = max(_LEAST_WAIT_S, 3 * _check_interval_s(servers.client))
    end = time.monotonic() + timeout_s
    seen, since = servers.standing.runtime, time.monotonic()
    while True:
        now = servers.again()
        if now.standing.runtime != seen:
            seen, since = now.standing.runtime, time.monotonic()
        lacking = lacks(now)
        if lacking is None and time.monotonic() - since >= _CALM_S:
            return now
        if time.monotonic() > end:
            lacking = lacking or "the monitor did not stop moving nodes"
            raise ApplyError(f"{lacking} within {timeout_s:g} s", hint=hint)
        servers.lock.renew()
        time.sleep(_POLL_S)


def serves_less(before: Standing, now: Standing, node: Node) -> str | None:
    """Return which nodes of its families, but this one and a new writer, serve where no more.

    Until the monitor's next check one of them may stand nowhere but in the writer hostgroup,
    SHUNNED, and a node that is to be drained may be the only reader. What becomes of other servers
    meanwhile has nothing to do with the drain.
    """
    columns = before.columns
    families = [one for one in before.families if before.served_by(node) & one.hostgroups]
    hostgroups = frozenset[Value]().union(*(family.hostgroups for family in families))
    heirs = {before.successor(family, node) for family in families}
    others = {columns.node(row) for row in before.runtime.values()} - {node} - heirs
    named: list[str] = []
    for other in sorted(others, key=node_text):
        lost = (before.served_by(other) - now.served_by(other)) & hostgroups
        if lost:
            where = ", ".join(map(str, in_order(lost)))
            named.append(f"{node_text(other)} does not serve in hostgroup {where}")
    return f"{', '.join(named)} as before" if named else None


def _check_interval_s(client: AdminClient) -> float:
    rows = client.query(
        "SELECT variable_value FROM runtime_global_variables"
        " WHERE variable_name='mysql-monitor_galera_healthcheck_interval'",
    )
    return client.number(rows[0][0] or "0") / 1000 if rows else 0.0
