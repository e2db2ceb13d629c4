"""Read ahead: the next layer comes over a second connection while the last one is compared.

RUNTIME of a large table costs ProxySQL more time than all of our comparing; both run side by side.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from proxyctl.catalog import Layout
from proxyctl.errors import ProxyctlError
from proxyctl.state import Layer

Request = tuple[Layout, Layer]
ReadChunks = Callable[[Layout, Layer], list[bytes]]

AHEAD = 3
"""Texts that wait to be taken. More would hold a large table in more layers than are compared."""


class Prefetch:
    """Reads the requested layers in order, in a thread of its own, at most AHEAD ahead.

    `open_reader` opens the second connection and returns a function that reads, and one that closes
    it. Anything that goes wrong ends the reading ahead; who asks then reads for himself.
    """

    def __init__(
        self,
        open_reader: Callable[[], tuple[ReadChunks, Callable[[], None]]],
        requests: Sequence[Request],
    ) -> None:
        self._open_reader = open_reader
        self._expected = list(requests)
        self._taken = 0
        self._texts: queue.Queue[list[bytes] | None] = queue.Queue(AHEAD)
        self._is_stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="proxyctl-prefetch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_stopped.set()
        while self._thread.is_alive():
            self._drain()
            self._thread.join(0.01)

    def take(self, layout: Layout, layer: Layer) -> list[bytes] | None:
        """Return the text of a layer if it is the next one read ahead, else None."""
        if self._taken >= len(self._expected):
            return None
        wanted, at = self._expected[self._taken]
        if wanted.name != layout.name or at is not layer:
            return None
        self._taken += 1
        text = self._texts.get()
        if text is None:
            self._taken = len(self._expected)
        return text

    def _run(self) -> None:
        close: Callable[[], None] | None = None
        try:
            read, close = self._open_reader()
            for layout, layer in self._expected:
                if self._is_stopped.is_set():
                    return
                self._put(read(layout, layer))
        except ProxyctlError:
            self._put(None)
        finally:
            if close is not None:
                close()

    def _put(self, text: list[bytes] | None) -> None:
        while not self._is_stopped.is_set():
            try:
                self._texts.put(text, timeout=0.05)
            except queue.Full:
                continue
            return

    def _drain(self) -> None:
        try:
            while True:
                self._texts.get_nowait()
        except queue.Empty:
            return
