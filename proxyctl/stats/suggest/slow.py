"""Queries whose average is far above the median of their hostgroup: candidates for an index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median
from textwrap import shorten

from proxyctl.stats.suggest.context import Query, SuggestContext, Suggestion
from proxyctl.stats.suggest.kind import SuggestionKind
from proxyctl.stats.units import time_text

LEAST_CALLS = 5
LEAST_AVERAGE_US = 10_000
LEAST_FACTOR = 10.0
"""The average is at least this many times the median of the peers."""
LEAST_PEERS = 5
_LONGEST_TEXT = 100
"""The most characters of a query in a note."""


def find_slow(context: SuggestContext) -> Iterator[Suggestion]:
    """Yield the queries that are far slower than the other digests of their hostgroup."""
    peers: dict[int, list[Query]] = defaultdict(list)
    for query in context.queries:
        if query.load.count_star >= LEAST_CALLS:
            peers[query.hostgroup].append(query)
    candidates: list[tuple[int, Query, float]] = []
    for hostgroup, group in sorted(peers.items()):
        if len(group) <= LEAST_PEERS:
            context.notes += _not_judged(context.called(hostgroup), group)
            continue
        middle = median(query.load.average for query in group)
        candidates += (
            (round((query.load.average - middle) * query.load.count_star), query, middle)
            for query in group
            if query.load.average >= max(LEAST_AVERAGE_US, LEAST_FACTOR * middle)
        )
    candidates.sort(key=lambda item: (-item[0], item[1].digest))
    for above_us, query, middle in context.listed(SuggestionKind.SLOW, candidates):
        load, number = query.load, len(peers[query.hostgroup]) - 1
        yield Suggestion(
            SuggestionKind.SLOW,
            query.digest,
            query.text,
            {
                "hostgroup": query.hostgroup,
                "calls": load.count_star,
                "average_us": round(load.average),
                "max_time_us": load.max_time,
                "sum_time_us": load.sum_time,
                "share": context.share(load.sum_time),
                "peers": number,
                "median_of_peers_us": round(middle),
                "time_above_median_us": above_us,
            },
            f"{time_text(load.average)} on average, {load.average / max(middle, 1):,.0f} times the"
            f" median of {number:,} other digests of {context.called(query.hostgroup)},"
            f" {time_text(middle)}; the longest query took {time_text(load.max_time)}.",
        )


def _not_judged(hostgroup: str, group: Sequence[Query]) -> Iterator[str]:
    """Yield which query nothing is said about, if its average is high enough for a suggestion."""
    slowest = max(group, key=lambda query: (query.load.average, query.digest))
    if slowest.load.average >= LEAST_AVERAGE_US:
        yield (
            f"slow: {hostgroup} is not judged: a query needs at least {LEAST_PEERS} other digests"
            f" with {LEAST_CALLS} queries to compare with. The slowest there is {slowest.digest},"
            f" {time_text(slowest.load.average)} on average:"
            f" {shorten(slowest.text, _LONGEST_TEXT, placeholder=' ...')}"
        )
