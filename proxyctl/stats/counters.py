"""Counters of ProxySQL at two looks: what came in between, and whether they were cleared.

They only ever grow, until ProxySQL clears them: all digests at once when it is restarted, when
somebody reads the table with `_reset` behind its name or truncates it, and with SAVE MYSQL DIGEST
TO DISK; the hits of rules at every LOAD.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from proxyctl.stats.model import DigestTable, SeenDigest

JITTER_S = 1
"""By so much first_seen and the start may differ between two looks: ProxySQL makes its times out of
two clocks whenever they are read."""


class Reading(NamedTuple):
    """Counters that are cleared together, at one look.

    Shape: `first` and `second` are any two of them, such as calls and query time, or entries of a
    table and their calls. Units: `first_seen`, when counting began, and `started_at`, when ProxySQL
    was started, in unix seconds of the instance's clock; None where that is not known.
    """

    first: int
    second: int = 0
    first_seen: int | None = None
    started_at: int | None = None


def were_cleared(before: Reading, after: Reading) -> bool:
    """Return whether counters were cleared between two readings of the same thing."""
    if after.first < before.first or after.second < before.second:
        return True
    if before.first_seen is None or after.first_seen is None:
        return False
    moved = after.first_seen - before.first_seen
    if before.started_at is not None and after.started_at is not None:
        # From the start to first_seen it stays as long, also when the clock is set.
        moved -= after.started_at - before.started_at
    return abs(moved) > 2 * JITTER_S


def rate(before: int | None, after: int | None, seconds: float | None) -> float | None:
    """Return the rate of a counter; None where it was cleared, or is not known."""
    if before is None or after is None or not seconds:
        return None
    if were_cleared(Reading(before), Reading(after)):
        return None
    return (after - before) / seconds


class Growth(NamedTuple):
    """What one row has gained. Units: `time` in microseconds; `rows` sent or affected."""

    row: SeenDigest
    calls: int
    time: int
    rows: int


def totals(table: DigestTable) -> Iterator[Growth]:
    """Yield the rows of one moment with all that they count."""
    for row in table.rows:
        if row.count_star:
            yield Growth(row, row.count_star, row.sum_time, row.rows)


class Counters:
    """The counters of one moment by row, to tell what the next one has gained."""

    def __init__(self, table: DigestTable) -> None:
        started_at = table.started_at
        self._rows = {
            row.key: (Reading(row.count_star, row.sum_time, row.first_seen, started_at), row.rows)
            for row in table.rows
        }
        self.were_reset = False
        """Whether counters fell or rows went: known when `grown` was gone through."""

    def grown(self, later: DigestTable) -> Iterator[Growth]:
        """Yield what each row of a later moment has gained, those at rest left out.

        Where the counters were cleared in between, what they show since then is what is known.
        Changes: self, which serves one later moment only.
        """
        started_at = later.started_at
        for row in later.rows:
            calls, time, rows = row.count_star, row.sum_time, row.rows
            before, rows_before = self._rows.pop(row.key, (None, 0))
            if before is not None:
                if were_cleared(before, Reading(calls, time, row.first_seen, started_at)):
                    self.were_reset = True
                else:
                    calls -= before.first
                    time -= before.second
                    rows = max(0, rows - rows_before)
            if calls:
                yield Growth(row, calls, time, rows)
        # Nothing leaves the table but by a reset.
        self.were_reset = self.were_reset or bool(self._rows)
