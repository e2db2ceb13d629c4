"""What each series of two times in a store grew by, added up by digest or other columns.

The growth of each instance is that of its own counters, and rates are over the time that was
collected from it. Then counts and rates are added up.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from proxyctl.stats.counters import CounterKey
from proxyctl.stats.diff import ComparedInstance, GrownGroup, Side, SideLoad
from proxyctl.stats.model import Group, Load
from proxyctl.stats.store.top import COLUMNS
from proxyctl.stats.store.window import StoredInstance, WindowReader
from proxyctl.stats.store.window_pair import SUMS_AFTER, SUMS_BEFORE, WindowPair

_FIGURES = ("count_star", "sum_time", "max_time", "sum_rows_sent", "sum_rows_affected")
"""The figures of a `Load` after `entries`, in its order."""


def compared_instances(pair: WindowPair) -> dict[int, ComparedInstance]:
    """Return each instance in the two times with its loads, by its number in the store."""
    before, after = _totals(pair.before), _totals(pair.after)
    return {
        later.number: ComparedInstance(
            _side(earlier, before), _side(later, after), bool(earlier.cleared or later.cleared)
        )
        for earlier, later in pair.instances
    }


def _side(instance: StoredInstance, totals: dict[int, Load]) -> Side:
    total = totals.get(instance.number, Load())
    return Side(instance.table(), max(instance.seconds, 1), total)


def _totals(reader: WindowReader) -> dict[int, Load]:
    """Return the load of each instance."""
    figures = ", ".join(
        f"{'max' if name == 'max_time' else 'sum'}(sums.{name})" for name in _FIGURES
    )
    rows = reader.store.execute(
        f"SELECT series.instance, count(*), {figures} FROM {reader.sums} AS sums"
        " JOIN series ON series.id = sums.series GROUP BY series.instance"
    )
    return {number: Load(*cells) for number, *cells in rows}


def grown_keys(
    pair: WindowPair, compared: Mapping[int, ComparedInstance], by: Sequence[Group]
) -> Iterator[tuple[CounterKey, GrownGroup]]:
    """Yield each key with calls once, in the order of keys, with the sums of all its series.

    `compared`: as `compared_instances` returns them.
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
    yield from _merged(_series(cursor, len(by), compared))


def _series(
    cursor: sqlite3.Cursor, width: int, compared: Mapping[int, ComparedInstance]
) -> Iterator[tuple[CounterKey, GrownGroup]]:
    """Yield each series under its key, which is the first `width` cells of a row."""
    for row in cursor:
        key, (text, number, hostgroup, *cells) = row[:width], row[width:]
        half = len(cells) // 2
        was, now = Load(*cells[:half]), Load(*cells[half:])
        yield key, _grown(text, hostgroup, was, now, compared[number])


def _grown(
    text: str, hostgroup: int, was: Load, now: Load, instance: ComparedInstance
) -> GrownGroup:
    """Return a series as a group."""
    seconds, seconds_after = instance.before.seconds, instance.after.seconds
    before, after = (
        SideLoad.of(load, length, {hostgroup: load.count_star} if load.count_star else {})
        for load, length in ((was, seconds), (now, seconds_after))
    )
    before.expected, after.expected = before.rate * seconds_after, after.rate * seconds
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
