"""Drain one node of an instance, and put it back. A restart of ProxySQL ends what RUNTIME holds.

lock -> read -> refuse, or: note it -> drain -> wait until nothing uses the node, without the lock
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from proxyctl.admin.client import AdminClient
from proxyctl.admin.drains import read_drains
from proxyctl.admin.interrupts import interruptible
from proxyctl.admin.lock import Lock
from proxyctl.draining import by_load
from proxyctl.draining.refusals import reasons_against
from proxyctl.draining.request import Drained, DrainRequest, Restored
from proxyctl.draining.unused import wait_until_unused
from proxyctl.families import Node
from proxyctl.held_servers import HeldServers

__all__ = ["DrainRequest", "Drained", "Restored", "drain", "restore", "wait_until_unused"]


def drain(client: AdminClient, request: DrainRequest) -> Drained:
    """Drain a node, or find it drained.

    Raises: RefusedError before anything was changed; ApplyError when it did not succeed.
    """
    with _held(client, request, "drain") as (servers, node):
        before = servers.drains.get(node)
        if before is not None and before.is_done and servers.shows(node):
            return Drained(node, before, was_before=True)
        reasons = reasons_against(servers, node, force=request.force)
        servers.check(reasons, include_pending=request.include_pending)
        with interruptible():
            by_load.drain(servers, node, request)
        return Drained(node, read_drains(client, servers.layout)[node])


def restore(client: AdminClient, request: DrainRequest) -> Restored:
    """Put a drained node back as it is configured, or find that it is not drained.

    Raises: RefusedError before anything was changed; ApplyError when it did not succeed.
    """
    with _held(client, request, "restore") as (servers, node):
        return by_load.restore(servers, node, request)


@contextmanager
def _held(
    client: AdminClient, request: DrainRequest, what: str
) -> Iterator[tuple[HeldServers, Node]]:
    """Hold the lock, and yield MYSQL SERVERS and the node that is meant."""
    lock = Lock(client, f"nodes {what} {request.node}")
    try:
        lock.take(timeout_s=request.lock_timeout_s, waiting=request.progress)
        servers = HeldServers.read(client, lock)
        yield servers, servers.find(request.node)
    finally:
        lock.release()
