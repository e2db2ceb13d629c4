"""What ends a process, in the middle of an apply: taken as an interrupt, or held back.

The first signal is taken, and no other one after it: who was interrupted has to put back, to give
the lock back and to report, and a second signal must not end that.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""A pipeline that is cancelled sends SIGTERM, a terminal that closes SIGHUP."""


class _Taker:
    """The handler of all signals that end a process. `held`: how many blocks hold them back."""

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
    """Let whatever would end the process raise KeyboardInterrupt, once.

    Inside a block that is uninterrupted it stays so. Changes: once a signal was taken, the process
    ignores those that come later, also behind the block: all that is left to it is to report.
    """
    with _taking():
        yield


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back interrupts while an instance is put back: half of that helps nobody."""
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
