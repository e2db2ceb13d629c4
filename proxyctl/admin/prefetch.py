"""Work ahead: ProxySQL and we are two processes, and neither should wait for the other.

The next layer comes over a second connection while the last one is compared, and the next statement
is written while ProxySQL runs the last one.
"""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Self, TypeVar, cast

from proxyctl.catalog import Layout
from proxyctl.errors import ProxyctlError
from proxyctl.state import Layer

Request = tuple[Layout, Layer]
ReadChunks = Callable[[Layout, Layer], list[bytes]]

AHEAD = 3
"""Texts that wait to be taken. More would hold a large table in more layers than are compared."""

LEAVE_S = 1.0
"""How long to wait for the thread when an error ends the block."""

SWITCH_S = 0.0005
"""How soon a busy main thread lets this one take up what has arrived. With Python's 5 ms, each of
the thousand pieces of a large answer waits that long, and ProxySQL with it."""


class Prefetch:
    """Reads the requested layers in order, in a thread of its own, at most AHEAD ahead.

    `open_reader` opens the second connection and returns a function that reads, and one that closes
    it. What an instance may do (a lost connection, a refusal) ends the reading ahead, and who asks
    then reads for himself; any other error is raised where its layer is asked for.
    """

    def __init__(
        self,
        open_reader: Callable[[], tuple[ReadChunks, Callable[[], None]]],
        requests: Sequence[Request],
    ) -> None:
        self._open_reader = open_reader
        self._requests = list(requests)
        self._coming = {(layout.name, layer) for layout, layer in requests}
        self._texts: dict[tuple[str, Layer], list[bytes]] = {}
        self._changed = threading.Condition()
        self._unread: set[tuple[str, Layer]] = set()
        self._error: BaseException | None = None
        self._is_awaited = False
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="proxyctl-prefetch", daemon=True)

    def __enter__(self) -> Self:
        self._interval = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_S)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        sys.setswitchinterval(self._interval)
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
        # Who leaves with an error does not wait for an answer that may take a minute.
        self._thread.join(None if error is None else LEAVE_S)

    def take(self, layout: Layout, layer: Layer) -> list[bytes] | None:
        """Return the text of a layer that is read ahead, waiting for it; None if it is not.

        Raises: what ended the reading ahead, unless it is a ProxyctlError.
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
            raise self._error
        return text

    def _run(self) -> None:
        close: Callable[[], None] | None = None
        try:
            read, close = self._open_reader()
            for layout, layer in self._requests:
                with self._changed:
                    self._changed.wait_for(self._may_go_on)
                    if self._is_stopped:
                        return
                text = read(layout, layer)
                with self._changed:
                    self._texts[layout.name, layer] = text
                    self._changed.notify_all()
        except ProxyctlError:
            # The one who asks reads for himself, and meets the error where it can be told.
            self._end(None)
        except BaseException as error:
            self._end(error)
        finally:
            if close is not None:
                close()

    def _end(self, error: BaseException | None) -> None:
        """Wake up who waits for a layer that will not come."""
        with self._changed:
            self._error = error
            self._unread = self._coming - self._texts.keys()
            self._coming -= self._unread
            self._changed.notify_all()

    def _may_go_on(self) -> bool:
        return self._is_stopped or self._is_awaited or len(self._texts) < AHEAD


Item = TypeVar("Item")


def made_ahead(items: Iterable[Item]) -> Iterator[Item]:
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
        except Exception as error:
            put(None, error)

    thread = threading.Thread(target=make, name="proxyctl-make-ahead", daemon=True)
    thread.start()
    try:
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
