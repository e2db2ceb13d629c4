"""Finds a host by its name, for no longer than an answer may take.

The system's own look-up knows no time limit of ours: with a name server that does not answer it may
take minutes.
"""

from __future__ import annotations

import queue
import socket
import threading
import time
from collections.abc import Collection
from typing import Any

from proxyctl.at_once import at_once

_PATIENCE_S = 5.0
_LEAST_S = 0.1
_AT_ONCE = 100


def connect_to(host: str, port: int, timeout_s: float) -> socket.socket:
    """Return a connection to the first address of a host that takes one. Units: seconds, for all.

    Addresses that are left share the time that is: one that does not answer takes no more.

    Raises: OSError, also where the name is not found in time; UnicodeError where it is none.
    """
    end = time.monotonic() + timeout_s
    problem: OSError | None = None
    found = _looked_up(host, port, timeout_s)
    for left, (family, kind, protocol, _, address) in zip(
        range(len(found), 0, -1), found, strict=True
    ):
        opened = socket.socket(family, kind, protocol)
        try:
            opened.settimeout(max((end - time.monotonic()) / left, _LEAST_S))
            opened.connect(address)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        except OSError as error:
            opened.close()
            problem = problem or error
        else:
            return opened
    raise problem or OSError(f"{host} has no address")


def addresses_of(host: str) -> frozenset[str]:
    """Return the addresses of a host, none where its name is not known here, or not in time."""
    try:
        return frozenset(str(found[4][0]) for found in _looked_up(host, None, _PATIENCE_S))
    except (OSError, UnicodeError):
        return frozenset()


def addresses_of_each(hosts: Collection[str]) -> dict[str, frozenset[str]]:
    """Return each host with its name and its addresses.

    All at the same time: a name may take seconds, and need not be found.
    """
    found = at_once([*hosts], addresses_of, workers=_AT_ONCE)
    return {
        host: frozenset({host}) | (frozenset() if isinstance(one, BaseException) else one)
        for host, one in found
    }


def _looked_up(host: str, port: int | None, timeout_s: float) -> list[tuple[Any, ...]]:
    """Return what the system knows of a host. A look-up that hangs is left behind in its thread."""
    answers: queue.SimpleQueue[list[tuple[Any, ...]] | Exception] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            answers.put(error)

    threading.Thread(target=look_up, daemon=True).start()
    try:
        found = answers.get(timeout=timeout_s)
    except queue.Empty:
        raise TimeoutError(f"its name is not found within {timeout_s:g} s") from None
    if isinstance(found, Exception):
        raise found
    return found
