"""Ranks groups of digests that were added up outside of ProxySQL: filters, order, limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from heapq import nsmallest
from itertools import accumulate
from typing import NamedTuple

from proxyctl.stats.model import Group, Load
from proxyctl.stats.top.model import Ranking, Sort, TopOptions, TopRow


class GroupSums(NamedTuple):
    """The sums of a group, with the column names of stats_mysql_query_digest.

    Units: times in microseconds, moments in unix seconds.
    """

    key: tuple[str | int, ...]
    """The values of the grouping columns, in their order."""
    digest_text: str | None
    """The text of the digest; None unless `digest` is a grouping column."""
    entries: int
    """The number of rows in the group."""
    count_star: int
    """The number of queries."""
    first_seen: int
    """When the first query ended."""
    last_seen: int
    """When the last query ended."""
    sum_time: int
    """The time of all queries."""
    min_time: int
    """The smallest time that is not 0."""
    max_time: int
    """The longest time."""
    sum_rows_affected: int
    """The rows that the queries changed."""
    sum_rows_sent: int
    """The rows that the queries returned."""
    instances: tuple[str, ...] = ()
    """The instances that counted the group; empty for one instance."""


_MEASURES: dict[Sort, Callable[[GroupSums], float]] = {
    Sort.TIME: lambda one: one.sum_time,
    Sort.AVG: lambda one: one.sum_time / one.count_star if one.count_star else 0.0,
    Sort.MAX: lambda one: one.max_time,
    Sort.COUNT: lambda one: one.count_star,
    Sort.ROWS_SENT: lambda one: one.sum_rows_sent,
    Sort.ROWS_AFFECTED: lambda one: one.sum_rows_affected,
    Sort.TIME_PER_ROW: lambda one: _time_per_row(one),
}


def _time_per_row(one: GroupSums) -> float:
    """Return the time per row; groups without rows come last."""
    rows = one.sum_rows_sent + one.sum_rows_affected
    return one.sum_time / rows if rows else -math.inf


def ranked(
    groups: Iterable[GroupSums], options: TopOptions, *, total: Load, longest: int = 0
) -> Ranking:
    """Return the first groups in the order of `options`; the others are only counted.

    The groups, each once and in any order, are read one by one. Of the filters only those on groups
    are applied here. `total`: the load of all digests. Units: `longest`, the bytes at which
    ProxySQL cuts a text; 0 if unknown.
    """
    selected, count = Load(), 0

    def passing() -> Iterator[GroupSums]:
        nonlocal count
        least, least_us = options.min_count, options.min_avg_us
        for one in groups:
            if one.count_star < least or one.sum_time < least_us * one.count_star:
                continue
            count += 1
            selected.entries += one.entries
            selected.count_star += one.count_star
            selected.sum_time += one.sum_time
            yield one

    measure = _MEASURES[options.sort]
    best = nsmallest(
        options.limit, passing(), key=lambda one: (-measure(one), -one.sum_time, one.key)
    )
    sums = accumulate(one.sum_time for one in best)
    return Ranking(
        options=options,
        rows=tuple(
            _row(one, options.groups, longest, total.sum_time, cumulative)
            for one, cumulative in zip(best, sums, strict=True)
        ),
        total=total,
        selected=selected,
        groups=count,
    )


def _row(
    one: GroupSums, groups: tuple[Group, ...], longest: int, total: int, cumulative: int
) -> TopRow:
    figures = one._asdict()
    del figures["key"]
    return TopRow(
        group=dict(zip(groups, one.key, strict=True)),
        is_cut=is_cut(one.digest_text, longest),
        share=one.sum_time / total if total else 0.0,
        cumulative_share=cumulative / total if total else 0.0,
        **figures,
    )


def is_cut(text: str | None, longest: int) -> bool:
    """Return whether ProxySQL cut a text, which it does at `longest` bytes; 0 is unknown."""
    return bool(text and longest and len(text.encode("utf-8", "surrogateescape")) >= longest)
