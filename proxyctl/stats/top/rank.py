"""Ranks groups of digests that were added up outside of ProxySQL: filters, order, limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import accumulate

from proxyctl.stats.model import Group, Load
from proxyctl.stats.top.model import CountedInstance, GroupSums, Ranking, Sort, TopOptions, TopRow

_MEASURES: dict[Sort, Callable[[GroupSums], float]] = {
    Sort.TIME: lambda one: one.sum_time,
    Sort.AVG: lambda one: one.avg_time,
    Sort.MAX: lambda one: one.max_time,
    Sort.COUNT: lambda one: one.count_star,
    Sort.ROWS_SENT: lambda one: one.sum_rows_sent,
    Sort.ROWS_AFFECTED: lambda one: one.sum_rows_affected,
    # Groups without rows come last.
    Sort.TIME_PER_ROW: lambda one: -math.inf if one.time_per_row is None else one.time_per_row,
}


def longest_text(instances: Iterable[CountedInstance]) -> int:
    """Return the most bytes at which one of the instances cuts a text; 0 if unknown."""
    lengths = (one.variables.get("mysql-query_digests_max_digest_length", "") for one in instances)
    return max((int(text) for text in lengths if text.isdecimal()), default=0)


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
    return Ranking(
        options=options,
        rows=top_rows(best, options.groups, total_time=total.sum_time, longest=longest),
        total=total,
        selected=selected,
        groups=count,
    )


def top_rows(
    best: Sequence[GroupSums], groups: Sequence[Group], *, total_time: int, longest: int
) -> tuple[TopRow, ...]:
    """Return the rows of a list. `total_time`: of all digests. `longest`: as for `ranked`."""
    whole = total_time or math.inf  # without time, no group has a share
    return tuple(
        TopRow(
            group=dict(zip(groups, one.key, strict=True)),
            sums=one,
            is_cut=_is_cut(one.digest_text, longest),
            share=one.sum_time / whole,
            cumulative_share=cumulative / whole,
        )
        for one, cumulative in zip(best, accumulate(one.sum_time for one in best), strict=True)
    )


def _is_cut(text: str | None, longest: int) -> bool:
    """Return whether ProxySQL cut a text, which it does at `longest` bytes; 0 is unknown."""
    return bool(text and longest and len(text.encode("utf-8", "surrogateescape")) >= longest)
