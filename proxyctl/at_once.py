"""The same work for many instances at the same time, so that none waits for a slow one."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def at_once(
    targets: Sequence[T], work: Callable[[T], R], *, workers: int
) -> Iterator[tuple[T, R | BaseException]]:
    """Yield each target with what its work returned or raised, as they finish.

    At most `workers` are worked on at the same time. The threads end with the process: an instance
    that hangs does not keep it when the caller stops asking.
    """
    waiting: queue.SimpleQueue[T] = queue.SimpleQueue()
    for target in targets:
        waiting.put(target)
    finished: queue.SimpleQueue[tuple[T, R | BaseException]] = queue.SimpleQueue()
    is_over = threading.Event()

    def run() -> None:
        while not is_over.is_set():
            try:
                target = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                finished.put((target, work(target)))
            except BaseException as error:
                finished.put((target, error))

    for _ in range(min(workers, len(targets))):
        threading.Thread(target=run, daemon=True).start()
    try:
        for _ in targets:
            yield finished.get()
    finally:
        is_over.set()
