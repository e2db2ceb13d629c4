"""The MySQL protocol as far as a proxy has to know it: where a packet, a login, an answer ends."""

from __future__ import annotations

import socket

from tests.support.packets import exactly, framed

QUERY = 3
_OK, _EOF, _ERROR = b"\x00", b"\xfe", b"\xff"
_LARGEST = 0xFFFFFF


class Stream:
    """One side of a connection."""

    def __init__(self, opened: socket.socket) -> None:
        self.socket = opened

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def packet(self) -> bytes:
        """Return the next packet with its header, and those that it goes on in.

        Raises: EOFError when the other side has left.
        """
        found = b""
        while True:
            header = exactly(self.socket, 4)
            length = int.from_bytes(header[:3], "little")
            found += header + exactly(self.socket, length)
            if length < _LARGEST:
                return found

    def answer(self) -> bytes:
        """Return all packets that a statement is answered with."""
        first = found = self.packet()
        if first[4:5] in (_OK, _ERROR):
            return found
        for _ in ("columns", "rows"):
            last = b""
            while not _is_end(last):
                last = self.packet()
                found += last
                if last[4:5] == _ERROR:
                    return found
        return found

    def left(self) -> None:
        """Wait until the other side has left."""
        while self.socket.recv(4096):
            pass


def _is_end(packet: bytes) -> bool:
    return packet[4:5] == _EOF and len(packet) < 4 + 9


def pass_login(client: Stream, server: Stream) -> None:
    """Pass on the packets of a login. Raises: EOFError when the server lets nobody in."""
    client.send(server.packet())
    server.send(client.packet())
    while True:
        packet = server.packet()
        client.send(packet)
        kind = packet[4:5]
        if kind == _OK:
            return
        if kind == _ERROR:
            raise EOFError
        if kind == _EOF:
            server.send(client.packet())


def ok_packet(*, changed: int) -> bytes:
    """Return an answer to a statement, which says how many rows it changed: some, below 251."""
    return framed(1, b"\0" + bytes([changed, 0]) + b"\2\0\0\0")
