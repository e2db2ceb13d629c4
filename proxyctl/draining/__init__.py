"""Drain one node of an instance, and put it back. A restart of ProxySQL ends what RUNTIME holds.

lock -> read -> refuse, or: note it -> drain -> wait until nothing uses the node, without the lock.
In a ProxySQL Cluster peers are waited for then, also when a node was put back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial

from proxyctl.admin.client import AdminClient
from proxyctl.admin.drains import forget_drain, read_drains
from proxyctl.admin.interrupts import interruptible, uninterrupted
from proxyctl.admin.lock import Lock
from proxyctl.admin.members import Members
from proxyctl.admin.pxc_maint_mode import OFF
from proxyctl.cluster.membership import Membership
from proxyctl.cluster.writers import further_writers, placed_by_monitor
from proxyctl.draining import by_load, by_maint_mode
from proxyctl.draining.back import wait_until_back
from proxyctl.draining.changed_already import changed_already
from proxyctl.draining.refusals import (
    check_not_behind,
    check_not_configured_out,
    reasons_against,
)
from proxyctl.draining.request import Drained, DrainRequest, Restored, StillUsed
from proxyctl.draining.unused import wait_until_unused
from proxyctl.drains import NODES, Drain, DrainMethod
from proxyctl.edits_at_peers import EditsAtPeers
from proxyctl.errors import (
    ApplyError,
    ConnectionLostError,
    InterruptedApplyError,
    ProxyctlError,
    RefusedError,
    UsageError,
)
from proxyctl.families import Family, Node, node_text
from proxyctl.held_servers import HeldServers, Warn
from proxyctl.plan import ModulePlan

__all__ = [
    "DrainRequest",
    "Drained",
    "Restored",
    "StillUsed",
    "drain",
    "restore",
    "wait_until_back",
    "wait_until_unused",
]


def drain(client: AdminClient, request: DrainRequest) -> Drained:
    """Drain a node, or find it drained.

    Raises: RefusedError, UsageError before anything was changed; ApplyError when it did not
    succeed.
    """
    with _held(client, request, "drain") as (servers, node):
        method = request.method or DrainMethod.PROXYSQL
        before = servers.drains.get(node)
        if before is not None and servers.is_gone(node):
            raise UsageError(
                f"{request.node}: no such node: it is no server any more, though on record as"
                f" {before.text()}",
                hint=f"proxyctl nodes restore {node_text(node)} takes it off the record",
            )
        is_loaded = before is not None and before.method is DrainMethod.PROXYSQL
        if is_loaded and servers.is_removed(node):
            raise RefusedError(
                f"{node_text(node)} was removed in MEMORY since it was drained",
                hint=f"proxyctl nodes restore {node_text(node)} --include-pending loads that",
            )
        is_out = before is not None and before.is_done and servers.shows(node, before.method)
        if before is not None and is_out and not servers.is_unfinished(node):
            return Drained(node, before, was_before=True, families=_galera(servers))
        is_kept = before is not None and (not before.is_done or not is_loaded)
        if before is not None and is_kept and before.method is not method:
            # Nobody would know any more what the node itself was told.
            raise RefusedError(
                f"{node_text(node)} is {before.text()}",
                hint=f"proxyctl nodes restore {node_text(node)}, or drain it with {before.method}",
            )
        if before is None:
            check_not_configured_out(servers, node)
        if method is DrainMethod.PROXYSQL:
            servers = servers.when_due()
        reasons = [*reasons_against(servers, node, method, request)]
        if method is DrainMethod.PXC_MAINT_MODE:
            mode = by_maint_mode.checked(servers, node, request, reasons)
            with _acting(servers, node, request):
                by_maint_mode.drain(servers, node, request, mode)
        else:
            servers.check(node, reasons, include_pending=request.include_pending)
            with _acting(servers, node, request):
                by_load.drain(servers, node, request)
        name = node_text(node)
        hint = f"proxyctl nodes restore {name} puts it back"
        with _acting(servers, node, request), changed_already(f"{name} is drained", hint=hint):
            drained = read_drains(client, servers.layout)[node]
        return Drained(node, drained, families=_galera(servers))


def restore(client: AdminClient, request: DrainRequest) -> Restored:
    """Put a drained node back as it is configured, or find that it is not drained.

    Raises: RefusedError before anything was changed; ApplyError when it did not succeed.
    """
    with _held(client, request, "restore") as (servers, node):
        found = servers.drains.get(node)
        method = found.method if found is not None else request.method
        with _acting(servers, node, request):
            if found is not None and servers.is_gone(node):
                return _off_the_record(servers, node, request, found)
            if method is DrainMethod.PXC_MAINT_MODE:
                return by_maint_mode.restore(servers, node, request, found)
            restored = by_load.restore(servers.when_due(), node, request)
            return replace(restored, families=_galera(servers))


def _off_the_record(
    servers: HeldServers, node: Node, request: DrainRequest, found: Drain
) -> Restored:
    """Take a node off the record that is no server any more."""
    is_unsaved = bool(servers.rows_of(node, servers.disk))
    is_set = found.method is DrainMethod.PXC_MAINT_MODE and by_maint_mode.release(
        servers, node, request
    )
    name = node_text(node)
    said = f"pxc_maint_mode of {name} is {OFF}, and whether it is off the record is not known"
    hint = f"proxyctl nodes restore {name} tries again"
    with changed_already(said, hint=hint) if is_set else nullcontext():
        forget_drain(servers.client, node)
    return Restored(node, found, was_drained=False, is_gone=True, is_unsaved=is_unsaved)


def _galera(servers: HeldServers) -> list[Family]:
    """Return the families for which every member of a cluster chooses the writers by itself."""
    return placed_by_monitor(servers.standing.families)


@contextmanager
def _acting(servers: HeldServers, node: Node, request: DrainRequest) -> Iterator[None]:
    """Let whatever cuts it off come with what became of the node.

    Raises: InterruptedApplyError; ApplyError for a connection that was lost.
    """
    try:
        with interruptible():
            yield
    except (KeyboardInterrupt, ConnectionLostError) as error:
        with uninterrupted():
            said = _state(servers, node, request, error)
        if isinstance(error, KeyboardInterrupt):
            raise InterruptedApplyError(f"interrupted: {said}") from error
        then = [*error.then, f"after reconnecting: {said}"]
        raise ApplyError(error.message, then=then, hint=error.hint) from error


def _state(servers: HeldServers, node: Node, request: DrainRequest, error: BaseException) -> str:
    """Return what the instance says of the node now."""
    name = node_text(node)
    try:
        servers.revive(error)
        drain = servers.again().drains.get(node)
    except ProxyctlError as second:
        return f"what became of {name} is not known: {second.message}"
    if drain is None:
        return f"{name} is not drained"
    if drain.method is DrainMethod.PXC_MAINT_MODE and by_maint_mode.is_off(servers, node, request):
        then = f"proxyctl nodes restore {name} takes it off the record"
        return f"pxc_maint_mode of {name} is {OFF}, though on record as {drain.text()}; {then}"
    return f"{name} is {drain.text()}; proxyctl nodes restore {name} puts it back"


@contextmanager
def _held(
    client: AdminClient, request: DrainRequest, what: str
) -> Iterator[tuple[HeldServers, Node]]:
    """Hold the lock, and yield MYSQL SERVERS and the node that is meant.

    In a ProxySQL Cluster it is the lock of every member: what is loaded here goes to all.
    """
    lock = Lock(client, f"{NODES}{what} {request.node}")
    members = Members(client, partial(request.login_at, client.login), request.progress)
    try:
        members.take(lock, timeout_s=request.lock_timeout_s)
        membership = members.look()
        # What is put back by force is no older than what the others hold.
        if what == "restore" or not request.force:
            check_not_behind(client, membership)
        servers = HeldServers.read(
            client, lock, members.wait_for_a_later_second, _warner(membership, request)
        )
        if membership.listed:
            edits = EditsAtPeers(members, membership, lock)
            servers = replace(servers, lost_at_peers=lambda module: edits.lost([module]))
        yield servers, servers.find(request.node)
    finally:
        with uninterrupted():
            lock.give_back(request.progress)
            members.close()


def _warner(membership: Membership, request: DrainRequest) -> Warn:
    """Return what says, before each LOAD, which nodes members take for writers for a while."""
    said: set[str] = set()

    def warn(module: ModulePlan, check_ms: int, moves_writer: bool) -> None:
        if len(membership.listed) < 2:
            return
        for text in further_writers([module], membership, check_ms, moves_writer=moves_writer):
            if text not in said:
                said.add(text)
                request.progress(f"warning: {text}")

    return warn
