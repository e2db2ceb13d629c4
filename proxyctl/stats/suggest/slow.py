"""Queries whose average is far above that of their peers: an index or a rewrite may help.

Peers are the digests that name the same table first, or, where these are too few, those of the same
hostgroup. Averages spread over powers of ten, so their logarithms are compared: by the median and
the median absolute deviation, which a few extreme peers do not move.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import log10
from statistics import median
from typing import NamedTuple

from proxyctl.stats.suggest.context import Context, Query
from proxyctl.stats.suggest.suggestion import Kind, Suggestion
from proxyctl.stats.suggest.texts import tables_in
from proxyctl.stats.units import rows_text, time_text

_NORMAL = 0.6745
"""What makes a median absolute deviation comparable with a standard deviation."""
_LEAST = 0.1
"""The least deviation of logarithms that is believed: peers that are all alike have none."""


class _Peers(NamedTuple):
    """Digests that are measured by one another, their outliers among them: the median bears them.

    Shape: `center` and `deviation` are of the logarithms of their averages.
    """

    name: str
    number: int
    center: float
    deviation: float

    def score(self, query: Query) -> float:
        """Return the modified z-score of a query."""
        return _NORMAL * (_log(query) - self.center) / max(self.deviation, _LEAST)

    @property
    def median_us(self) -> float:
        """The median of their averages, in microseconds."""
        return float(10**self.center)


def find_slow(context: Context) -> Iterator[Suggestion]:
    """Yield the outliers, the ones that cost most time above their peers' median first."""
    limits = context.thresholds
    measured = [
        one for one in context.statistics.queries.values() if one.calls >= limits.slow_calls
    ]
    logs: dict[str, list[float]] = defaultdict(list)
    for query in measured:
        for name in _groups(context, query):
            logs[name].append(_log(query))
    every = {name: _peers(name, of) for name, of in logs.items() if len(of) > limits.slow_peers}
    found: list[tuple[int, Query, _Peers]] = []
    for query in measured:
        peers = next((every[one] for one in _groups(context, query) if one in every), None)
        if peers is None or query.average < limits.slow_average:
            continue
        least = limits.slow_factor * peers.median_us
        if query.average >= least and peers.score(query) >= limits.slow_score:
            above_us = round((query.average - peers.median_us) * query.calls)
            found.append((above_us, query, peers))
    found.sort(key=lambda one: (-one[0], one[1].digest))
    for above_us, query, peers in context.listed(Kind.SLOW, found):
        yield _suggestion(context, query, peers, above_us)


def _groups(context: Context, query: Query) -> list[str]:
    """Return the groups that a query is in, the one that says most of it first."""
    tables = [f"digests on {table}" for table in tables_in(query.text)[:1]]
    return [*tables, f"digests of {context.called(query.hostgroup)}"]


def _peers(name: str, logs: Sequence[float]) -> _Peers:
    center = median(logs)
    return _Peers(name, len(logs) - 1, center, median(abs(one - center) for one in logs))


def _log(query: Query) -> float:
    return log10(max(1.0, query.average))


def _suggestion(context: Context, query: Query, peers: _Peers, above_us: int) -> Suggestion:
    factor = query.average / peers.median_us
    says = [
        f"{time_text(query.average)} on average, {factor:,.0f} times the median"
        f" of {peers.number:,} {peers.name}, {time_text(peers.median_us)}; the longest call took"
        f" {time_text(query.max_time)}."
    ]
    if query.rows_sent:
        may_help = "if EXPLAIN shows many more rows read, an index is missing."
        if query.rows_per_call > context.thresholds.cache_rows:
            may_help = "a LIMIT, or fewer columns, may help more than an index."
        says.append(f"It returns {rows_text(query.rows_per_call)} a call: {may_help}")
    return Suggestion(
        Kind.SLOW,
        f"{factor:,.0f} times as slow as its peers",
        {
            "calls": query.calls,
            "average_us": round(query.average),
            "max_time_us": query.max_time,
            "sum_time_us": query.sum_time,
            "share": context.share(query.sum_time),
            "peers": peers.number,
            "peers_are": peers.name,
            "median_of_peers_us": round(peers.median_us),
            "mad_of_log10": round(peers.deviation, 4),
            "score": round(peers.score(query), 2),
            "rows_per_call": round(query.rows_per_call, 3),
            "time_per_row_us": round(query.sum_time / query.rows_sent) if query.rows_sent else None,
            "time_above_median_us": above_us,
        },
        tuple(says),
        query.digest,
        query.text,
    )
