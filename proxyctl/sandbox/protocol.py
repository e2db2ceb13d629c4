"""The MySQL protocol as ProxySQL's admin port speaks it: packets, and the stream they go over.

The library makes them where it can. Its server cannot be used: it has no way to answer with the
number of changed rows, by which a lock is taken. ProxySQL sends every column as text, an info text
with OK, and bytes as they were stored; and a login is read here, since the library's reader waits
for ever for the end of a text that a broken client left out.
Source: the protocol's public documentation; ProxySQL 2.7.1, watched on a running server.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from dataclasses import dataclass

from mysql_mimic import packets as library
from mysql_mimic.charset import CharacterSet
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

from proxyctl.sandbox.replies import AdminError, Cell, Result

__all__ = ["NATIVE", "Commands", "Login", "MalformedPacketError", "Wire"]

NATIVE = "mysql_native_password"
"""The one way to prove a password; a client that begins with another is asked to change."""

LARGEST_TEXT = 0xFFFFFE
"""The most that is read of a command; what comes beyond is thrown away."""

_LARGEST_PACKET = 0xFFFFFF
"""A packet of this size goes on in the next one."""

_PIECE = 2**16
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


class MalformedPacketError(Exception):
    """The client does not speak the protocol; ProxySQL closes the connection silently."""


class Wire:
    """One client's stream.

    Each packet has three bytes of length, and a number that counts up. Numbers are not checked, as
    ProxySQL does not: an answer counts on from what the client sent.
    """

    def __init__(self, connection: socket.socket) -> None:
        # Else the last piece of a long answer waits for the client to confirm the one before.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection = connection
        self._reader = connection.makefile("rb")
        self._number = 0
        self._buffer = bytearray()

    def close(self) -> None:
        """End the connection, also where the client goes on sending."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._reader.close()
        self._connection.close()

    def read(self) -> bytes:
        """Return what one or several packets hold; of a longer text one byte above LARGEST_TEXT.

        Raises: EOFError or OSError when the client is gone.
        """
        found = bytearray()
        while True:
            header = self._exactly(4)
            length = int.from_bytes(header[:3], "little")
            self._number = header[3] + 1
            wanted = min(length, LARGEST_TEXT + 1 - len(found))
            found += self._exactly(wanted)
            for start in range(wanted, length, _PIECE):
                self._exactly(min(_PIECE, length - start))
            if length < _LARGEST_PACKET:
                return bytes(found)

    def read_command(self) -> bytes:
        """Return what a client asks. The answer begins anew, whatever number the client gave."""
        text = self.read()
        if len(text) <= LARGEST_TEXT:
            self._number = 1
        return text

    def _exactly(self, length: int) -> bytes:
        found = self._reader.read(length)
        if len(found) < length:
            raise EOFError
        return found

    def write(self, *packets: bytes) -> None:
        """Send packets, with those that were put before."""
        for packet in packets:
            self.put(packet)
        self._flush()

    def put(self, packet: bytes) -> None:
        """Send a packet together with the next ones."""
        view = memoryview(packet)
        while True:
            piece, view = view[:_LARGEST_PACKET], view[_LARGEST_PACKET:]
            self._buffer += len(piece).to_bytes(3, "little")
            self._buffer.append(self._number % 2**8)
            self._buffer += piece
            self._number += 1
            if len(piece) < _LARGEST_PACKET:
                break
        if len(self._buffer) >= _PIECE:
            self._flush()

    def _flush(self) -> None:
        self._connection.sendall(self._buffer)
        self._buffer = bytearray()

    def write_result(self, result: Result) -> None:
        """Send the answer to a statement: OK, or columns and rows."""
        if not result.columns:
            self.write(ok(result.affected, result.info))
            return
        self.put(uint_len(len(result.columns)))
        for name in result.columns:
            self.put(_column(name))
        self.put(EOF)
        for row in result.rows:
            self.put(b"".join(map(_field, row)))
        self.write(EOF)


# --- the login ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Login:
    """What a client answers to the greeting. `plugin` is how it made `response`."""

    user: str
    response: bytes
    plugin: str


