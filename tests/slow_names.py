"""A name server that does not answer: one name is looked up for as long as the test runs."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
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
