"""Simulated Galera nodes: small MySQL servers that answer the monitor of a real ProxySQL.

Each node listens on an address of its own in 127.0.0.0/8, so that they can share one port as real
nodes do. What a node says of itself is changed while it runs.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from dataclasses import dataclass, field
from typing import Any, Self

from mysql_mimic import MysqlServer
from mysql_mimic.auth import IdentityProvider, NativePasswordAuthPlugin, User
from mysql_mimic.session import BaseSession
from mysql_mimic.variables import GlobalVariables, SessionVariables


@dataclass
class GaleraNode:
    """What one node answers. The fields are those that ProxySQL's monitor reads."""

    host: str
    wsrep_local_state: int = 4
    read_only: str = "OFF"
    wsrep_desync: str = "OFF"
    wsrep_cluster_status: str = "Primary"
    pxc_maint_mode: str = "DISABLED"
    wsrep_incoming_addresses: str = ""
    wsrep_cluster_size: int = 3
    is_up: bool = True
    is_slow: bool = False
    """A query of a client waits until this is False again."""
    queries: list[str] = field(default_factory=list)

    def answer(self, sql: str) -> tuple[list[tuple[Any, ...]], list[str]]:
        """Return rows and column names for a query of the monitor, or of a client."""
        lowered = sql.lower()
        if lowered.startswith("show global status"):
            state = {4: "Synced", 2: "Donor/Desynced"}.get(self.wsrep_local_state, "Joining")
            return [
                ("wsrep_local_state_comment", state),
                ("wsrep_cluster_size", str(self.wsrep_cluster_size)),
                ("wsrep_cluster_status", self.wsrep_cluster_status),
                ("wsrep_incoming_addresses", self.wsrep_incoming_addresses),
            ], ["Variable_name", "Value"]
        if lowered.startswith("show global variables"):
            return [
                ("version", "8.0.36"),
                ("wsrep_cluster_name", "shop"),
                ("read_only", self.read_only),
                ("wsrep_desync", self.wsrep_desync),
                ("pxc_maint_mode", self.pxc_maint_mode),
                ("wsrep_provider_options", "base_dir = /data; gmcast.segment = 1; "),
            ], ["Variable_name", "Value"]
        if "wsrep_local_state" in lowered:
            row = {
                "wsrep_local_state": self.wsrep_local_state,
                "read_only": self.read_only,
                "wsrep_local_recv_queue": 0,
                "wsrep_desync": self.wsrep_desync,
                "wsrep_reject_queries": "NONE",
                "wsrep_sst_donor_rejects_queries": "OFF",
                "wsrep_cluster_status": self.wsrep_cluster_status,
                "pxc_maint_mode": self.pxc_maint_mode,
            }
            return [tuple(row.values())], [*row]
        self.queries.append(sql)
        if "read_only" in lowered:
            return [(self.read_only,)], ["read_only"]
        return [(self.host,)], ["host"]


class _Logins(IdentityProvider):  # type: ignore[misc]
    """Lets the monitor and any user in whose password is his name."""

    async def get_user(self, username: str) -> User:
        inner = hashlib.sha1(username.encode()).digest()
        return User(
            name=username,
            auth_string=hashlib.sha1(inner).hexdigest(),
            auth_plugin=NativePasswordAuthPlugin.name,
        )


class _Session(BaseSession):  # type: ignore[misc]
    def __init__(self, node: GaleraNode) -> None:
        self._node = node
        self.variables = SessionVariables(GlobalVariables())
        self.variables.set("version", "8.0.36", force=True)
        self.username = None
        self.database = None

    async def handle_query(self, sql: str, attrs: dict[str, str]) -> Any:
        if not self._node.is_up:
            raise ConnectionError("the node is down")
        lowered = sql.strip().lower()
        if lowered.startswith(("set ", "begin", "commit", "rollback")):
            return [], []
        answer = self._node.answer(sql)
        while self._node.is_slow and sql in self._node.queries:
            await asyncio.sleep(0.02)
        return answer

    async def init(self, connection: Any) -> None:
        if not self._node.is_up:
            raise ConnectionError("the node is down")

    async def close(self) -> None: ...

    async def reset(self) -> None: ...

    async def use(self, database: str) -> None: ...


class GaleraCluster:
    """Several nodes, served from one thread until the context ends."""

    def __init__(self, hosts: list[str], port: int) -> None:
        self.port = port
        members = ",".join(f"{host}:{port}" for host in hosts)
        self.nodes = {
            host: GaleraNode(host, wsrep_incoming_addresses=members, wsrep_cluster_size=len(hosts))
            for host in hosts
        }
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._servers: list[MysqlServer] = []

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(30)
        return self

    async def _start(self) -> None:
        for host, node in self.nodes.items():
            server = MysqlServer(
                session_factory=lambda node=node: _Session(node), identity_provider=_Logins()
            )
            await server.start_server(host=host, port=self.port)
            self._servers.append(server)

    def __exit__(self, *exc: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()

    async def _stop(self) -> None:
        for server in self._servers:
            server.close()
        self._loop.set_exception_handler(lambda _loop, _context: None)
        current = asyncio.current_task()
        rest = [task for task in asyncio.all_tasks() if task is not current]
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
