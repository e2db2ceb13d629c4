"""How it shows that the counters of digests were cleared between two looks: they only ever grow.

ProxySQL clears them all at once: when it is restarted, when somebody reads the table with `_reset`
behind its name or truncates it, and with SAVE MYSQL DIGEST TO DISK.
"""

from __future__ import annotations

JITTER_S = 1
"""By so much first_seen and the start may differ between two looks: ProxySQL makes its times out of
two clocks whenever they are read."""


def began_after(first_seen: int, moment: int) -> bool:
    """Return whether counting began after a moment. Units: unix seconds."""
    return first_seen > moment + JITTER_S


def fell(before: tuple[int, int], after: tuple[int, int]) -> bool:
    """Return whether the calls or their time are less than they were."""
    return after[0] < before[0] or after[1] < before[1]
