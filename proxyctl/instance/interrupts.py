"""Signals during an apply: raised as an interrupt, or held back.

Only the first signal interrupts. The command then restores, releases the lock and reports, and
further signals must not end that.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""A cancelled pipeline sends SIGTERM, a closed terminal SIGHUP."""


class _Taker:
    """The handler of these signals. `held`: the number of blocks that hold them back."""

    def __init__(self) -> None:
        self.is_taken = False
        self.held = 0

    def __call__(self, number: int, _frame: object) -> None:
        if self.held or self.is_taken:
            return
        self.is_taken = True
        raise KeyboardInterrupt(signal.Signals(number).name)


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt for the first signal that would end the process.

    Inside an `uninterrupted` block signals stay held back. Changes: after the first signal the
    process ignores all later ones, also after the block: only the report is left to do.
    """
    with _taking():
        yield


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back signals, so that a restore is not cut off halfway."""
    with _taking() as taker:
        taker.held += 1
        try:
            yield
        finally:
            taker.held -= 1


@contextmanager
def _taking() -> Iterator[_Taker]:
    """Install a taker unless there is one. Only the main thread may have one."""
    if threading.current_thread() is not threading.main_thread():
        yield _Taker()
        return
    current = signal.getsignal(signal.SIGINT)
    if isinstance(current, _Taker):
        yield current
        return
    taker = _Taker()
    before = {number: signal.signal(number, taker) for number in _ENDS}
    try:
        yield taker
    finally:
        if not taker.is_taken:
            for number, former in before.items():
                signal.signal(number, former)
