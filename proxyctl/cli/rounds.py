"""The loop of commands that do their work again and again until a signal ends them."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from contextlib import suppress

from proxyctl.instance.interrupts import interruptible


def run_rounds(every_s: float, work: Callable[[], None]) -> None:
    """Do the work each time so many seconds have passed, until a signal or KeyboardInterrupt.

    Rounds that take longer follow one another at once. A signal that the work held back or handled
    ends the loop after that round. Raises: as `work`.
    """
    gc.enable()  # it may run for months
    with interruptible() as was_signalled, suppress(KeyboardInterrupt):
        while True:
            began = time.monotonic()
            work()
            if was_signalled():
                return
            time.sleep(max(began + every_s - time.monotonic(), 0))
