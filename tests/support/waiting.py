"""Wait for a monitor, a peer, or a server that starts."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(is_so: Callable[[], object], *, most_s: float = 60, what: str = "") -> None:
    """Repeat the check until it is true. Raises: AssertionError after `most_s`."""
    deadline = time.monotonic() + most_s
    while not is_so():
        assert time.monotonic() < deadline, what or "it did not come"
        time.sleep(0.05)
