"""Queries that ProxySQL's query cache could answer: small answers, requested frequently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from proxyctl.rows.row import ColumnValues
from proxyctl.stats.replay.comparison import DifferenceKind, ReplayVerdict
from proxyctl.stats.suggest.context import Query, SuggestContext, Suggestion
from proxyctl.stats.suggest.kind import SuggestionKind
from proxyctl.stats.suggest.texts import is_cacheable, is_write, tables_in
from proxyctl.stats.units import number_text, rows_text, time_text
from proxyctl.text import counted

LEAST_RATE = 1.0
"""Calls per second since the counters began."""
LEAST_CALLS = 1_000
MOST_ROWS_A_CALL = 100.0
LEAST_READS_A_WRITE = 10.0
"""Reads per write that names one of the query's tables."""
CACHE_TTL_MS = 1_000
"""The proposed cache_ttl."""


def find_cacheable(context: SuggestContext) -> Iterator[Suggestion]:
    """Yield the queries that are worth caching, each with a rule."""
    seconds = context.seconds  # of many instances: each has a cache of its own
    writes = _writes(context)
    candidates: list[tuple[int, Query]] = []
    for query in context.queries:
        saved = query.load.count_star - seconds * 1000 // CACHE_TTL_MS
        if saved > 0 and _is_worth_it(context, query, seconds, writes):
            candidates.append((saved, query))
    # A text without values has a single answer to keep, so its estimate is good and comes first.
    candidates.sort(
        key=lambda item: ("?" in item[1].text, -item[0] * item[1].load.average, item[1].digest)
    )
    for saved, query in context.listed(SuggestionKind.CACHE, candidates):
        yield _suggestion(context, query, seconds, saved, _written(query, writes))


def _writes(context: SuggestContext) -> Counter[str]:
    """Return the calls of statements that write, by each table that they name."""
    writes: Counter[str] = Counter()
    for query in context.queries:
        if is_write(query.text):
            for table in tables_in(query.text):
                writes[table] += query.load.count_star
    return writes


def _is_worth_it(
    context: SuggestContext, query: Query, seconds: int, writes: Mapping[str, int]
) -> bool:
    calls = query.load.count_star
    rows = context.by_digest.get(query.digest, ())
    return bool(
        calls >= max(LEAST_CALLS, LEAST_RATE * seconds)
        and 0 < query.rows_per_call <= MOST_ROWS_A_CALL
        and not query.is_cached
        and tables_in(query.text)
        and is_cacheable(query.text)
        and not context.asks_temporary_table(query.text)
        and _written(query, writes) * LEAST_READS_A_WRITE <= calls
        and rows
        and not any(context.is_vague(seen) for seen in rows)
        and not any(outcome.cache_ttl for seen in rows for outcome in context.outcomes(seen))
    )


def _written(query: Query, writes: Mapping[str, int]) -> int:
    return sum(writes[table] for table in tables_in(query.text))


def _suggestion(
    context: SuggestContext, query: Query, seconds: int, saved: int, written: int
) -> Suggestion:
    calls, average = query.load.count_star, query.load.average
    saved_us = round(saved * average)
    writes = f"{counted(written, 'write')} to" if written else "no writes to"
    return Suggestion(
        SuggestionKind.CACHE,
        query.digest,
        query.text,
        {
            "calls": calls,
            "sum_time_us": query.load.sum_time,
            "share": context.share(query.load.sum_time),
            "rows_per_call": round(query.rows_per_call, 3),
            "writes_to_its_tables": written,
            "cache_ttl_ms": CACHE_TTL_MS,
            "saved_calls": saved,
            "saved_time_us": saved_us,
        },
        f"{number_text(calls / seconds)} queries a second, {rows_text(query.rows_per_call)} each;"
        f" {writes} {', '.join(tables_in(query.text))}. Cached for {CACHE_TTL_MS} ms, at most"
        f" {saved:,} of {counted(calls, 'query')} would not reach a server: {time_text(saved_us)}"
        " of query time.",
        _rule(context, query.digest),
    )


def _rule(context: SuggestContext, digest: str) -> ColumnValues | None:
    """Return a rule that caches. Without apply, the other rules still choose the hostgroup."""
    cells: ColumnValues = {
        "digest": digest,
        "cache_ttl": CACHE_TTL_MS,
        "comment": "digest suggest: cache",
    }

    def is_right(verdict: ReplayVerdict) -> bool:
        return verdict.certain == {DifferenceKind.CACHED} and not verdict.possible

    return context.placed_rule(digest, [cells], is_right)
