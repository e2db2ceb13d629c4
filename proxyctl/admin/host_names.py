"""The addresses of hosts, as this machine's resolver knows them."""

from __future__ import annotations

import socket
from collections.abc import Collection


def addresses_of_each(hosts: Collection[str]) -> dict[str, frozenset[str]]:
    """Return each host with its name and its addresses."""
    return {host: frozenset({host, *_addresses(host)}) for host in hosts}


def _addresses(host: str) -> frozenset[str]:
    """Return the addresses of a host, none where its name is not known here."""
    try:
        return frozenset(str(found[4][0]) for found in socket.getaddrinfo(host, None))
    except (OSError, UnicodeError):
        return frozenset()
