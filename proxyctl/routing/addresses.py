"""Which client_addr a client may have, and which proxy_addr and proxy_port a session.

ProxySQL compares texts: an address as the system writes it, and the entry of mysql-interfaces.
Source: ProxySQL 2.7.1 and 3.0.3, run.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from proxyctl.proxysql.load_image import CLIENT_ADDR_FIX

_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4 = re.compile(rf"(?:{_OCTET}\.){{3}}{_OCTET}")
_IPV4_BEGINNING = re.compile(rf"(?:{_OCTET}\.){{0,3}}{_OCTET}?")
_IPV6_BEGINNING = re.compile(
    r"::?|(?:::)?(?:(?:0|[1-9a-f][0-9a-f]{0,3})::?){0,7}(?:0|[1-9a-f][0-9a-f]{0,3})?"
)
_MIXED_BEGINNING = re.compile(rf"::(?:ffff:)?(?:{_IPV4_BEGINNING.pattern})")
_MAPPED = "::ffff:"
_NOBODY = "no client has this address, so the rule never matches"
_UNIX_SOCKET = "localhost"
"""The address of a client of the Unix socket."""


class Misfit(NamedTuple):
    """Why a client_addr matches no client, or other clients than it seems to; and the fix."""

    problem: str
    fix: str


def client_addr_of_nobody(text: str) -> Misfit | None:
    """Return why no client has this client_addr; None if a client may have it."""
    known = text.removesuffix("%")
    if known != text:
        beginnings = (_IPV4_BEGINNING, _IPV6_BEGINNING, _MIXED_BEGINNING)
        is_possible = any(beginning.fullmatch(known) for beginning in beginnings)
        is_possible = is_possible or _UNIX_SOCKET.startswith(known)
        return None if is_possible else Misfit(_NOBODY, CLIENT_ADDR_FIX)
    if text in ("", _UNIX_SOCKET) or _IPV4.fullmatch(text):
        return None
    usual = _as_written(text)
    if usual is None:
        return Misfit(_NOBODY, CLIENT_ADDR_FIX)
    # The system writes some addresses of IPv6 with dots, Python none.
    if usual == text or _MIXED_BEGINNING.fullmatch(text):
        return None
    return Misfit(f"a client's address is written `{usual}`", f"write {usual}")


def address_of_nobody(text: str) -> Misfit | None:
    """As `client_addr_of_nobody`, for a column without wildcards: '' stands for any client."""
    is_address = text in ("", _UNIX_SOCKET) or _as_written(text) is not None
    return client_addr_of_nobody(text) if is_address else _NO_ADDRESS


_NO_ADDRESS = Misfit(
    "no client has this address: it is compared exactly, without wildcards and subnets",
    "write '' for any address, or a row for each address",
)


def _as_written(text: str) -> str | None:
    """Return an address as the system writes it; None if it is no address."""
    from ipaddress import ip_address

    try:
        return str(ip_address(text))
    except ValueError:
        return None


def client_addr_too_wide(text: str) -> Misfit | None:
    """Return why a client_addr may match other clients than it seems to; None if it does not."""
    known = text.removesuffix("%")
    if known.startswith(_MAPPED):
        return Misfit("the address of an IPv4 client has no ::ffff:", "leave ::ffff: out")
    if known != text and known[-1:].isdigit() and _IPV4_BEGINNING.fullmatch(known):
        longer = next((f"{known}{digit}" for digit in "05" if _may_begin(f"{known}{digit}")), None)
        if longer is None:
            return None
        is_whole = known.count(".") == 3
        fix = "leave % out" if is_whole else f"write {known}.%"
        return Misfit(f"it also matches clients whose address begins with {longer}", fix)
    return None


def _may_begin(known: str) -> bool:
    return _IPV4_BEGINNING.fullmatch(known) is not None


class Interface(NamedTuple):
    """An entry that ProxySQL listens on, as rules see it."""

    proxy_addr: str
    proxy_port: int


def interfaces_of(text: str) -> list[Interface]:
    """Return the entries of mysql-interfaces: `0.0.0.0:6033;[::]:6033;/tmp/proxysql.sock`."""
    return [_interface(entry.strip()) for entry in text.split(";") if entry.strip()]


def _interface(entry: str) -> Interface:
    if entry.startswith("/"):
        return Interface(entry, 0)
    address, _, port = entry.rpartition(":")
    return Interface(address.strip("[]"), int(port) if port.isdecimal() else 0)
