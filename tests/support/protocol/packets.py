"""The part of the MySQL protocol that the tests' servers, clients and proxies need."""

from __future__ import annotations

import socket

PLUGIN_AUTH = 0x80000
CAPABILITIES = 0x1 | 0x4 | 0x200 | 0x8000 | PLUGIN_AUTH
OK = b"\0\0\0\x02\0\0\0"
"""What an OK packet holds: nothing was changed, autocommit is on."""
SALT = b"abcdefghijklmnopqrst"
_LARGEST = 0xFFFFFF

Packet = tuple[int, bytes]
"""A packet's number and what it holds."""


def framed(number: int, data: bytes) -> bytes:
    """Return a packet as it goes over the wire."""
    return len(data).to_bytes(3, "little") + bytes([number]) + data


def error_packet(message: str) -> bytes:
    """Return an error packet as the answer to a statement."""
    return framed(1, b"\xff" + (1045).to_bytes(2, "little") + b"#28000" + message.encode())


def greeting(
    version: bytes = b"5.7.30",
    *,
    method: bytes = b"mysql_native_password",
    capabilities: int = CAPABILITIES,
) -> bytes:
    """Return the first packet of a server without TLS that logs in by this method."""
    data = (
        b"\x0a" + version + b"\0"
        + (1).to_bytes(4, "little")
        + SALT[:8] + b"\0"
        + (capabilities & 0xFFFF).to_bytes(2, "little")
        + b"\x2d\x02\0"  # utf8mb4, autocommit
        + (capabilities >> 16).to_bytes(2, "little")
        + bytes([len(SALT) + 1]) + bytes(10)
        + SALT[8:] + b"\0"
        + method + b"\0"
    )  # fmt: skip
    return framed(0, data)


def exactly(connection: socket.socket, count: int) -> bytes:
    """Return this number of bytes.

    Raises: EOFError when the other side has left.
    """
    parts: list[bytes] = []
    while count:
        part = connection.recv(min(count, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def read_packet(connection: socket.socket) -> Packet:
    """Return the next packet, together with its continuation packets.

    Raises: EOFError when the other side has left.
    """
    parts: list[bytes] = []
    while True:
        header = exactly(connection, 4)
        parts.append(exactly(connection, int.from_bytes(header[:3], "little")))
        if len(parts[-1]) < _LARGEST:
            return header[3], b"".join(parts)
