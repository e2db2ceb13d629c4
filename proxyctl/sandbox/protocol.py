"""The MySQL protocol as ProxySQL's admin port speaks it: packets, and the stream they go over.

The library mysql_mimic makes the packets where it can. Its server is no use: it cannot answer with
the number of changed rows, which a lock needs. ProxySQL sends every column as text, an info text
with OK, and bytes as they were stored.
Source: the protocol's public documentation; ProxySQL 2.7.1, watched on a running server.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress

from mysql_mimic import packets as library
from mysql_mimic.charset import CharacterSet
from mysql_mimic.packets import HandshakeResponse41
from mysql_mimic.types import (
    Capabilities,
    ColumnDefinition,
    ColumnType,
    Commands,
    ServerStatus,
    str_len,
    uint_1,
    uint_2,
    uint_4,
    uint_len,
)

from proxyctl.sandbox.replies import AdminError, Answer, SqliteValue

__all__ = ["NATIVE", "Commands", "Wire"]

NATIVE = "mysql_native_password"
"""The only login method; a client that begins with another method is asked to switch."""

LARGEST_TEXT = 0xFFFFFE
"""The largest command. Units: bytes."""

_LARGEST_PACKET = 0xFFFFFF
"""A packet of this size continues in the next packet."""

_LARGEST_PROOF = 255
_FIXED_PART = 32
"""The bytes of a login packet before the name of the user."""
_AUTOCOMMIT = ServerStatus.SERVER_STATUS_AUTOCOMMIT
_STATUS = _AUTOCOMMIT | ServerStatus.SERVER_STATUS_NO_BACKSLASH_ESCAPES
_OFFERED = (
    Capabilities.CLIENT_LONG_PASSWORD
    | Capabilities.CLIENT_FOUND_ROWS
    | Capabilities.CLIENT_LONG_FLAG
    | Capabilities.CLIENT_CONNECT_WITH_DB
    | Capabilities.CLIENT_PROTOCOL_41
    | Capabilities.CLIENT_TRANSACTIONS
    | Capabilities.CLIENT_SECURE_CONNECTION
    | Capabilities.CLIENT_PLUGIN_AUTH
)


class Wire:
    """One client's stream.

    Each packet has three bytes of length, and a number that counts up. As in ProxySQL, numbers are
    not checked: an answer continues the numbers of the client.
    """

    def __init__(self, connection: socket.socket) -> None:
        # Otherwise the last piece of a long answer waits until the client confirms the others.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection = connection
        self._reader = connection.makefile("rb")
        self._number = 0

    def close(self) -> None:
        """End the connection, even while the client is sending."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._reader.close()
        self._connection.close()

    def read(self, *, limit: int | None = None) -> bytes:
        """Return the content of one packet, or of several that continue each other.

        Raises: EOFError or OSError when the client is gone, or sends more than `limit` bytes.
        """
        content = bytearray()
        length = _LARGEST_PACKET
        while length == _LARGEST_PACKET:
            header = self._exactly(4)
            length = int.from_bytes(header[:3], "little")
            if limit is not None and len(content) + length > limit:
                raise EOFError
            self._number = header[3] + 1
            content += self._exactly(length)
        return bytes(content)

    def read_command(self) -> bytes:
        """Return a command of the client. The packets of its answer are numbered from 1."""
        text = self.read()
        if len(text) <= LARGEST_TEXT:
            self._number = 1
        return text

    def _exactly(self, length: int) -> bytes:
        raw = self._reader.read(length)
        if len(raw) < length:
            raise EOFError
        return raw

    def write(self, *packets: bytes) -> None:
        """Send packets."""
        sent = bytearray()
        for packet in packets:
            for start in range(0, len(packet) + 1, _LARGEST_PACKET):
                piece = packet[start : start + _LARGEST_PACKET]
                sent += len(piece).to_bytes(3, "little")
                sent.append(self._number % 2**8)
                sent += piece
                self._number += 1
        self._connection.sendall(sent)


