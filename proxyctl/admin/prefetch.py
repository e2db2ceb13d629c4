"""Work ahead: ProxySQL and we are two processes, and neither should wait for the other.

The next layer comes over a second connection while the last one is compared, the next statement is
written while ProxySQL runs the last one, and what an answer should say is made while it is awaited.
"""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Protocol, Self, TypeVar, cast

from proxyctl.catalog import Layout
from proxyctl.errors import InstanceError, ProxyctlError
from proxyctl.state import Layer

Request = tuple[Layout, Layer]

AHEAD = 3
"""Texts that wait to be taken. More would hold a large table in more layers than are compared."""

LEAVE_S = 1.0
"""How long to wait for the thread when an error ends the block. It may still be connecting."""

SWITCH_S = 0.0005
"""How soon a busy thread lets another one take up what has arrived. With Python's 5 ms, each of
the thousand pieces of a large answer waits that long, and ProxySQL with it."""


class SecondReader(Protocol):
    """A connection of its own, which one thread reads from and another one may cut."""

    def chunks(self, layout: Layout, layer: Layer) -> list[bytes]:
        """Return the text of a layer."""

    def close(self) -> None:
        """Close the connection; only the thread that reads calls it."""

    def cut(self) -> None:
        """End an answer that is awaited, and every later one, with a ConnectionLostError."""


class Prefetch:
    """Reads the requested layers in order, in a thread of its own, at most AHEAD ahead.

    `open_reader` opens the second connection. What is known to go wrong with an instance (a lost
    connection, a refusal) ends the reading ahead, and who asks then reads for himself; any other
    error is raised where its layer is asked for, as an InstanceError.
    """

    def __init__(
        self, open_reader: Callable[[], SecondReader], requests: Sequence[Request]
    ) -> None:
        self._open_reader = open_reader
        self._requests = list(requests)
        self._coming = {(layout.name, layer) for layout, layer in requests}
        self._texts: dict[tuple[str, Layer], list[bytes]] = {}
        self._changed = threading.Condition()
        self._unread: set[tuple[str, Layer]] = set()
        self._error: BaseException | None = None
        self._reader: SecondReader | None = None
        self._is_awaited = False
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="proxyctl-prefetch", daemon=True)

    def __enter__(self) -> Self:
        try:
            self._thread.start()
        except RuntimeError:
            self._end(None)  # there are too many threads: who asks reads for himself
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
            if self._reader is not None and self._coming:
                # Nobody wants the answer any more, and it may take a minute.
                self._reader.cut()
        if self._thread.ident is not None:
            self._thread.join(None if error is None else LEAVE_S)

    def take(self, layout: Layout, layer: Layer) -> list[bytes] | None:
        """Return the text of a layer that is read ahead, waiting for it; None if it is not.

        Raises: InstanceError for what ended the reading ahead, unless that is a ProxyctlError.
        """
        wanted = (layout.name, layer)
        with self._changed:
            self._is_awaited = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: wanted in self._texts or wanted not in self._coming)
            self._is_awaited = False
            is_lost = wanted in self._unread
            self._coming.discard(wanted)
            text = self._texts.pop(wanted, None)
            self._changed.notify_all()
        if is_lost and self._error is not None:
            raise InstanceError(
                f"{layout.name} of {layer.name} could not be read:"
                f" {type(self._error).__name__}: {self._error}"
            ) from self._error
        return text

    def _run(self) -> None:
        try:
            reader = self._opened()
            try:
                self._read_all(reader)
            finally:
                self._closed(reader)
        except ProxyctlError:
            # The one who asks reads for himself, and meets the error where it can be told.
            self._end(None)
        except BaseException as error:
            self._end(error)

    def _opened(self) -> SecondReader:
        reader = self._open_reader()
        with self._changed:
            self._reader = reader
        return reader

    def _closed(self, reader: SecondReader) -> None:
        with self._changed:
            self._reader = None
        reader.close()

    def _read_all(self, reader: SecondReader) -> None:
        for layout, layer in self._requests:
            with self._changed:
                self._changed.wait_for(self._may_go_on)
                if self._is_stopped:
                    return
            text = reader.chunks(layout, layer)
            with self._changed:
                self._texts[layout.name, layer] = text
                self._changed.notify_all()

    def _end(self, error: BaseException | None) -> None:
        """Wake up who waits for a layer that will not come."""
        with self._changed:
            self._error = error
            self._unread = self._coming - self._texts.keys()
            self._coming -= self._unread
            self._changed.notify_all()

    def _may_go_on(self) -> bool:
        return self._is_stopped or self._is_awaited or len(self._texts) < AHEAD


@contextmanager
def quick_switching() -> Iterator[None]:
    """Let threads take turns quickly while the block runs."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


Item = TypeVar("Item")


@contextmanager
def made_meanwhile(make: Callable[[], Item]) -> Iterator[Callable[[], Item]]:
    """Make something in a thread while the block runs. What is given to the block waits for it.

    An error while making it is raised there. The thread ends with the block.
    """
    made: list[Item] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            made.append(make())
        except BaseException as error:
            errors.append(error)

    def result() -> Item:
        thread.join()
        if errors:
            raise errors[0]
        return made[0]

    thread = threading.Thread(target=run, name="proxyctl-make-meanwhile", daemon=True)
    thread.start()
    try:
        with quick_switching():
            yield result
    finally:
        thread.join()


def made_ahead(items: Iterable[Item]) -> Generator[Item, None, None]:
    """Yield the items, each made in a thread while the one before it is used.

    An error while making one is raised here, in its place. The thread ends with the generator.
    """
    made: queue.Queue[tuple[Item | None, BaseException | None]] = queue.Queue(1)
    is_stopped = threading.Event()

    def put(item: Item | None, error: BaseException | None = None) -> None:
        while not is_stopped.is_set():
            try:
                made.put((item, error), timeout=0.1)
            except queue.Full:
                continue
            return

    def make() -> None:
        try:
            for item in items:
                put(item)
                if is_stopped.is_set():
                    return
            put(None, _EndError())
        except BaseException as error:
            put(None, error)

    thread = threading.Thread(target=make, name="proxyctl-make-ahead", daemon=True)
    thread.start()
    try:
        with quick_switching():
            while True:
                item, error = made.get()
                if isinstance(error, _EndError):
                    return
                if error is not None:
                    raise error
                yield cast("Item", item)
    finally:
        is_stopped.set()
        thread.join()


class _EndError(Exception):
    """Marks the end of the items."""
