"""How it shows that the counters of digests were cleared between two looks: they only ever grow.

ProxySQL clears them all at once: when it is restarted, when somebody reads the table with `_reset`
behind its name or truncates it, and with SAVE MYSQL DIGEST TO DISK.
"""

from __future__ import annotations

from typing import NamedTuple

JITTER_S = 1
"""By so much first_seen and the start may differ between two looks: ProxySQL makes its times out of
two clocks whenever they are read."""


class Began(NamedTuple):
    """When counting began, as one look tells it.

    Units: unix seconds of the instance's clock; `started_at`, the start of ProxySQL, is None where
    it is not known.
    """

    first_seen: int
    started_at: int | None = None


def began_again(before: Began, after: Began) -> bool:
    """Return whether counting began anew between two looks.

    From the start to first_seen it stays as long, also when the clock is set: both are made of the
    clock of now.
    """
    moved = after.first_seen - before.first_seen
    if before.started_at is not None and after.started_at is not None:
        moved -= after.started_at - before.started_at
    return abs(moved) > 2 * JITTER_S


def fell(before: tuple[int, int], after: tuple[int, int]) -> bool:
    """Return whether one of two counters is less than it was: calls and time, or entries and calls.

    An entry leaves the table as little as a counter falls.
    """
    return after[0] < before[0] or after[1] < before[1]
