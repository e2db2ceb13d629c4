"""Simulated Galera nodes: small MySQL servers that answer the monitor of a real ProxySQL.

Each node listens on an address of its own in 127.0.0.0/8, so that all share one port as real nodes
do. A test changes a node's answers while it runs.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

from tests.support.protocol.mysql_servers import Answer, AnsweringServer, packets, result
from tests.support.protocol.packets import OK


@dataclass
class GaleraNode:
    """The answers of one node. The fields are those that ProxySQL's monitor reads."""

    host: str
    read_only: str = "OFF"
    wsrep_desync: str = "OFF"
    wsrep_cluster_status: str = "Primary"
    pxc_maint_mode: str = "DISABLED"
    wsrep_incoming_addresses: str = ""
    wsrep_cluster_size: int = 3

    def answer(self, statement: bytes) -> Answer:
        """Answer a query of the monitor, or of a client."""
        sql = statement.strip().lower()
        if sql.startswith((b"set ", b"begin", b"commit", b"rollback")):
            return packets([OK])
        if sql.startswith(b"show global status"):
            return _pairs(
                wsrep_local_state_comment="Synced",
                wsrep_cluster_size=self.wsrep_cluster_size,
                wsrep_cluster_status=self.wsrep_cluster_status,
                wsrep_incoming_addresses=self.wsrep_incoming_addresses,
            )
        if sql.startswith(b"show global variables"):
            return _pairs(
                version="8.0.36",
                wsrep_cluster_name="shop",
                read_only=self.read_only,
                wsrep_desync=self.wsrep_desync,
                pxc_maint_mode=self.pxc_maint_mode,
                wsrep_provider_options="base_dir = /data; gmcast.segment = 1; ",
            )
        row = {"host": self.host}
        if b"wsrep_local_state" in sql:
            row = {
                "wsrep_local_state": "4",
                "read_only": self.read_only,
                "wsrep_local_recv_queue": "0",
                "wsrep_desync": self.wsrep_desync,
                "wsrep_reject_queries": "NONE",
                "wsrep_sst_donor_rejects_queries": "OFF",
                "wsrep_cluster_status": self.wsrep_cluster_status,
                "pxc_maint_mode": self.pxc_maint_mode,
            }
        elif b"read_only" in sql:
            row = {"read_only": self.read_only}
        return result([name.encode() for name in row], [[cell.encode() for cell in row.values()]])


def _pairs(**cells: object) -> Answer:
    rows = [[name.encode(), str(cell).encode()] for name, cell in cells.items()]
    return result([b"Variable_name", b"Value"], rows)


class GaleraCluster:
    """Several nodes, served until the context ends."""

    def __init__(self, hosts: list[str], port: int) -> None:
        self.port = port
        members = ",".join(f"{host}:{port}" for host in hosts)
        self.nodes = {
            host: GaleraNode(host, wsrep_incoming_addresses=members, wsrep_cluster_size=len(hosts))
            for host in hosts
        }
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        for host, node in self.nodes.items():
            server = AnsweringServer(node.answer, host, self.port, checks_logins=True)
            self._stack.enter_context(server)
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()
