"""Counters at two moments: how much they grew, and whether they were cleared in between.

Counters only grow until ProxySQL clears them. It clears all digests at once: when it restarts, when
somebody reads the `_reset` table or truncates the table, and at SAVE MYSQL DIGEST TO DISK. It
clears the hits of rules at every LOAD.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from proxyctl.stats.model import DigestTable, SeenDigest

JITTER_S = 1
"""By so much first_seen and the start may differ between two looks: ProxySQL makes its times out of
two clocks whenever they are read."""


class Reading(NamedTuple):
    """Two counters that are cleared together, at one moment.

    Shape: `first` and `second` are such as calls and query time, or entries of a table and their
    calls. Units: `first_seen`, when counting began, and `started_at`, when ProxySQL
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
    """Return the growth of a counter a second; None if it is unknown or was cleared."""
    if before is None or after is None or not seconds:
        return None
    if were_cleared(Reading(before), Reading(after)):
        return None
    return (after - before) / seconds


class Growth(NamedTuple):
    """The growth of one row. Units: `time` in microseconds; `rows` sent or affected."""

    row: SeenDigest
    calls: int
    time: int
    rows: int


def totals(table: DigestTable) -> Iterator[Growth]:
    """Yield each row with everything that it has counted."""
    for row in table.rows:
        if row.count_star:
            yield Growth(row, row.count_star, row.sum_time, row.rows)


class Counters:
    """The counters of one moment, by row: the base for the growth until the next moment."""

    def __init__(self, table: DigestTable) -> None:
        started_at = table.started_at
        self._rows = {
            row.key: (Reading(row.count_star, row.sum_time, row.first_seen, started_at), row.rows)
            for row in table.rows
        }
        self.were_reset = False
        """Whether counters fell or rows disappeared; valid once `grown` is exhausted."""

    def grown(self, later: DigestTable) -> Iterator[Growth]:
        """Yield the growth of each row until a later moment; rows that did not grow are left out.

        Where the counters were cleared in between, the growth since then is all that is known.
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
        # A row leaves the table only when the counters are cleared.
        self.were_reset = self.were_reset or bool(self._rows)
