"""Small answers that are asked for again and again: what ProxySQL's query cache would save."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from proxyctl.errors import counted
from proxyctl.stats.replay.comparison import Kind as Change
from proxyctl.stats.replay.comparison import Verdict
from proxyctl.stats.suggest.context import Cells, Context, Kind, Query, Suggestion
from proxyctl.stats.suggest.texts import is_cacheable, is_write, tables_in
from proxyctl.stats.units import number_text, rows_text, time_text

LEAST_RATE = 1.0
"""Calls a second, since the counters began."""
LEAST_CALLS = 1_000
MOST_ROWS_A_CALL = 100.0
LEAST_READS_A_WRITE = 10.0
"""Reads for each write that names one of its tables."""
CACHE_TTL_MS = 1_000
"""The cache_ttl that is proposed."""


def find_cacheable(context: Context) -> Iterator[Suggestion]:
    """Yield the queries that are worth caching, each with a rule."""
    seconds = max(context.table.taken_at - context.tally.began_at, 1)
    writes = _writes(context)
    found: list[tuple[int, Query]] = []
    for query in context.queries:
        saved = query.load.count_star - seconds * 1000 // CACHE_TTL_MS
        if saved > 0 and _is_worth_it(context, query, seconds, writes):
            found.append((saved, query))
    # Without values in the text there is one answer to keep, and the estimate is a good one.
    found.sort(key=lambda one: ("?" in one[1].text, -one[0] * one[1].load.average, one[1].digest))
    for saved, query in context.listed(Kind.CACHE, found):
        yield _suggestion(context, query, seconds, saved, _written(query, writes))


def _writes(context: Context) -> Counter[str]:
    """Return how often statements that write name each table."""
    found: Counter[str] = Counter()
    for query in context.queries:
        if is_write(query.text):
            for table in tables_in(query.text):
                found[table] += query.load.count_star
    return found


def _is_worth_it(context: Context, query: Query, seconds: int, writes: Mapping[str, int]) -> bool:
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
        and not any(one.cache_ttl for seen in rows for one in context.outcomes(seen))
    )


def _written(query: Query, writes: Mapping[str, int]) -> int:
    return sum(writes[table] for table in tables_in(query.text))


def _suggestion(
    context: Context, query: Query, seconds: int, saved: int, written: int
) -> Suggestion:
    calls, average = query.load.count_star, query.load.average
    saved_us = round(saved * average)
    writes = f"{counted(written, 'write')} to" if written else "no write to"
    return Suggestion(
        Kind.CACHE,
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


def _rule(context: Context, digest: str) -> Cells | None:
    """Return a rule that caches, and leaves it to the other rules where a query goes: no apply."""
    cells: Cells = {"digest": digest, "cache_ttl": CACHE_TTL_MS, "comment": "digest suggest: cache"}

    def is_right(verdict: Verdict) -> bool:
        return verdict.certain == {Change.CACHED} and not verdict.possible

    return context.placed_rule(digest, [cells], is_right)
