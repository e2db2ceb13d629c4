"""A MySQL server that answers what a test says."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import BinaryIO, Self, cast

from tests.support.raw_client import CAPABILITIES, framed

Cell = bytes | None
Answer = bytes
"""All packets of an answer, as they go over the wire."""

GREETING = framed(
    0,
    b"\x0a5.7.30\0"
    + (7).to_bytes(4, "little")
    + b"12345678\0"
    + (CAPABILITIES & 0xFFFF).to_bytes(2, "little")
    + b"\x21\x02\0"
    + (CAPABILITIES >> 16).to_bytes(2, "little")
    + b"\x15"
    + bytes(10)
    + b"123456789012\0mysql_native_password\0",
)
OK = b"\0\0\0\x02\0\0\0"
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


class AnsweringServer:
    """Serves connections on a `port` of this machine, each in a thread. Use as a context manager.

    Everybody is let in; each statement gets what `answer` returns for it. Empty bytes end the
    connection.
    """

    def __init__(self, answer: Callable[[bytes], Answer]) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        # Closing it would not wake up who waits there.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError), connection.makefile("rb") as file:
            stream = cast(BinaryIO, file)
            connection.sendall(GREETING)
            if _packet(stream) is None:
                return
            connection.sendall(packets([OK], first=2))
            while (statement := _packet(stream)) is not None and statement[:1] == b"\x03":
                if not (answer := self._answer(statement[1:])):
                    return
                connection.sendall(answer)


def _packet(stream: BinaryIO) -> bytes | None:
    """Return what the next packet holds; None at the end."""
    head = stream.read(4)
    if len(head) < 4:
        return None
    return stream.read(int.from_bytes(head[:3], "little"))
