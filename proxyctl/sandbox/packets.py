"""Packets of the MySQL protocol, as ProxySQL's admin port sends them and reads them. No I/O.

ProxySQL sends every column as text, an info text with OK, and bytes as they were stored.
Source: the protocol's public documentation; ProxySQL 2.7.1, watched on a running server.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, IntFlag

from proxyctl.sandbox.replies import AdminError, Cell

NATIVE, SHA2, CLEAR = "mysql_native_password", "caching_sha2_password", "mysql_clear_password"

_UTF8 = 33
_TEXT = (_UTF8, 15, 0xFD, 0x0001, 31)
_NUMBER = (63, 1, 0x08, 0x0080, 0)
"""Character set, length, type, flags and decimals of a column."""
_AUTOCOMMIT = 0x0002
_STATUS = _AUTOCOMMIT | 0x0200
"""Autocommit, and that a backslash is an ordinary character."""


class Capability(IntFlag):
    """What a client and a server tell each other that they can do."""

    LONG_PASSWORD = 0x1
    FOUND_ROWS = 0x2
    LONG_FLAG = 0x4
    CONNECT_WITH_DB = 0x8
    PROTOCOL_41 = 0x200
    TRANSACTIONS = 0x2000
    SECURE_CONNECTION = 0x8000
    PLUGIN_AUTH = 0x80000


_OFFERED = (
    Capability.LONG_PASSWORD
    | Capability.FOUND_ROWS
    | Capability.LONG_FLAG
    | Capability.CONNECT_WITH_DB
    | Capability.PROTOCOL_41
    | Capability.TRANSACTIONS
    | Capability.SECURE_CONNECTION
    | Capability.PLUGIN_AUTH
)


class Command(IntEnum):
    """The first byte of a client's packet. Others end the connection without a word."""

    QUIT = 0x01
    INIT_DB = 0x02
    QUERY = 0x03
    FIELD_LIST = 0x04
    STATISTICS = 0x09
    PROCESS_KILL = 0x0C
    PING = 0x0E
    CHANGE_USER = 0x11
    STMT_PREPARE = 0x16
    STMT_EXECUTE = 0x17
    STMT_SEND_LONG_DATA = 0x18
    STMT_CLOSE = 0x19
    STMT_RESET = 0x1A
    SET_OPTION = 0x1B
    RESET_CONNECTION = 0x1F


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
    low, high = _OFFERED & 0xFFFF, _OFFERED >> 16
    return b"".join(
        (
            b"\x0a",
            version.encode("utf-8", "surrogateescape").partition(b"\0")[0] + b"\0",
            (number % 2**32).to_bytes(4, "little"),
            nonce[:8] + b"\0",
            low.to_bytes(2, "little"),
            bytes((_UTF8,)),
            _AUTOCOMMIT.to_bytes(2, "little"),
            high.to_bytes(2, "little"),
            bytes((len(nonce) + 1,)),
            bytes(10),
            nonce[8:] + b"\0",
            plugin.encode() + b"\0",
        )
    )


_FIXED_PART = 32


def parse_login(packet: bytes) -> Login:
    """Return who the client says it is.

    Raises: MalformedPacketError, also for a client that wants TLS, which is not offered.
    """
    capabilities = int.from_bytes(packet[:4], "little")
    if len(packet) < _FIXED_PART or not capabilities & Capability.PROTOCOL_41:
        raise MalformedPacketError
    user, rest = _text(packet[_FIXED_PART:])
    if capabilities & Capability.SECURE_CONNECTION:
        length = rest[0] if rest else 0
        response, rest = rest[1 : 1 + length], rest[1 + length :]
    else:
        response, _, rest = rest.partition(b"\0")
    if capabilities & Capability.CONNECT_WITH_DB:
        rest = _text(rest)[1]
    plugin = _text(rest)[0] if capabilities & Capability.PLUGIN_AUTH else NATIVE
    return Login(user, response, plugin)


def _text(packet: bytes) -> tuple[str, bytes]:
    """Return a text up to its NUL, and what comes behind it."""
    text, end, rest = packet.partition(b"\0")
    if not end:
        raise MalformedPacketError
    return text.decode("utf-8", "surrogateescape"), rest


def switch(plugin: str, nonce: bytes) -> bytes:
    """Return the request to answer the same nonce by another plugin."""
    return b"\xfe" + plugin.encode() + b"\0" + nonce + b"\0"


FAST_LOGIN = b"\x01\x03"
"""What comes before OK where a login by caching_sha2_password is as it should be."""


# --- answers ------------------------------------------------------------------------------------


def ok(affected: int = 0, info: str = "") -> bytes:
    """Return an OK packet. The info text comes with its length, as few servers send it."""
    raw = info.encode("utf-8", "surrogateescape")
    head = b"\0" + _length(affected) + b"\0" + _STATUS.to_bytes(2, "little") + b"\0\0"
    return head + (_counted(raw) if raw else b"")


EOF = b"\xfe\0\0" + _STATUS.to_bytes(2, "little")
"""The end of the columns, and that of the rows."""


def error(found: AdminError) -> bytes:
    """Return an error packet."""
    message = found.message.encode("utf-8", "surrogateescape")
    return b"\xff" + found.code.to_bytes(2, "little") + b"#" + found.sqlstate.encode() + message


def column_count(count: int) -> bytes:
    """Return the packet that begins a result set."""
    return _length(count)


def column(name: str, *, is_numeric: bool = False) -> bytes:
    """Return the definition of a column: a text, or a number of one digit."""
    charset, length, kind, flags, decimals = _NUMBER if is_numeric else _TEXT
    return b"".join(
        (
            b"\x03def\0\0\0",
            _counted(name.encode("utf-8", "surrogateescape")),
            b"\0\x0c",
            charset.to_bytes(2, "little"),
            length.to_bytes(4, "little"),
            bytes((kind,)),
            flags.to_bytes(2, "little"),
            bytes((decimals, 0, 0)),
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


def _counted(raw: bytes) -> bytes:
    return _length(len(raw)) + raw


_ONE_BYTE = 251


def _length(number: int) -> bytes:
    """Return a number in as few bytes as the protocol has for it."""
    if number < _ONE_BYTE:
        return bytes((number,))
    for mark, size in ((0xFC, 2), (0xFD, 3)):
        if number < 2 ** (8 * size):
            return bytes((mark,)) + number.to_bytes(size, "little")
    return b"\xfe" + number.to_bytes(8, "little")
