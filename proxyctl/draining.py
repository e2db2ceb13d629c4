"""Drain one node of an instance, and put it back. MEMORY and RUNTIME only: a restart ends a drain.

lock -> read -> refuse, or: note it -> move the writer by weight -> LOAD the drained node -> MEMORY
as it was -> wait until nothing uses the node, without the lock
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from proxyctl.admin.client import AdminClient
from proxyctl.admin.drains import drain_is_done, forget_drain, read_drains, record_drain
from proxyctl.admin.interrupts import interruptible, uninterrupted
from proxyctl.admin.lock import Lock
from proxyctl.admin.read import used_connections, used_hostgroups
from proxyctl.catalog import Value
from proxyctl.drains import Drain
from proxyctl.errors import (
    ApplyError,
    ConnectionLostError,
    ProxyctlError,
    RefusedError,
    counted,
)
from proxyctl.families import Node
from proxyctl.held_servers import HeldServers, name_of
from proxyctl.nodes.draining import (
    left_without,
    moving_family,
    undrainable,
    with_another_writer,
    with_drained,
)

_POLL_S = 0.2
_CALM_S = 1.0
"""RUNTIME did not change for so long: above the time that a check of the monitor may take."""
_LEAST_MOVE_S = 30.0
"""How long the monitor has at least to move a writer; three of its checks if that is more."""


@dataclass(frozen=True)
class DrainRequest:
    """One node to drain or to put back. `node` is HOST or HOST:PORT.

    `force` lets a hostgroup go without a server, `include_pending` lets edits in MEMORY go live.
    Units: `lock_timeout_s` seconds.
    """

    node: str
    who: str = ""
    purpose: str = ""
    force: bool = False
    include_pending: bool = False
    lock_timeout_s: float = 30.0
    progress: Callable[[str], None] = lambda _text: None


@dataclass(frozen=True)
class Drained:
    """A drained node. `was_before`: it was drained already, and nothing was changed."""

    node: Node
    drain: Drain
    was_before: bool = False


@dataclass(frozen=True)
class Restored:
    """A node that was put back. `drain`: what was on record of it.

    `was_drained` False: RUNTIME did not show it drained. `is_changed`: it came back with other
    values than it had, since its configuration was changed in the meantime.
    """

    node: Node
    drain: Drain | None
    was_drained: bool = True
    is_changed: bool = False


def drain(client: AdminClient, request: DrainRequest) -> Drained:
    """Drain a node, or find it drained.

    Raises: RefusedError before anything was changed; ApplyError when it did not succeed.
    """
    lock = Lock(client, f"nodes drain {request.node}")
    try:
        lock.take(timeout_s=request.lock_timeout_s, waiting=request.progress)
        servers = HeldServers.read(client, lock)
        node = servers.find(request.node)
        before = servers.drains.get(node)
        if before is not None and before.is_done and servers.shows(node):
            return Drained(node, before, was_before=True)
        servers.check(
            _reasons_against(servers, node, request), include_pending=request.include_pending
        )
        with interruptible():
            _drain(servers, node, request)
        return Drained(node, read_drains(client, servers.layout)[node])
    finally:
        lock.release()


def _drain(servers: HeldServers, node: Node, request: DrainRequest) -> None:
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


def _reasons_against(servers: HeldServers, node: Node, request: DrainRequest) -> Iterable[str]:
    """Yield why the node must not be drained."""
    kind = undrainable(servers.standing, node)
    if kind is not None:
        yield (
            f"{name_of(node)} is placed by the {kind} monitor, which may undo what drains it: take"
            " it out on the server itself"
        )
    used = used_hostgroups(servers.client, servers.survey.layouts)
    in_use = frozenset[Value]().union(*used.values())
    ours, heirs = left_without(servers.standing, node, in_use)
    if request.force:
        return
    for hostgroup in ours:
        yield f"{name_of(node)} is the last usable node of hostgroup {hostgroup}   {_FORCE}"
    for hostgroup in heirs:
        yield (
            f"hostgroup {hostgroup} would have no usable node: its last one becomes the writer"
            f"   {_FORCE}"
        )


_FORCE = "allow with --force"


def restore(client: AdminClient, request: DrainRequest) -> Restored:
    """Put a drained node back as it is configured, or find that it is not drained.

    Raises: RefusedError before anything was changed; ApplyError when it did not succeed.
    """
    lock = Lock(client, f"nodes restore {request.node}")
    try:
        lock.take(timeout_s=request.lock_timeout_s, waiting=request.progress)
        servers = HeldServers.read(client, lock)
        node = servers.find(request.node)
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
            forget_drain(client, node)
        rows = servers.rows_of(node, servers.truth)
        changed = found is not None and servers.rows_of(node, found.memory) != rows
        return Restored(node, found, was_drained=shows or found is None, is_changed=changed)
    finally:
        lock.release()


def _edited_since(servers: HeldServers, node: Node, found: Drain) -> Iterable[str]:
    """Yield that somebody edited the rows of the node in MEMORY while they were not in use."""
    rows = servers.rows_of(node, servers.truth)
    on_disk = servers.rows_of(node, servers.disk)
    if rows not in (servers.rows_of(node, found.memory), on_disk):
        yield (
            f"mysql_servers: the rows of {name_of(node)} were edited in MEMORY since it was drained"
            "   allow with --include-pending"
        )


def wait_until_unused(
    client: AdminClient, node: Node, *, timeout_s: float, progress: Callable[[str], None]
) -> None:
    """Wait until no connection to the node is in use, saying how many are whenever that changes.

    Raises: ApplyError when some still are after `timeout_s`.
    """
    end = time.monotonic() + timeout_s
    last = -1
    while True:
        used = sum(
            count for key, count in used_connections(client).items() if (key[1], key[2]) == node
        )
        if not used:
            return
        if used != last:
            progress(f"{name_of(node)}: {counted(used, 'connection')} in use")
            last = used
        if time.monotonic() >= end:
            raise ApplyError(
                f"{name_of(node)} is drained, but {counted(used, 'connection')} to it still in use"
                f" after {timeout_s:g} s",
                hint="it takes no new ones; run the command again to go on waiting, or"
                f" proxyctl nodes restore {name_of(node)}",
            )
        time.sleep(_POLL_S)
