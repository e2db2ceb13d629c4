"""Packets of the MySQL protocol, as ProxySQL's admin port sends them and reads them. No I/O.

The library makes them where it can. ProxySQL sends every column as text, an info text with OK, and
bytes as they were stored; and a login is read here, since the library's reader waits for ever for
the end of a text that a broken client left out.
Source: the protocol's public documentation; ProxySQL 2.7.1, watched on a running server.
"""

from __future__ import annotations

from collections.abc import Iterable
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

from proxyctl.sandbox.replies import AdminError, Cell

__all__ = ["CLEAR", "NATIVE", "SHA2", "Commands", "Login", "MalformedPacketError"]

NATIVE, SHA2, CLEAR = "mysql_native_password", "caching_sha2_password", "mysql_clear_password"

_AUTOCOMMIT = ServerStatus.SERVER_STATUS_AUTOCOMMIT
_STATUS = _AUTOCOMMIT | ServerStatus.SERVER_STATUS_NO_BACKSLASH_ESCAPES
_TEXT = (CharacterSet.utf8, 15, ColumnType.VAR_STRING, ColumnDefinition.NOT_NULL_FLAG, 31)
"""Character set, length, type, flags and decimals of a column."""
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
    """The client does not speak the protocol; ProxySQL closes the connection without a word."""


# --- the login ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Login:
    """What a client answers to the greeting. `plugin` is how it made `response`."""

    user: str
    response: bytes
    plugin: str


def greeting(version: str, number: int, nonce: bytes, plugin: str) -> bytes:
    """Return the first packet of a connection. `nonce` has 20 bytes, none of them NUL."""
    packet: bytes = library.make_handshake_v10(
        capabilities=_OFFERED,
        server_charset=CharacterSet.utf8,
        server_version=_readable(version.partition("\0")[0]),
        connection_id=number % 2**32,
        auth_data=nonce + b"\0",
        status_flags=_AUTOCOMMIT,
        auth_plugin_name=plugin,
    )
    return packet


def _readable(text: str) -> str:
    """Return a text without bytes that are not UTF-8, which the library cannot send."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


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


def switch(plugin: str, nonce: bytes) -> bytes:
    """Return the request to answer the same nonce by another plugin."""
    packet: bytes = library.make_auth_switch_request(CharacterSet.utf8, plugin, nonce + b"\0")
    return packet


FAST_LOGIN: bytes = library.make_auth_more_data(b"\x03")
"""What comes before OK where a login by caching_sha2_password is as it should be."""


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


def column_count(count: int) -> bytes:
    """Return the packet that begins a result set."""
    packet: bytes = uint_len(count)
    return packet


def column(name: str) -> bytes:
    """Return the definition of a column, a text.

    Unlike the library's, it has no name in the table.
    """
    charset, length, kind, flags, decimals = _TEXT
    return b"".join(
        (
            b"\x03def\0\0\0",
            _counted(name.encode("utf-8", "surrogateescape")),
            b"\0\x0c",
            uint_2(charset),
            uint_4(length),
            uint_1(kind),
            uint_2(flags),
            uint_1(decimals),
            b"\0\0",
        )
    )


def row(cells: Iterable[Cell]) -> bytes:
    """Return one row."""
    return b"".join(map(_field, cells))


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


_ONE_BYTE = 251


def _counted(raw: bytes) -> bytes:
    # Most cells are short, and rows are many: the library is for the others.
    length = len(raw)
    packet: bytes = bytes((length,)) + raw if length < _ONE_BYTE else str_len(raw)
    return packet
