"""A MySQL server that answers OK to everything and remembers the texts it was sent.

One listening port stands for one hostgroup, so that the port tells where a query went. It speaks
just enough of the protocol for ProxySQL, and keeps the bytes as they came.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections import deque
from contextlib import closing, suppress
from types import TracebackType
from typing import NamedTuple, Self

_CAPABILITIES = 0x000F_A68D  # protocol 4.1, secure connection, plugin auth, transactions; no TLS
_COM_QUIT, _COM_QUERY, _COM_STMT_PREPARE, _COM_STMT_EXECUTE, _COM_STMT_CLOSE = 1, 3, 22, 23, 25
EXECUTED = b"(COM_STMT_EXECUTE)"
"""What stands for the text where a prepared statement was executed."""

_AUTOCOMMIT = 2


class Arrival(NamedTuple):
    """A text that a backend received."""

    hostgroup: int
    text: bytes


class RecordingBackends:
    """Servers for some hostgroups, each on a port of its own."""

    def __init__(self, hostgroups: range) -> None:
        self._arrivals: deque[Arrival] = deque()
        self._listeners = {
            hostgroup: socket.create_server(("127.0.0.1", 0)) for hostgroup in hostgroups
        }
        self.ports = {h: int(s.getsockname()[1]) for h, s in self._listeners.items()}

    def __enter__(self) -> Self:
        for hostgroup, listener in self._listeners.items():
            threading.Thread(target=self._accept, args=(hostgroup, listener), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for listener in self._listeners.values():
            # A listener that is only closed leaves its thread in accept().
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def take(self) -> list[Arrival]:
        """Return what arrived since the last call."""
        taken = []
        while self._arrivals:
            taken.append(self._arrivals.popleft())
        return taken

    def _accept(self, hostgroup: int, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            arguments = (hostgroup, connection)
            threading.Thread(target=self._serve, args=arguments, daemon=True).start()

    def _serve(self, hostgroup: int, connection: socket.socket) -> None:
        with closing(connection), suppress(OSError, EOFError):
            _send(connection, 0, _greeting())
            _receive(connection)
            _send(connection, 2, _ok())
            while True:
                command = _receive(connection)
                if command[0] == _COM_QUIT:
                    return
                if command[0] == _COM_STMT_CLOSE:
                    continue
                if command[0] in (_COM_QUERY, _COM_STMT_PREPARE):
                    self._arrivals.append(Arrival(hostgroup, command[1:]))
                elif command[0] == _COM_STMT_EXECUTE:
                    self._arrivals.append(Arrival(hostgroup, EXECUTED))
                _send(connection, 1, _prepared() if command[0] == _COM_STMT_PREPARE else _ok())


def _greeting() -> bytes:
    return (
        b"\x0a8.0.36\0"
        + struct.pack("<I", 1)
        + b"saltsalt\0"
        + struct.pack("<H", _CAPABILITIES & 0xFFFF)
        + b"\x2d"
        + struct.pack("<H", _AUTOCOMMIT)
        + struct.pack("<H", _CAPABILITIES >> 16)
        + b"\x15"
        + b"\0" * 10
        + b"saltsaltsalt\0"
        + b"mysql_native_password\0"
    )


def _prepared() -> bytes:
    """A statement without parameters and without columns."""
    return b"\0" + struct.pack("<IHHxH", 1, 0, 0, 0)


def _ok() -> bytes:
    return b"\0\0\0" + struct.pack("<HH", _AUTOCOMMIT, 0)


def _send(connection: socket.socket, number: int, payload: bytes) -> None:
    connection.sendall(struct.pack("<I", len(payload))[:3] + bytes((number,)) + payload)


def _receive(connection: socket.socket) -> bytes:
    """Return one packet's payload; one of 16 MB goes on in the next packet."""
    parts = []
    while True:
        size = int.from_bytes(_exactly(connection, 4)[:3], "little")
        parts.append(_exactly(connection, size))
        if size < 0xFFFFFF:
            return b"".join(parts)


def _exactly(connection: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        part = connection.recv(min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
