"""Handle signals during an apply: raise an interrupt, or hold them back.

Only the first signal interrupts. Then the command restores, releases the lock and reports; later
signals must not stop that. A command that goes on after its work asks whether a signal came.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""A cancelled pipeline sends SIGTERM, a closed terminal SIGHUP."""


class _Handler:
    """The handler of these signals. `holds`: the number of blocks that hold them back."""

    def __init__(self) -> None:
        self.has_interrupted = self.has_held_back = False
        self.holds = 0

    def __call__(self, number: int, _frame: object) -> None:
        self.has_held_back = self.has_held_back or bool(self.holds)
        if self.holds or self.has_interrupted:
            return
        self.has_interrupted = True
        raise KeyboardInterrupt(signal.Signals(number).name)


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Raise KeyboardInterrupt for the first signal that would end the process.

    Inside an `uninterrupted` block signals stay held back. Yields a function that says whether a
    signal came, held back or not. Changes: after the first signal the process ignores all later
    signals, also after the block: only the report remains.
    """
    with _handling() as handler:
        yield lambda: handler.has_interrupted or handler.has_held_back


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back signals, so that no signal stops a restore halfway."""
    with _handling() as handler:
        handler.holds += 1
        try:
            yield
        finally:
            handler.holds -= 1


@contextmanager
def _handling() -> Iterator[_Handler]:
    """Install a handler unless one is installed. Only the main thread may install one."""
    if threading.current_thread() is not threading.main_thread():
        yield _Handler()
        return
    handlers = {number: signal.getsignal(number) for number in _ENDS}
    current = next(
        (current for current in handlers.values() if isinstance(current, _Handler)), None
    )
    if current is not None:
        yield current
        return
    handler = _Handler()
    # What was ignored at the start, as by nohup or in the background of a script, stays so.
    before = {
        number: signal.signal(number, handler)
        for number, former in handlers.items()
        if former is not signal.SIG_IGN
    }
    try:
        yield handler
    finally:
        if not handler.has_interrupted:
            for number, former in before.items():
                signal.signal(number, former)
