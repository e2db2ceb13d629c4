"""Waits for ProxySQL's monitor, which places the nodes of a Galera family at its checks."""

from __future__ import annotations

import time
from collections.abc import Callable

from proxyctl.admin.client import AdminClient
from proxyctl.catalog import Value
from proxyctl.errors import ApplyError
from proxyctl.families import Node
from proxyctl.held_servers import HeldServers
from proxyctl.nodes.draining import Standing

_POLL_S = 0.2
_CALM_S = 1.0
"""RUNTIME did not change for so long: above the time that a check of the monitor may take."""
_LEAST_WAIT_S = 30.0
"""How long the monitor has at least; three of its checks if that is more."""


def wait_until_placed(
    servers: HeldServers, is_placed: Callable[[HeldServers], bool], *, failure: str, hint: str
) -> HeldServers:
    """Return the servers once RUNTIME is as wanted, and has not changed for a moment.

    The monitor moves nodes one by one: a state that is passed through is not waited for.

    Raises: ApplyError `failure` when it does not come in time.
    """
    timeout_s = max(_LEAST_WAIT_S, 3 * _check_interval_s(servers.client))
    end = time.monotonic() + timeout_s
    seen, since = servers.standing.runtime, time.monotonic()
    while True:
        now = servers.again()
        if now.standing.runtime != seen:
            seen, since = now.standing.runtime, time.monotonic()
        if time.monotonic() - since >= _CALM_S and is_placed(now):
            return now
        if time.monotonic() > end:
            raise ApplyError(f"{failure} within {timeout_s:g} s", hint=hint)
        servers.lock.renew()
        time.sleep(_POLL_S)


def serve_as_before(before: Standing, now: Standing, node: Node) -> bool:
    """Return whether all nodes of its families but this one and a new writer serve what they did.

    Until the monitor's next check one of them may stand nowhere but in the writer hostgroup,
    SHUNNED, and a node that is to be drained may be the only reader. What becomes of other servers
    meanwhile has nothing to do with the drain.
    """
    columns = before.columns
    families = [one for one in before.families if before.served_by(node) & one.hostgroups]
    hostgroups = frozenset[Value]().union(*(family.hostgroups for family in families))
    heirs = {before.successor(family, node) for family in families}
    others = {columns.node(row) for row in before.runtime.values()} - {node} - heirs
    return all(before.served_by(other) & hostgroups <= now.served_by(other) for other in others)


def _check_interval_s(client: AdminClient) -> float:
    rows = client.query(
        "SELECT variable_value FROM runtime_global_variables"
        " WHERE variable_name='mysql-monitor_galera_healthcheck_interval'",
        width=1,
    )
    return client.number(rows[0][0] or "0") / 1000 if rows else 0.0
