"""Work ahead: what goes wrong in a thread reaches the one who asks; nothing hangs or stays."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import TypeVar

import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.admin.login import Login
from proxyctl.admin.prefetch import Prefetch, made_ahead, made_meanwhile
from proxyctl.admin.read import TableReader
from proxyctl.catalog import Layout
from proxyctl.errors import ConnectionLostError, InstanceError
from proxyctl.state import Layer
from tests.support.build import layout
from tests.support.servers import Instance

USERS, RULES = layout("mysql_users"), layout("mysql_query_rules")
REQUESTS = [(USERS, Layer.MEMORY), (RULES, Layer.MEMORY)]

Found = TypeVar("Found")


@pytest.fixture(autouse=True)
def _nothing_stays() -> Iterator[None]:
    """No thread of ours outlives its block, and threads take turns as before."""
    interval = sys.getswitchinterval()
    yield
    assert [one.name for one in threading.enumerate() if one.name.startswith("proxyctl")] == []
    assert sys.getswitchinterval() == interval


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


@dataclass
class Reader:
    """A second connection: it reads users, and does at rules what it was made for."""

    at_rules: Callable[[], list[bytes]]
    is_closed: bool = False
    was_cut: threading.Event = field(default_factory=threading.Event)

    def chunks(self, layout: Layout, layer: Layer) -> list[bytes]:
        return self.at_rules() if layout is RULES else [b"users"]

    def close(self) -> None:
        self.is_closed = True

    def cut(self) -> None:
        self.was_cut.set()


def failing(error: BaseException) -> Reader:
    def fail() -> list[bytes]:
        raise error

    return Reader(fail)


def silent() -> Reader:
    """A connection that answers only when it is cut, as a lost one does."""

    def wait() -> list[bytes]:
        made.was_cut.wait(60)
        raise ConnectionLostError("cut")

    made = Reader(wait)
    return made


@pytest.mark.parametrize(
    "error", [UnicodeDecodeError("utf8", b"x", 0, 1, "boom"), MemoryError("boom"), SystemExit(3)]
)
def test_an_unexpected_error_is_raised_where_the_layer_is_asked_for(error: BaseException) -> None:
    reader = failing(error)

    def ask() -> None:
        with Prefetch(lambda: reader, REQUESTS) as ahead:
            assert ahead.take(USERS, Layer.MEMORY) == [b"users"]
            assert ahead.take(USERS, Layer.DISK) is None
            ahead.take(RULES, Layer.MEMORY)

    words = f"mysql_query_rules of MEMORY could not be read: {type(error).__name__}: "
    with pytest.raises(InstanceError, match=words) as raised:
        in_time(ask)
    assert raised.value.__cause__ is error
    assert reader.is_closed


def test_who_cannot_read_ahead_reads_for_himself() -> None:
    reader = failing(ConnectionLostError("gone"))

    def ask() -> list[list[bytes] | None]:
        with Prefetch(lambda: reader, REQUESTS) as ahead:
            return [ahead.take(of, layer) for of, layer in REQUESTS]

    assert in_time(ask) == [[b"users"], None]
    assert reader.is_closed


def test_a_connection_that_cannot_be_opened() -> None:
    def refuse() -> Reader:
        raise OSError("no more sockets")

    def ask() -> None:
        with Prefetch(refuse, REQUESTS) as ahead:
            ahead.take(USERS, Layer.MEMORY)

    with pytest.raises(InstanceError, match="OSError: no more sockets"):
        in_time(ask)


def test_a_thread_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with Prefetch(silent, REQUESTS) as ahead:
        assert ahead.take(USERS, Layer.MEMORY) is None


def test_an_interrupt_does_not_wait_for_a_silent_instance() -> None:
    reader = silent()

    def ask() -> None:
        with Prefetch(lambda: reader, REQUESTS) as ahead:
            ahead.take(USERS, Layer.MEMORY)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_time(ask)
    assert reader.is_closed


def test_who_leaves_without_the_rest_does_not_wait_for_it() -> None:
    def ask() -> None:
        with Prefetch(silent, REQUESTS) as ahead:
            ahead.take(USERS, Layer.MEMORY)

    in_time(ask)


def test_an_interrupt_while_connecting() -> None:
    may_open = threading.Event()
    reader = silent()

    def connect() -> Reader:
        may_open.wait(60)
        return reader

    def ask() -> None:
        with Prefetch(connect, REQUESTS):
            threading.Timer(0.2, may_open.set).start()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_time(ask)
    assert reader.is_closed


def test_an_answer_that_a_real_connection_awaits_is_cut(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The socket is cut under the thread that reads from it."""
    waits = threading.Event()
    own = threading.get_ident()

    def asks_nothing(client: AdminClient, sql: str) -> list[tuple[bytes | None, ...]]:
        if threading.get_ident() == own or "json_group_array" not in sql:
            return raw(client, sql)
        # An answer that never comes: nothing was asked, and the socket is read.
        waits.set()
        assert client._connection is not None
        client._connection._read_query_result()
        raise AssertionError("an answer to nothing")

    raw = AdminClient.raw
    monkeypatch.setattr(AdminClient, "raw", asks_nothing)
    login = Login(instance.host, instance.port, instance.user, instance.password)
    started = time.monotonic()
    with AdminClient(login) as client:
        reader = TableReader(client)

        def ask() -> None:
            with reader.reading_ahead(REQUESTS):
                assert waits.wait(10)
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            ask()
        assert reader.read(USERS, Layer.MEMORY) == {}
    assert time.monotonic() - started < 8


def test_items_come_in_order_and_an_error_in_its_place() -> None:
    def items() -> Iterator[int]:
        yield from (1, 2, 3)
        raise SystemExit(3)

    def ask() -> None:
        for item in made_ahead(items()):
            found.append(item)

    found: list[int] = []
    with pytest.raises(SystemExit):
        in_time(ask)
    assert found == [1, 2, 3]


def test_who_stops_asking_for_items_stops_the_thread() -> None:
    def forever() -> Iterator[int]:
        while True:
            yield 1

    def ask() -> None:
        with closing(made_ahead(forever())) as made:
            next(made)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_time(ask)


def test_what_is_made_meanwhile() -> None:
    with made_meanwhile(lambda: 1) as one:
        assert one() == 1

    def fail() -> int:
        raise ValueError("boom")

    with made_meanwhile(fail):
        pass
    with pytest.raises(ValueError, match="boom"), made_meanwhile(fail) as result:
        result()
