"""Ranks groups of digests that were added up outside of ProxySQL: filters, order, limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import accumulate

from proxyctl.stats.model import Group, Load
from proxyctl.stats.top.model import CountedInstance, GroupSums, Ranking, Sort, TopOptions, TopRow

_MEASURES: dict[Sort, Callable[[GroupSums], float]] = {
    Sort.TIME: lambda sums: sums.sum_time,
    Sort.AVG: lambda sums: sums.avg_time,
    Sort.MAX: lambda sums: sums.max_time,
    Sort.COUNT: lambda sums: sums.count_star,
    Sort.ROWS_SENT: lambda sums: sums.sum_rows_sent,
    Sort.ROWS_AFFECTED: lambda sums: sums.sum_rows_affected,
    # Groups without rows come last.
    Sort.TIME_PER_ROW: lambda sums: -math.inf if sums.time_per_row is None else sums.time_per_row,
}


def longest_text(instances: Iterable[CountedInstance]) -> int:
    """Return the most bytes at which one of the instances cuts a text; 0 if unknown."""
    lengths = (
        instance.variables.get("mysql-query_digests_max_digest_length", "")
        for instance in instances
    )
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
        for sums in groups:
            if sums.count_star < least or sums.sum_time < least_us * sums.count_star:
                continue
            count += 1
            selected.entries += sums.entries
            selected.count_star += sums.count_star
            selected.sum_time += sums.sum_time
            yield sums

    measure = _MEASURES[options.sort]
    best = nsmallest(
        options.limit, passing(), key=lambda sums: (-measure(sums), -sums.sum_time, sums.key)
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
            group=dict(zip(groups, sums.key, strict=True)),
            sums=sums,
            is_cut=_is_cut(sums.digest_text, longest),
            share=sums.sum_time / whole,
            cumulative_share=cumulative / whole,
        )
        for sums, cumulative in zip(best, accumulate(sums.sum_time for sums in best), strict=True)
    )


def _is_cut(text: str | None, longest: int) -> bool:
    """Return whether ProxySQL cut a text, which it does at `longest` bytes; 0 is unknown."""
    return bool(text and longest and len(text.encode("utf-8", "surrogateescape")) >= longest)
