"""Packets over a stream: each has three bytes of length, and a number that counts up."""

from __future__ import annotations

import asyncio

LARGEST_PACKET = 0xFFFFFF
"""A packet of this size goes on in the next one."""

LARGEST_TEXT = LARGEST_PACKET - 1
"""The most that is read; what comes beyond is thrown away."""

_PIECE = 2**16


class Wire:
    """One client's stream.

    Numbers are not checked, as ProxySQL does not: an answer counts on from what the client sent.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._number = 0
        self._buffer = bytearray()

    async def read(self) -> bytes:
        """Return what one or several packets hold; of more than LARGEST_TEXT only so much.

        Raises: asyncio.IncompleteReadError or ConnectionError when the client is gone.
        """
        found = bytearray()
        while True:
            header = await self._reader.readexactly(4)
            length = int.from_bytes(header[:3], "little")
            self._number = header[3] + 1
            wanted = min(length, LARGEST_PACKET - len(found))
            found += await self._reader.readexactly(wanted)
            await self._skip(length - wanted)
            if length < LARGEST_PACKET:
                return bytes(found)

    async def read_command(self) -> bytes:
        """Return what a client asks. The answer begins anew, whatever number the client gave."""
        text = await self.read()
        if len(text) <= LARGEST_TEXT:
            self._number = 1
        return text

    async def _skip(self, length: int) -> None:
        while length > 0:
            length -= len(await self._reader.readexactly(min(length, _PIECE)))

    def skip_number(self) -> None:
        """Leave out the next number, as ProxySQL does in one of its answers."""
        self._number += 1

    async def write(self, *packets: bytes) -> None:
        """Send packets and wait until the client takes them."""
        for packet in packets:
            await self.put(packet)
        await self._flush()

    async def put(self, packet: bytes) -> None:
        """Send a packet together with the next ones."""
        view = memoryview(packet)
        while True:
            piece, view = view[:LARGEST_PACKET], view[LARGEST_PACKET:]
            self._buffer += len(piece).to_bytes(3, "little")
            self._buffer.append(self._number % 2**8)
            self._buffer += piece
            self._number += 1
            if len(piece) < LARGEST_PACKET:
                break
        if len(self._buffer) >= _PIECE:
            await self._flush()

    async def _flush(self) -> None:
        self._writer.write(self._buffer)
        self._buffer = bytearray()
        await self._writer.drain()

    def cut(self) -> None:
        """End the connection without an answer."""
        self._writer.transport.abort()
