"""In which order a comparison lists what it found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from heapq import nlargest

from proxyctl.digests.diff_entry import Entry


class DiffSort(StrEnum):
    """What comes first. All but `change` are of the time after."""

    CHANGE = "change"
    TIME = "time"
    AVG = "avg"
    MAX = "max"
    COUNT = "count"
    ROWS_SENT = "rows-sent"
    ROWS_AFFECTED = "rows-affected"


def biggest(
    entries: Iterable[Entry], sort: DiffSort, seconds: tuple[int, int], limit: int
) -> list[Entry]:
    """Return the first entries in an order; `change` is that of the query time in a second.

    All entries are gone through, also for a limit of 0. Units: `seconds` before and after.
    """

    def change(entry: Entry) -> float:
        return abs(entry.after.time / seconds[1] - entry.before.time / seconds[0])

    measures: Mapping[DiffSort, Callable[[Entry], float]] = {
        DiffSort.CHANGE: change,
        DiffSort.TIME: lambda entry: entry.after.time,
        DiffSort.AVG: lambda entry: entry.after.average,
        DiffSort.MAX: lambda entry: entry.after.max_time if entry.after.calls else 0,
        DiffSort.COUNT: lambda entry: entry.after.calls,
        DiffSort.ROWS_SENT: lambda entry: entry.after.rows_sent,
        DiffSort.ROWS_AFFECTED: lambda entry: entry.after.rows_affected,
    }
    measure = measures[sort]
    first = nlargest(max(limit, 1), entries, key=lambda one: (measure(one), one.after.time))
    return first[:limit]
