"""A client of the MySQL protocol that sends exactly the packets of a test, valid or not."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Callable
from typing import Self

from tests.support.protocol.packets import CAPABILITIES, PLUGIN_AUTH, Packet, framed, read_packet

NATIVE, SHA2, CLEAR = "mysql_native_password", "caching_sha2_password", "mysql_clear_password"


def native(password: bytes, nonce: bytes) -> bytes:
    """Return the proof of mysql_native_password."""
    inner = hashlib.sha1(password).digest()
    outer = hashlib.sha1(nonce + hashlib.sha1(inner).digest()).digest()
    return bytes(a ^ b for a, b in zip(inner, outer, strict=True))


def sha2(password: bytes, nonce: bytes) -> bytes:
    """Return the proof of caching_sha2_password."""
    inner = hashlib.sha256(password).digest()
    outer = hashlib.sha256(hashlib.sha256(inner).digest() + nonce).digest()
    return bytes(a ^ b for a, b in zip(inner, outer, strict=True))


def clear(password: bytes, nonce: bytes) -> bytes:
    """Return the proof of mysql_clear_password."""
    return password + b"\0"


Proof = Callable[[bytes, bytes], bytes]


class RawClient:
    """One connection, which has read the greeting."""

    def __init__(self, host: str, port: int, *, timeout: float = 10) -> None:
        self.socket = socket.create_connection((host, port))
        self.socket.settimeout(timeout)
        self.greeting = self.read()[1]
        self.version, _, rest = self.greeting[1:].partition(b"\0")
        self.number = int.from_bytes(rest[:4], "little")
        self.nonce = rest[4:12] + rest[31:43]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.socket.close()

    def read(self) -> Packet:
        """Return the next packet.

        Raises: EOFError at the end, TimeoutError when nothing comes.
        """
        return read_packet(self.socket)

    def send(self, *data: bytes) -> None:
        """Send packets that each begin a new command."""
        self.socket.sendall(b"".join(framed(0, packet) for packet in data))

    def login(
        self,
        user: str = "admin",
        password: str = "admin",
        *,
        plugin: str = NATIVE,
        proof: Proof = native,
        second: Proof | None = None,
        capabilities: int = CAPABILITIES,
    ) -> list[Packet]:
        """Log in and return the answer; `second` answers the request for another plugin."""
        given = proof(password.encode(), self.nonce) if password else b""
        head = capabilities.to_bytes(4, "little") + bytes(4) + b"\x21" + bytes(23)
        data = head + user.encode() + b"\0" + bytes([len(given)]) + given
        if capabilities & PLUGIN_AUTH:
            data += plugin.encode() + b"\0"
        self.socket.sendall(framed(1, data))
        answers = [self.read()]
        if answers[0][1][:1] == b"\xfe" and second is not None:
            self.socket.sendall(framed(3, second(password.encode(), self.nonce)))
            answers.append(self.read())
        if answers[0][1] == b"\x01\x03":
            answers.append(self.read())
        return answers

    def answers(self, count: int) -> list[Packet]:
        """Return this number of packets, or fewer where the connection ends."""
        found: list[Packet] = []
        try:
            while len(found) < count:
                found.append(self.read())
        except (EOFError, ConnectionError):
            pass
        return found