def greeting(version: str, number: int, nonce: bytes) -> bytes:
    """Return the first packet of a connection. `nonce` has 20 bytes, none of them NUL."""
    # The library cannot send a text that is not UTF-8.
    text = version.partition("\0")[0].encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    packet: bytes = library.make_handshake_v10(
        capabilities=_OFFERED,
        server_charset=CharacterSet.utf8,
        server_version=text,
        connection_id=number % 2**32,
        auth_data=nonce + b"\0",
        status_flags=_AUTOCOMMIT,
        auth_plugin_name=NATIVE,
    )
    return packet


_FIXED_PART = 32


def parse_login(packet: bytes) -> Login:
    """Return who the client says it is.

    Raises: MalformedPacketError, also for a client that wants TLS, which is not offered.
    """
    capabilities = int.from_bytes(packet[:4], "little")
    if len(packet) < _FIXED_PART or not capabilities & Capabilities.CLIENT_PROTOCOL_41:
        raise MalformedPacketError
    user, rest = _text(packet[_FIXED_PART:])
    if capabilities & Capabilities.CLIENT_SECURE_CONNECTION:
        length = rest[0] if rest else 0
        response, rest = rest[1 : 1 + length], rest[1 + length :]
    else:
        response, _, rest = rest.partition(b"\0")
    if capabilities & Capabilities.CLIENT_CONNECT_WITH_DB:
        rest = _text(rest)[1]
    plugin = _text(rest)[0] if capabilities & Capabilities.CLIENT_PLUGIN_AUTH else NATIVE
    return Login(user, response, plugin)


def _text(packet: bytes) -> tuple[str, bytes]:
    """Return a text up to its NUL, and what comes behind it."""
    text, end, rest = packet.partition(b"\0")
    if not end:
        raise MalformedPacketError
    return text.decode("utf-8", "surrogateescape"), rest


def switch(nonce: bytes) -> bytes:
    """Return the request to answer the same nonce by mysql_native_password."""
    packet: bytes = library.make_auth_switch_request(CharacterSet.utf8, NATIVE, nonce + b"\0")
    return packet


# --- answers ------------------------------------------------------------------------------------


def ok(affected: int = 0, info: str = "") -> bytes:
    """Return an OK packet. The info text comes with its length, as few servers send it."""
    packet: bytes = library.make_ok(_OFFERED, _STATUS, affected_rows=affected)
    return packet + (_counted(info.encode("utf-8", "surrogateescape")) if info else b"")


EOF: bytes = library.make_eof(_OFFERED, _STATUS)
"""The end of the columns, and that of the rows."""


def error(found: AdminError) -> bytes:
    """Return an error packet."""
    message = found.message.encode("utf-8", "surrogateescape")
    return b"\xff" + found.code.to_bytes(2, "little") + b"#" + found.sqlstate.encode() + message


def _column(name: str) -> bytes:
    """Return the definition of a column, a text. Unlike the library's, it has no table."""
    return b"".join(
        (
            b"\x03def\0\0\0",
            _counted(name.encode("utf-8", "surrogateescape")),
            b"\0\x0c",
            uint_2(CharacterSet.utf8),
            uint_4(15),  # length
            uint_1(ColumnType.VAR_STRING),
            uint_2(ColumnDefinition.NOT_NULL_FLAG),
            uint_1(31),  # decimals
            b"\0\0",
        )
    )


def _field(cell: Cell) -> bytes:
    match cell:
        case None:
            return b"\xfb"
        case str():
            return _counted(cell.encode("utf-8", "surrogateescape"))
        case bytes():
            return _counted(cell)
        case float():
            return _counted(_real(cell).encode())
        case _:
            return _counted(b"%d" % cell)


def _real(number: float) -> str:
    """Return a number as SQLite writes it: 15 digits and always a decimal point."""
    text = format(number, ".15g")
    if "inf" in text:
        return text.replace("inf", "Inf")
    mantissa, exponent, power = text.partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}{exponent}{power}"


def _counted(raw: bytes) -> bytes:
    # Most cells are short, and rows are many: the library is for the others.
    length = len(raw)
    packet: bytes = bytes((length,)) + raw if length <= 250 else str_len(raw)
    return packet
