"""Says whom we wait for, where an answer that takes milliseconds does not come."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SLOW_S = 1.0


@contextmanager
def told_when_slow(say: Callable[[str], None], text: str) -> Iterator[None]:
    """Say a text if the block takes more than a second; it is said from another thread."""
    timer = threading.Timer(_SLOW_S, say, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
