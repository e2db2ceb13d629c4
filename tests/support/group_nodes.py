"""Simulated nodes of group replication and of Aurora, for the monitor of a real ProxySQL."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.support.galera_nodes import GaleraNode

DOMAIN = ".1"
"""Aurora names a server by an id, and ProxySQL adds a domain: `127.0.7` becomes 127.0.7.1."""


@dataclass
class GroupNode(GaleraNode):
    """A member of a replication group; `read_only` ON is a secondary."""

    is_viable: bool = True
    transactions_behind: int = 0

    def answer(self, sql: str) -> tuple[list[tuple[Any, ...]], list[str]]:
        """Return rows and column names for a query of the monitor, or of a client."""
        if "viable_candidate" not in sql.lower():
            return super().answer(sql)
        row = (
            "YES" if self.is_viable else "NO",
            "YES" if self.read_only == "ON" else "NO",
            self.transactions_behind,
            self.wsrep_incoming_addresses,
        )
        return [row], ["viable_candidate", "read_only", "transactions_behind", "members"]


@dataclass
class AuroraNode(GaleraNode):
    """An instance of an Aurora cluster whose writer never changes."""

    writer: str = ""
    is_reported: dict[str, bool] = field(default_factory=dict)
    """Of each host, whether this one speaks of it; it does unless it is False."""

    def answer(self, sql: str) -> tuple[list[tuple[Any, ...]], list[str]]:
        """Return rows and column names for a query of the monitor, or of a client."""
        if "replica_host_status" not in sql.lower():
            return super().answer(sql)
        hosts = [member.rpartition(":")[0] for member in self.wsrep_incoming_addresses.split(",")]
        rows = [
            (
                host.removesuffix(DOMAIN),
                "MASTER_SESSION_ID" if host == self.writer else f"session {host}",
                "2026-01-01 00:00:00",
                0.0 if host == self.writer else 10.0,
                1.0,
            )
            for host in hosts
            if self.is_reported.get(host, True)
        ]
        names = ["SERVER_ID", "SESSION_ID", "LAST_UPDATE_TIMESTAMP", "REPLICA_LAG", "CPU"]
        return rows, names
