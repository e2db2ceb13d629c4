"""Compares a window of a store with the time before it, digest by digest.

The growth of each instance is that of its own counters, and rates are over the time that was
collected from it. Then counts and rates are added up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from proxyctl.stats.counters import CounterKey
from proxyctl.stats.diff import (
    ComparedInstance,
    Diff,
    DiffSort,
    GrownGroup,
    Side,
    SideLoad,
    list_differences,
)
from proxyctl.stats.differing_digests import apart_notes
from proxyctl.stats.model import Group, Load
from proxyctl.stats.store.top import COLUMNS
from proxyctl.stats.store.window import StoredInstance, StoreWindow
from proxyctl.stats.store.window_pair import SUMS_AFTER, SUMS_BEFORE, WindowPair, opened_pair

_FIGURES = ("count_star", "sum_time", "max_time", "sum_rows_sent", "sum_rows_affected")
"""The figures of a `Load` after `entries`, in its order."""


@dataclass(kw_only=True)
class DiffOfStore(Diff):
    """The result of a comparison of two times in a store; the tables of instances have no rows."""

    window: StoreWindow
    """The later time."""
    earlier: StoreWindow
    """The time before it."""


def compare_times(
    window: StoreWindow,
    against_s: int,
    by: Sequence[Group],
    *,
    sort: DiffSort = DiffSort.CHANGE,
    limit: int = 20,
) -> DiffOfStore:
    """Compare a window with the `against_s` seconds before it; list the first `limit` entries.

    Raises: as `opened_pair`.
    """
    with opened_pair(window, against_s) as pair:
        compared = {after.number: _compared(before, after) for before, after in pair.instances}
        diff = DiffOfStore(
            by=tuple(by),
            instances=[*compared.values()],
            notes=[*pair.notes(), *apart_notes([after for _, after in pair.instances])],
            window=window,
            earlier=pair.before.window,
        )
        list_differences(diff, _merged(_grown_series(pair, compared, by)), sort, limit)
    return diff


def _compared(before: StoredInstance, after: StoredInstance) -> ComparedInstance:
    """Return an instance; its loads are still empty."""
    return ComparedInstance(
        Side(before.table(), max(before.seconds, 1)),
        Side(after.table(), max(after.seconds, 1)),
        is_cleared=bool(before.cleared or after.cleared),
    )


def _grown_series(
    pair: WindowPair, compared: dict[int, ComparedInstance], by: Sequence[Group]
) -> Iterator[tuple[CounterKey, GrownGroup]]:
    """Yield each series with calls under its key, in the order of keys.

    Changes: adds them to the totals of the instances.
    """
    keys = ", ".join(COLUMNS[group] for group in by)
    text = "digest_text" if Group.DIGEST in by else "''"
    figures = ", ".join(
        f"{side}.series IS NOT NULL, {', '.join(f'ifnull({side}.{name}, 0)' for name in _FIGURES)}"
        for side in ("b", "a")
    )
    cursor = pair.after.store.execute(
        f"SELECT {keys}, {text}, instance.id, hostgroup, {figures} FROM series"
        " JOIN instance ON instance.id = series.instance"
        " JOIN digest ON digest.digest = series.digest"
        f" LEFT JOIN {SUMS_BEFORE} AS b ON b.series = series.id"
        f" LEFT JOIN {SUMS_AFTER} AS a ON a.series = series.id"
        " WHERE b.count_star > 0 OR a.count_star > 0"
        f" ORDER BY {keys}, instance.name, hostgroup"
    )
    width = len(by)
    for row in cursor:
        key, (text, number, hostgroup, *cells) = row[:width], row[width:]
        half = len(cells) // 2
        yield (
            key,
            _grown(text, hostgroup, Load(*cells[:half]), Load(*cells[half:]), compared[number]),
        )


def _grown(
    text: str, hostgroup: int, was: Load, now: Load, instance: ComparedInstance
) -> GrownGroup:
    """Return a series as a group. Changes: adds it to the totals of `instance`."""
    seconds, seconds_after = instance.before.seconds, instance.after.seconds
    before, after = (
        SideLoad.of(load, length, {hostgroup: load.count_star} if load.count_star else {})
        for load, length in ((was, seconds), (now, seconds_after))
    )
    before.expected, after.expected = before.rate * seconds_after, after.rate * seconds
    total, total_after = instance.before.total, instance.after.total
    total += was
    total_after += now
    # A maximum is that since the counters began.
    is_slowest_after = now.max_time > was.max_time
    return GrownGroup(text, before, after, now.max_time, is_slowest_after, (instance.name,))


def _merged(
    series: Iterable[tuple[CounterKey, GrownGroup]],
) -> Iterator[tuple[CounterKey, GrownGroup]]:
    """Yield each key once, with the sums of all its series. They come in the order of keys."""
    for key, parts in groupby(series, key=itemgetter(0)):
        group, *others = (part for _, part in parts)
        for other in others:
            group.add(other)
        yield key, group