def greeting(version: str, number: int, nonce: bytes) -> bytes:
    """Return the first packet of a connection. `nonce` has 20 bytes, none of them NUL."""
    packet: bytes = library.make_handshake_v10(
        capabilities=_OFFERED,
        server_charset=CharacterSet.utf8,
        server_version=version.encode("utf-8", "replace").decode(),
        connection_id=number % 2**32,
        auth_data=nonce + b"\0",
        status_flags=_AUTOCOMMIT,
        auth_plugin_name=NATIVE,
    )
    return packet


def parse_login(packet: bytes) -> HandshakeResponse41:
    """Return the login that a client sent.

    Raises: EOFError, or an error of the library, for a client that does not speak this protocol or
    wants TLS, which is not offered.
    """
    if b"\0" not in packet[_FIXED_PART:]:
        raise EOFError
    # Without NULs behind the packet the library searches forever for the end of a text that is
    # missing. The length of the proof, one byte, may skip as many of them.
    return library.parse_handshake_response_41(_OFFERED, packet + bytes(_LARGEST_PROOF + 2))


def switch(nonce: bytes) -> bytes:
    """Return the request to log in by mysql_native_password with the same nonce."""
    packet: bytes = library.make_auth_switch_request(CharacterSet.utf8, NATIVE, nonce + b"\0")
    return packet


# --- answers ------------------------------------------------------------------------------------


def ok(affected: int = 0, info: str = "") -> bytes:
    """Return an OK packet. Unlike most servers, ProxySQL sends the length of the info text."""
    packet: bytes = library.make_ok(_OFFERED, _STATUS, affected_rows=affected)
    return packet + (_with_length(info.encode("utf-8", "surrogateescape")) if info else b"")


EOF: bytes = library.make_eof(_OFFERED, _STATUS)
"""The packet that ends the columns, and also the rows."""


def answer(result: Answer) -> Iterator[bytes]:
    """Yield the answer to a statement: OK, or columns and rows."""
    if not result.columns:
        yield ok(result.affected, result.info)
        return
    yield uint_len(len(result.columns))
    yield from map(_column, result.columns)
    yield EOF
    yield from (b"".join(map(_field, row)) for row in result.rows)
    yield EOF


def error(reason: AdminError) -> bytes:
    """Return an error packet."""
    message = reason.message.encode("utf-8", "surrogateescape")
    return b"\xff" + reason.code.to_bytes(2, "little") + b"#" + reason.sqlstate.encode() + message


def _column(name: str) -> bytes:
    """Return the definition of a text column. Unlike the library's, it names no table."""
    return b"".join(
        (
            b"\x03def\0\0\0",
            _with_length(name.encode("utf-8", "surrogateescape")),
            b"\0\x0c",
            uint_2(CharacterSet.utf8),
            uint_4(15),  # length
            uint_1(ColumnType.VAR_STRING),
            uint_2(ColumnDefinition.NOT_NULL_FLAG),
            uint_1(31),  # decimals
            b"\0\0",
        )
    )


def _field(cell: SqliteValue) -> bytes:
    match cell:
        case None:
            return b"\xfb"
        case str():
            return _with_length(cell.encode("utf-8", "surrogateescape"))
        case bytes():
            return _with_length(cell)
        case float():
            return _with_length(_real(cell).encode())
        case _:
            return _with_length(b"%d" % cell)


def _real(number: float) -> str:
    """Return a number as SQLite writes it: 15 digits and always a decimal point."""
    text = format(number, ".15g")
    if "inf" in text:
        return text.replace("inf", "Inf")
    mantissa, exponent, power = text.partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}{exponent}{power}"


def _with_length(raw: bytes) -> bytes:
    # Most cells are short, and there are many: for them this is faster than the library.
    length = len(raw)
    packet: bytes = bytes((length,)) + raw if length <= 250 else str_len(raw)
    return packet
