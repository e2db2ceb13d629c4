"""Reading ahead: what goes wrong in the thread reaches the one who asks; nothing hangs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

import pytest

from proxyctl.admin.prefetch import Prefetch, ReadChunks
from proxyctl.catalog import Layout
from proxyctl.errors import ConnectionLostError
from proxyctl.state import Layer
from tests.build import layout

USERS, RULES = layout("mysql_users"), layout("mysql_query_rules")
REQUESTS = [(USERS, Layer.MEMORY), (RULES, Layer.MEMORY)]

Found = TypeVar("Found")


def in_time(call: Callable[[], Found]) -> Found:
    """Return what the call returns, or raise what it raises; fail when it takes too long."""
    results: list[Found] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive(), "it hangs"
    if errors:
        raise errors[0]
    return results[0]


def reading(error: BaseException) -> Callable[[], tuple[ReadChunks, Callable[[], None]]]:
    """Return an opener whose reader reads users and fails at rules."""

    def read(of: Layout, layer: Layer) -> list[bytes]:
        if of is RULES:
            raise error
        return [b"users"]

    return lambda: (read, lambda: None)


@pytest.mark.parametrize("error", [UnicodeDecodeError("utf8", b"x", 0, 1, "boom"), SystemExit(3)])
def test_an_unexpected_error_is_raised_where_the_layer_is_asked_for(error: BaseException) -> None:
    def ask() -> None:
        with Prefetch(reading(error), REQUESTS) as ahead:
            assert ahead.take(USERS, Layer.MEMORY) == [b"users"]
            assert ahead.take(USERS, Layer.DISK) is None
            ahead.take(RULES, Layer.MEMORY)

    with pytest.raises(type(error)):
        in_time(ask)


def test_who_cannot_read_ahead_reads_for_himself() -> None:
    def ask() -> list[list[bytes] | None]:
        with Prefetch(reading(ConnectionLostError("gone")), REQUESTS) as ahead:
            return [ahead.take(of, layer) for of, layer in REQUESTS]

    assert in_time(ask) == [[b"users"], None]


def test_a_connection_that_cannot_be_opened() -> None:
    def refuse() -> tuple[ReadChunks, Callable[[], None]]:
        raise OSError("no more sockets")

    def ask() -> None:
        with Prefetch(refuse, REQUESTS) as ahead:
            ahead.take(USERS, Layer.MEMORY)

    with pytest.raises(OSError, match="no more sockets"):
        in_time(ask)


def test_an_interrupt_does_not_wait_for_a_silent_instance() -> None:
    answered = threading.Event()

    def read(of: Layout, layer: Layer) -> list[bytes]:
        answered.wait(60)
        return []

    def ask() -> None:
        with Prefetch(lambda: (read, lambda: None), REQUESTS):
            raise KeyboardInterrupt

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        in_time(ask)
    assert time.monotonic() - started < 5
    answered.set()
