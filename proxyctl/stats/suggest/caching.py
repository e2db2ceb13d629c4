"""Small answers that are asked for again and again: what ProxySQL's query cache would save."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from proxyctl.errors import counted
from proxyctl.stats.model import SeenDigest
from proxyctl.stats.replay.comparison import Kind as Change
from proxyctl.stats.replay.comparison import Verdict
from proxyctl.stats.suggest.context import Cells, Context, Kind, Query, Suggestion
from proxyctl.stats.suggest.texts import is_write, not_cacheable, tables_in
from proxyctl.stats.units import number_text, rows_text, time_text

LEAST_RATE = 1.0
"""Calls a second, from the first to the last one."""
LEAST_CALLS = 1_000
MOST_ROWS_A_CALL = 100.0
LEAST_READS_A_WRITE = 10.0
"""Reads for each write that names one of its tables."""
CACHE_TTL_MS = 1_000
"""The cache_ttl that is proposed."""


def find_cacheable(context: Context) -> Iterator[Suggestion]:
    """Yield the queries that are worth caching, each with a rule."""
    if not context.statistics.counts_rows:
        context.note("cache: no rows are counted (sum_rows_sent is 0 or not there)")
        return
    writes = _writes(context)
    found: list[tuple[int, Query]] = []
    for query in context.statistics.queries.values():
        saved = _saved_calls(query)
        if saved > 0 and _is_worth_it(context, query, writes):
            found.append((round(saved * query.average), query))
    # What is certain comes first: with values in the text the estimate is the most there can be.
    found.sort(key=lambda one: ("?" in one[1].text, -one[0], one[1].digest))
    for saved_us, query in context.listed(Kind.CACHE, found):
        rows = context.statistics.by_digest.get(query.digest, [])
        if not rows or any(context.is_vague(seen) for seen in rows):
            continue
        if any(outcome.cache_ttl for seen in rows for outcome in context.outcomes(seen)):
            continue
        yield _suggestion(context, query, saved_us, writes, _rule(context, query, rows))


def _writes(context: Context) -> Counter[str]:
    """Return how often statements that write name each table."""
    found: Counter[str] = Counter()
    for query in context.statistics.queries.values():
        if is_write(query.text):
            for table in tables_in(query.text):
                found[table] += query.calls
    return found


def _is_worth_it(context: Context, query: Query, writes: Counter[str]) -> bool:
    tables = tables_in(query.text)
    return bool(
        query.calls >= LEAST_CALLS
        and query.calls / query.seconds >= LEAST_RATE
        and 0 < query.rows_per_call <= MOST_ROWS_A_CALL
        and not query.cached
        and tables
        and not_cacheable(query.text) is None
        and not context.statistics.asks_temporary_table(query.text)
        and _written(query, writes) * LEAST_READS_A_WRITE <= query.calls
    )


def _written(query: Query, writes: Counter[str]) -> int:
    return sum(writes[table] for table in tables_in(query.text))


def _saved_calls(query: Query) -> float:
    """Return the calls that the cache would answer: all but one in each cache_ttl and session."""
    turns = query.seconds * 1000 / CACHE_TTL_MS
    return query.calls - min(query.calls, turns * len(query.sessions))


def _suggestion(
    context: Context, query: Query, saved_us: int, writes: Counter[str], rule: Cells | None
) -> Suggestion:
    saved = _saved_calls(query)
    rate, written = query.calls / query.seconds, _written(query, writes)
    has_values = "?" in query.text
    tables = ", ".join(tables_in(query.text))
    writes_seen = f"{counted(written, 'write')} to" if written else "no write to"
    says = (
        f"{number_text(rate)} queries a second over {time_text(query.seconds * 1e6)},"
        f" {rows_text(query.rows_per_call)} each; {writes_seen} {tables}.",
        f"Cached for {CACHE_TTL_MS} ms, {'at most ' if has_values else ''}{round(saved):,} of"
        f" {counted(query.calls, 'query')} would not reach a server: {time_text(saved_us)} of"
        " query time.",
        "The estimate assumes that queries come evenly, and that each pair of user and schema asks"
        f" the server once in {CACHE_TTL_MS} ms.",
    )
    return Suggestion(
        Kind.CACHE,
        f"a small result, read {number_text(rate)} times a second",
        {
            "calls": query.calls,
            "sum_time_us": query.sum_time,
            "share": context.share(query.sum_time),
            "calls_per_s": round(rate, 3),
            "rows_per_call": round(query.rows_per_call, 3),
            "average_us": round(query.average),
            "writes_to_its_tables": written,
            "sessions": len(query.sessions),
            "cache_ttl_ms": CACHE_TTL_MS,
            "saved_calls": round(saved),
            "saved_time_us": saved_us,
        },
        says,
        query.digest,
        query.text,
        () if rule is None else (rule,),
        proof="" if rule else "No rule caches only this digest.",
    )


def _rule(context: Context, query: Query, rows: Sequence[SeenDigest]) -> Cells | None:
    """Return a rule that caches, and leaves it to the other rules where a query goes."""
    cells: Cells = {
        "digest": query.digest,
        "cache_ttl": CACHE_TTL_MS,
        "comment": "digest suggest: cache",
    }

    def is_right(verdict: Verdict) -> bool:
        return verdict.certain == {Change.CACHED} and not verdict.possible

    ids, reads = context.rule_ids, context.read_rules.get(query.digest)
    # Without apply: a rule behind it still decides, also the one that is proposed for its reads.
    deciding = context.deciding_rules(rows) | ({reads} if reads is not None else set())
    where = [ids.before(min(deciding)) if deciding else None, ids.first()]
    if reads is None:
        where.append(ids.last())
    return context.placed_rule(rows, [(cells, where)], is_right)
