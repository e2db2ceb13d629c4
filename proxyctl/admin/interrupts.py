"""What ends a process, in the middle of an apply: taken as an interrupt, or held back."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""A pipeline that is cancelled sends SIGTERM, a terminal that closes SIGHUP."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Let whatever would end the process raise KeyboardInterrupt."""
    with _on_signals(_interrupt):
        yield


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back interrupts while an instance is put back: half of that helps nobody."""
    with _on_signals(signal.SIG_IGN):
        yield


@contextmanager
def _on_signals(handler: Callable[..., object] | signal.Handlers) -> Iterator[None]:
    """Let a handler take what is sent to end a process. Only the main thread may have one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in _ENDS}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


def _interrupt(number: int, _frame: object) -> None:
    raise KeyboardInterrupt(signal.Signals(number).name)
