"""Takes servers out of MEMORY and DISK of a peer that keeps them although they have left."""

from __future__ import annotations

from proxyctl.admin.lock import Lock
from proxyctl.cluster.kept_offline import TABLE, Kept
from proxyctl.sql import Statement, literal
from proxyctl.state import Layer

_SCHEMAS = {Layer.MEMORY: "main", Layer.DISK: "disk"}


def take_out(lock: Lock, kept: Kept) -> None:
    """Delete these rows at the peer whose lock this is, where they still are OFFLINE_HARD.

    DISK is written directly: a SAVE would carry along what somebody has edited in MEMORY since.
    Raises: InstanceError.
    """
    for layer, keys in kept.items():
        named = ",".join(f"({','.join(map(literal, key))})" for key in keys)
        sql = (
            f"DELETE FROM {_SCHEMAS[layer]}.{TABLE} WHERE status='OFFLINE_HARD'"
            f" AND (hostgroup_id, hostname, port) IN (VALUES {named})"
        )
        lock.client.execute(lock.fenced(Statement.plain(sql)))
