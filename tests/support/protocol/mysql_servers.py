"""Local servers that speak the MySQL protocol, with answers from the test."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Self

from tests.support.protocol.packets import OK, SALT, framed, greeting, read_packet
from tests.support.protocol.raw_client import native

_COM_QUIT, _COM_QUERY = 1, 3
_EOF = b"\xfe\0\0\x02\0"

Answer = bytes
"""All packets of an answer, as they go over the wire."""


class TcpServer:
    """Gives every connection to `serve`, in a thread of its own. Use as a context manager."""

    def __init__(
        self, serve: Callable[[socket.socket], None], host: str = "127.0.0.1", port: int = 0
    ) -> None:
        self._serve = serve
        self._listener = socket.create_server((host, port), backlog=64)
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self.host = host
        self.port: int = self._listener.getsockname()[1]
        self.connections: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        # Closing it would not wake up the thread that waits there.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._one, args=(connection,), daemon=True)
            thread.start()
            self.connections.append(thread)

    def _one(self, connection: socket.socket) -> None:
        with connection, suppress(OSError, EOFError):
            self._serve(connection)


class AnsweringServer(TcpServer):
    """Answers each statement with what `answer` returns. Empty bytes end the connection.

    Every login succeeds; with `checks_logins` only if the password is the user name.
    """

    def __init__(
        self,
        answer: Callable[[bytes], Answer],
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        checks_logins: bool = False,
    ) -> None:
        super().__init__(self._talk, host, port)
        self._answer = answer
        self._checks_logins = checks_logins

    def _talk(self, connection: socket.socket) -> None:
        connection.sendall(greeting(b"8.0.36"))
        user, _, proof = read_packet(connection)[1][32:].partition(b"\0")
        if self._checks_logins and native(user, SALT) not in proof:
            connection.sendall(error(1045, b"Access denied for user '%b'" % user, number=2))
            return
        connection.sendall(framed(2, OK))
        while (command := read_packet(connection)[1])[0] != _COM_QUIT:
            is_query = command[0] == _COM_QUERY
            if not (answer := self._answer(command[1:]) if is_query else framed(1, OK)):
                return
            connection.sendall(answer)


def text(value: bytes) -> bytes:
    """Return a text with its length in front."""
    size = len(value)
    for limit, mark, width in ((0xFB, b"", 1), (1 << 16, b"\xfc", 2), (1 << 24, b"\xfd", 3)):
        if size < limit:
            return mark + size.to_bytes(width, "little") + value
    return b"\xfe" + size.to_bytes(8, "little") + value


def packets(parts: Iterable[bytes], *, first: int = 1) -> Answer:
    """Return consecutive packets."""
    return b"".join(framed(number % 256, part) for number, part in enumerate(parts, first))


def result(columns: Sequence[bytes], rows: Iterable[Sequence[bytes | None]]) -> Answer:
    """Return a result set of texts."""

    def column(name: bytes) -> bytes:
        # Catalogue, schema, table, name; then utf8, a length, VAR_STRING.
        kind = b"\x0c\x21\0\xff\xff\0\0\xfd\0\0\0\0\0"
        return text(b"def") + text(b"") * 3 + text(name) + text(b"") + kind

    def row(cells: Sequence[bytes | None]) -> bytes:
        return b"".join(b"\xfb" if cell is None else text(cell) for cell in cells)

    parts = [bytes([len(columns)]), *map(column, columns), _EOF, *map(row, rows), _EOF]
    return packets(parts)


def error(code: int, message: bytes, *, number: int = 1) -> Answer:
    """Return an error packet."""
    return packets([b"\xff" + code.to_bytes(2, "little") + b"#HY000" + message], first=number)
