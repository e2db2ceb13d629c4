"""Drain a node by what ProxySQL loads: MEMORY and RUNTIME only, and MEMORY is as it was after that.

note it -> move the writer by weight -> LOAD the drained node -> MEMORY as it was
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from proxyctl.admin.client import AdminClient
from proxyctl.admin.drains import drain_is_done, forget_drain, record_drain
from proxyctl.admin.interrupts import uninterrupted
from proxyctl.catalog import Value
from proxyctl.draining.request import DrainRequest, Restored
from proxyctl.drains import Drain
from proxyctl.errors import ApplyError, ConnectionLostError, ProxyctlError, RefusedError
from proxyctl.families import Node
from proxyctl.held_servers import HeldServers, name_of
from proxyctl.nodes.draining import moving_family, with_another_writer, with_drained

_POLL_S = 0.2
_CALM_S = 1.0
"""RUNTIME did not change for so long: above the time that a check of the monitor may take."""
_LEAST_MOVE_S = 30.0
"""How long the monitor has at least to move a writer; three of its checks if that is more."""


def drain(servers: HeldServers, node: Node, request: DrainRequest) -> None:
    """Note the drain, move the writer, drain. Takes everything back when it does not succeed."""
    client = servers.client
    # Noted before anything is loaded: what a drain that dies leaves has to be known as ours.
    record_drain(client, node, request.who, request.purpose, servers.truth)
    try:
        family = moving_family(servers.standing, node)
        if family is not None:
            request.progress(f"{name_of(node)} is the writer: another node takes over first")
            rows = with_another_writer(servers.standing, servers.placed(node), family, node)
            servers.load(node, rows)
            servers = _wait_for_another_writer(servers, family.writer, node, request)
        servers.load(node, with_drained(servers.standing, servers.placed(node), node))
        if not servers.again().shows(node):
            raise ApplyError(f"{name_of(node)} does not show as drained after the LOAD")
    except (ProxyctlError, KeyboardInterrupt) as error:
        with uninterrupted():
            _take_back(servers, node, error)
        raise
    drain_is_done(client, node)


def _take_back(servers: HeldServers, node: Node, error: BaseException) -> None:
    """Put the node back, unless what the instance holds is left to the next command.

    The record stays then: `restore` needs it.
    """
    if isinstance(error, RefusedError | ConnectionLostError) or servers.lock.leftovers:
        return
    now = servers.again()
    now.load(node, now.placed(node))
    forget_drain(now.client, node)


def _wait_for_another_writer(
    servers: HeldServers, writer: Value, node: Node, request: DrainRequest
) -> HeldServers:
    """Return the servers once RUNTIME has another writer, and the other nodes serve as before.

    The monitor moves nodes one by one. Until its next check one of them may stand nowhere but in
    the writer hostgroup, SHUNNED, and the node that is to be drained may be the only reader.

    Raises: ApplyError when the monitor does not move it in time.
    """
    timeout_s = max(_LEAST_MOVE_S, 3 * _check_interval_s(servers.client))
    end = time.monotonic() + timeout_s
    seen, since = servers.standing.runtime, time.monotonic()
    while True:
        now = servers.again()
        if now.standing.runtime != seen:
            seen, since = now.standing.runtime, time.monotonic()
        writers = now.standing.usable(writer)
        is_calm = time.monotonic() - since >= _CALM_S
        if is_calm and writers and node not in writers and _serve_as_before(servers, now, node):
            names = ", ".join(sorted(map(name_of, writers)))
            request.progress(f"{names} writes now")
            return now
        if time.monotonic() > end:
            raise ApplyError(
                f"the monitor made no other node the writer within {timeout_s:g} s",
                hint="its weights are put back; nodes list shows what keeps the others away",
            )
        servers.lock.renew()
        time.sleep(_POLL_S)


def _serve_as_before(before: HeldServers, now: HeldServers, node: Node) -> bool:
    """Return whether all nodes but the old and the new writer serve what they served."""
    first, second = before.standing, now.standing
    columns = first.columns
    heirs = {first.successor(family, node) for family in first.families}
    others = {columns.node(row) for row in first.runtime.values()} - {node} - heirs
    return all(first.served_by(other) <= second.served_by(other) for other in others)


def _check_interval_s(client: AdminClient) -> float:
    rows = client.query(
        "SELECT variable_value FROM runtime_global_variables"
        " WHERE variable_name='mysql-monitor_galera_healthcheck_interval'"
    )
    return client.number(rows[0][0] or "0") / 1000 if rows else 0.0


def restore(servers: HeldServers, node: Node, request: DrainRequest) -> Restored:
    """Put a drained node back as it is configured, or find that it is not drained.

    Raises: RefusedError before anything was changed; ApplyError when it did not succeed.
    """
    found = servers.drains.get(node)
    wanted = servers.placed(node)
    shows = servers.shows(node)
    if found is None and servers.is_configured_soft(node):
        raise RefusedError(
            f"{name_of(node)} is OFFLINE_SOFT in MEMORY, and not on record as drained",
            hint="it was taken out by hand or by the files: put it back the same way",
        )
    if found is None and wanted == servers.placed():
        return Restored(node, None, was_drained=False)
    edited = _edited_since(servers, node, found) if found is not None else ()
    servers.check(edited, include_pending=request.include_pending)
    servers.load(node, wanted)
    if servers.again().shows(node) and not servers.is_configured_out(node):
        raise ApplyError(f"{name_of(node)} still shows as drained at RUNTIME after the LOAD")
    if found is not None:
        forget_drain(servers.client, node)
    rows = servers.rows_of(node, servers.truth)
    changed = found is not None and servers.rows_of(node, found.memory) != rows
    return Restored(node, found, was_drained=shows or found is None, is_changed=changed)


def _edited_since(servers: HeldServers, node: Node, found: Drain) -> Iterable[str]:
    """Yield that somebody edited the rows of the node in MEMORY while they were not in use."""
    rows = servers.rows_of(node, servers.truth)
    on_disk = servers.rows_of(node, servers.disk)
    if rows not in (servers.rows_of(node, found.memory), on_disk):
        yield (
            f"mysql_servers: the rows of {name_of(node)} were edited in MEMORY since it was drained"
            "   allow with --include-pending"
        )
