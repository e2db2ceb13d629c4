"""A MySQL server that answers OK to everything and remembers the texts it was sent.

One listening port stands for one hostgroup, so that the port tells where a query went. It speaks
just enough of the protocol for ProxySQL, and keeps the bytes as they came.
"""

from __future__ import annotations

import socket
from collections import deque
from contextlib import ExitStack
from functools import partial
from typing import NamedTuple, Self

from tests.support.packets import OK, framed, greeting, read_packet
from tests.support.tcp_server import TcpServer

_CAPABILITIES = 0x000F_A68D  # protocol 4.1, secure connection, plugin auth, transactions; no TLS
_COM_QUIT, _COM_QUERY, _COM_STMT_PREPARE, _COM_STMT_EXECUTE, _COM_STMT_CLOSE = 1, 3, 22, 23, 25
EXECUTED = b"(COM_STMT_EXECUTE)"
"""What stands for the text where a prepared statement was executed."""
_PREPARED = b"\0" + (1).to_bytes(4, "little") + bytes(7)
"""The answer to a prepared statement without parameters and without columns."""


class Arrival(NamedTuple):
    """A text that a backend received."""

    hostgroup: int
    text: bytes


class RecordingBackends:
    """Servers for some hostgroups, each on a port of its own."""

    def __init__(self, hostgroups: range) -> None:
        self._arrivals: deque[Arrival] = deque()
        self._stack = ExitStack()
        self._servers = {one: TcpServer(partial(self._serve, one)) for one in hostgroups}
        self.ports = {hostgroup: server.port for hostgroup, server in self._servers.items()}

    def __enter__(self) -> Self:
        for server in self._servers.values():
            self._stack.enter_context(server)
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def take(self) -> list[Arrival]:
        """Return what arrived since the last call."""
        taken = []
        while self._arrivals:
            taken.append(self._arrivals.popleft())
        return taken

    def _serve(self, hostgroup: int, connection: socket.socket) -> None:
        connection.sendall(greeting(b"8.0.36", capabilities=_CAPABILITIES))
        read_packet(connection)
        connection.sendall(framed(2, OK))
        while (command := read_packet(connection)[1])[0] != _COM_QUIT:
            if command[0] == _COM_STMT_CLOSE:
                continue
            if command[0] in (_COM_QUERY, _COM_STMT_PREPARE):
                self._arrivals.append(Arrival(hostgroup, command[1:]))
            elif command[0] == _COM_STMT_EXECUTE:
                self._arrivals.append(Arrival(hostgroup, EXECUTED))
            answer = _PREPARED if command[0] == _COM_STMT_PREPARE else OK
            connection.sendall(framed(1, answer))
