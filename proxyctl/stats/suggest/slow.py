"""Queries whose average is far above that of their peers: an index or a rewrite may help.

Peers are the digests that name the same table first, or, where these are too few, those of the same
hostgroup. Averages spread over powers of ten, so their logarithms are compared: by the median and
the median absolute deviation, which a few extreme peers do not move.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log10
from statistics import median

from proxyctl.stats.suggest.context import Context, Query
from proxyctl.stats.suggest.found import Kind, Suggestion
from proxyctl.stats.suggest.texts import tables_in
from proxyctl.stats.units import rows_text, time_text

_NORMAL = 0.6745
"""What makes a median absolute deviation comparable with a standard deviation."""
_LEAST = 0.1
"""The least deviation of logarithms that is believed: peers that are all alike have none."""


@dataclass(frozen=True)
class _Measure:
    """How far a query is from its peers. Units: microseconds."""

    peers: str
    count: int
    middle: float
    deviation: float
    score: float


def find_slow(context: Context) -> Iterator[Suggestion]:
    """Yield the outliers, the ones that cost most time above their peers' median first."""
    limits = context.thresholds
    measured = [
        one for one in context.statistics.queries.values() if one.calls >= limits.slow_calls
    ]
    by_table: dict[str, list[Query]] = {}
    by_hostgroup: dict[int | None, list[Query]] = {}
    for query in measured:
        for table in tables_in(query.text)[:1]:
            by_table.setdefault(table, []).append(query)
        by_hostgroup.setdefault(query.hostgroup, []).append(query)
    found: list[tuple[int, Query, _Measure]] = []
    of_groups: dict[int, tuple[float, float]] = {}
    for query in measured:
        if query.average < limits.slow_average:
            continue
        table = next(iter(tables_in(query.text)), "")
        peers, name = by_table.get(table, []), f"digests on {table}"
        if len(peers) - 1 < limits.slow_peers:
            peers = by_hostgroup[query.hostgroup]
            name = f"digests of {context.called(query.hostgroup)}"
        if len(peers) - 1 < limits.slow_peers:
            continue
        measure = _measure(query, peers, name, of_groups)
        if (
            measure.score >= limits.slow_score
            and query.average >= limits.slow_factor * measure.middle
        ):
            above = round((query.average - measure.middle) * query.calls)
            found.append((above, query, measure))
    found.sort(key=lambda one: (-one[0], one[1].digest))
    for above, query, measure in context.listed(Kind.SLOW, found):
        yield _suggestion(context, query, measure, above)


def _measure(
    query: Query, peers: Sequence[Query], name: str, known: dict[int, tuple[float, float]]
) -> _Measure:
    # A group is measured once, its own outliers among it: the median bears them.
    if id(peers) not in known:
        logs = [_log(peer) for peer in peers]
        center = median(logs)
        known[id(peers)] = center, median(abs(one - center) for one in logs)
    center, deviation = known[id(peers)]
    score = _NORMAL * (_log(query) - center) / max(deviation, _LEAST)
    return _Measure(name, len(peers) - 1, 10**center, deviation, score)


def _log(query: Query) -> float:
    return log10(max(1.0, query.average))


def _suggestion(context: Context, query: Query, measure: _Measure, above: int) -> Suggestion:
    factor = query.average / measure.middle
    per_row = query.sum_time / query.rows_sent if query.rows_sent else None
    says = [
        f"{time_text(query.average)} on average, {factor:,.0f} times the median"
        f" of {measure.count:,} {measure.peers}, {time_text(measure.middle)}; the longest call took"
        f" {time_text(query.max_time)}."
    ]
    if query.rows_per_call > context.thresholds.cache_rows:
        says.append(
            f"It returns {rows_text(query.rows_per_call)} a call: a LIMIT, or fewer columns,"
            " may help more than an index."
        )
    elif query.rows_sent:
        says.append(
            f"It returns {rows_text(query.rows_per_call)} a call: if EXPLAIN shows many more rows"
            " read, an index is missing."
        )
    return Suggestion(
        Kind.SLOW,
        f"{factor:,.0f} times as slow as its peers",
        {
            "calls": query.calls,
            "average_us": round(query.average),
            "max_time_us": query.max_time,
            "sum_time_us": query.sum_time,
            "share": context.share(query.sum_time),
            "peers": measure.count,
            "peers_are": measure.peers,
            "median_of_peers_us": round(measure.middle),
            "mad_of_log10": round(measure.deviation, 4),
            "score": round(measure.score, 2),
            "rows_per_call": round(query.rows_per_call, 3),
            "time_per_row_us": None if per_row is None else round(per_row),
            "time_above_median_us": above,
        },
        tuple(says),
        above,
        query.digest,
        query.text,
    )
