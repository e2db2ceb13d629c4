"""Queries whose average is far above that of their peers: an index or a rewrite may help.

Peers are the digests that name the same table first, or, where these are too few, those of the same
hostgroup. They are compared by their median, which a few extreme ones do not move.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from statistics import median

from proxyctl.stats.suggest.caching import MOST_ROWS_A_CALL
from proxyctl.stats.suggest.context import Context, Kind, Query, Suggestion
from proxyctl.stats.suggest.texts import tables_in
from proxyctl.stats.units import rows_text, time_text

LEAST_CALLS = 5
LEAST_AVERAGE_US = 10_000
LEAST_FACTOR = 10.0
"""So many times the median of its peers."""
LEAST_PEERS = 5


def find_slow(context: Context) -> Iterator[Suggestion]:
    """Yield the queries that are far slower than their peers."""
    measured = [
        query for query in context.statistics.queries.values() if query.calls >= LEAST_CALLS
    ]
    groups: dict[str, list[float]] = defaultdict(list)
    for query in measured:
        for name in _groups(context, query):
            groups[name].append(query.average)
    medians = {name: median(of) for name, of in groups.items() if len(of) > LEAST_PEERS}
    found: list[tuple[int, Query, str]] = []
    for query in measured:
        for name in [one for one in _groups(context, query) if one in medians][:1]:
            if query.average >= max(LEAST_AVERAGE_US, LEAST_FACTOR * medians[name]):
                above_us = round((query.average - medians[name]) * query.calls)
                found.append((above_us, query, name))
    found.sort(key=lambda one: (-one[0], one[1].digest))
    for above_us, query, name in context.listed(Kind.SLOW, found):
        yield _suggestion(context, query, (name, len(groups[name]) - 1, medians[name]), above_us)


def _groups(context: Context, query: Query) -> list[str]:
    """Return the groups that a query is in, the one that says most of it first."""
    tables = [f"digests on {table}" for table in tables_in(query.text)[:1]]
    return [*tables, f"digests of {context.called(query.hostgroup)}"]


def _suggestion(
    context: Context, query: Query, peers: tuple[str, int, float], above_us: int
) -> Suggestion:
    """Return the suggestion. `peers`: what they are, how many, and their median."""
    name, number, median_us = peers
    factor = query.average / max(median_us, 1)
    says = [
        f"{time_text(query.average)} on average, {factor:,.0f} times the median of {number:,}"
        f" {name}, {time_text(median_us)}; the longest query took {time_text(query.max_time)}."
    ]
    if query.rows_sent:
        may_help = "if EXPLAIN shows many more rows read, an index is missing."
        if query.rows_per_call > MOST_ROWS_A_CALL:
            may_help = "a LIMIT, or fewer columns, may help more than an index."
        says.append(f"It returns {rows_text(query.rows_per_call)} a query: {may_help}")
    return Suggestion(
        Kind.SLOW,
        f"{factor:,.0f} times as slow as its peers",
        {
            "calls": query.calls,
            "average_us": round(query.average),
            "max_time_us": query.max_time,
            "sum_time_us": query.sum_time,
            "share": context.share(query.sum_time),
            "peers": number,
            "peers_are": name,
            "median_of_peers_us": round(median_us),
            "rows_per_call": round(query.rows_per_call, 3),
            "time_above_median_us": above_us,
        },
        tuple(says),
        query.digest,
        query.text,
    )
