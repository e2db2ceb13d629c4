"""A MySQL server that answers what a test says."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Sequence

from tests.support.packets import OK, framed, greeting, read_packet
from tests.support.tcp_server import TcpServer

Cell = bytes | None
Answer = bytes
"""All packets of an answer, as they go over the wire."""

_EOF = b"\xfe\0\0\x02\0"


def text(value: bytes) -> bytes:
    """Return a text with its length in front."""
    size = len(value)
    for limit, mark, width in ((0xFB, b"", 1), (1 << 16, b"\xfc", 2), (1 << 24, b"\xfd", 3)):
        if size < limit:
            return mark + size.to_bytes(width, "little") + value
    return b"\xfe" + size.to_bytes(8, "little") + value


def packets(parts: Iterable[bytes], *, first: int = 1) -> Answer:
    """Return packets that follow each other."""
    return b"".join(framed(number % 256, part) for number, part in enumerate(parts, first))


def result(columns: Sequence[bytes], rows: Iterable[Sequence[Cell]]) -> Answer:
    """Return a result set of texts."""

    def column(name: bytes) -> bytes:
        # Catalogue, schema, table, name; then utf8, a length, VAR_STRING.
        kind = b"\x0c\x21\0\xff\xff\0\0\xfd\0\0\0\0\0"
        return text(b"def") + text(b"") * 3 + text(name) + text(b"") + kind

    def row(cells: Sequence[Cell]) -> bytes:
        return b"".join(b"\xfb" if cell is None else text(cell) for cell in cells)

    parts = [bytes([len(columns)]), *map(column, columns), _EOF, *map(row, rows), _EOF]
    return packets(parts)


def error(code: int, message: bytes) -> Answer:
    """Return an error packet."""
    return packets([b"\xff" + code.to_bytes(2, "little") + b"#HY000" + message])


class AnsweringServer(TcpServer):
    """A server that lets everybody in; each statement gets what `answer` returns for it.

    Empty bytes end the connection.
    """

    def __init__(self, answer: Callable[[bytes], Answer]) -> None:
        super().__init__(self._talk)
        self._answer = answer

    def _talk(self, connection: socket.socket) -> None:
        connection.sendall(greeting())
        read_packet(connection)
        connection.sendall(framed(2, OK))
        while (statement := read_packet(connection)[1])[:1] == b"\x03":
            if not (answer := self._answer(statement[1:])):
                return
            connection.sendall(answer)
