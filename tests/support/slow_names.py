"""A name server that does not answer, or not soon: names that take long to be looked up."""

from __future__ import annotations

import socket
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

SLOW = "slow.example.com"


@contextmanager
def slow_names(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the look-up of SLOW hang inside the block, a minute at most."""
    look_up = socket.getaddrinfo
    is_over = threading.Event()

    def slowly(host: str, *rest: Any, **named: Any) -> object:
        if host == SLOW:
            is_over.wait(60)
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return look_up(host, *rest, **named)

    with monkeypatch.context() as patched:
        patched.setattr(socket, "getaddrinfo", slowly)
        try:
            yield
        finally:
            is_over.set()


@contextmanager
def names_found_together(
    monkeypatch: pytest.MonkeyPatch, names: Collection[str], address: str
) -> Iterator[None]:
    """Let each of these names have this address, once all of them are being looked up."""
    look_up = socket.getaddrinfo
    all_asked = threading.Barrier(len(names))

    def patiently(host: str, *rest: Any, **named: Any) -> object:
        if host not in names:
            return look_up(host, *rest, **named)
        all_asked.wait(60)
        return look_up(address, *rest, **named)

    with monkeypatch.context() as patched:
        patched.setattr(socket, "getaddrinfo", patiently)
        yield
