"""A server that speaks just enough of MySQL's handshake to ask for a password in a bad way."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

_PLUGIN_AUTH = 1 << 19
_SECURE_CONNECTION = 1 << 15
_PROTOCOL_41 = 1 << 9
_SALT = b"abcdefghijklmnopqrst"


def greeting(method: bytes) -> bytes:
    """Return the first packet of a server without TLS that logs in by this method."""
    flags = _PLUGIN_AUTH | _SECURE_CONNECTION | _PROTOCOL_41
    return (
        b"\x0a2.7.1\0"
        + struct.pack("<I", 1)
        + _SALT[:8]
        + b"\0"
        + struct.pack("<HBHH", flags & 0xFFFF, 45, 2, flags >> 16)
        + bytes([len(_SALT) + 1])
        + bytes(10)
        + _SALT[8:]
        + b"\0"
        + method
        + b"\0"
    )


class HostileServer:
    """Greets, then answers each packet of the client with the next of `answers`.

    `heard` is every byte that clients sent.
    """

    def __init__(self, method: bytes, *answers: bytes, host: str = "127.0.0.1") -> None:
        self._packets = (greeting(method), *answers)
        self._server = socket.create_server((host, 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.heard = b""
        self.host = host
        self.port: int = self._server.getsockname()[1]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                with client, suppress(OSError):
                    self._talk(client)

    def _talk(self, client: socket.socket) -> None:
        number = 0
        for packet in self._packets:
            client.sendall(struct.pack("<I", len(packet))[:3] + bytes([number]) + packet)
            said = client.recv(65536)
            if not said:
                return
            self.heard += said
            number = said[3] + 1
        # What is still on its way must be heard before the test looks.
        while said := client.recv(65536):
            self.heard += said
