"""One row at a time, very often: what a loop over the rows of another query looks like (N+1)."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.digests.suggest_context import Context
from proxyctl.digests.suggest_found import Kind, Suggestion
from proxyctl.digests.suggest_load import Query
from proxyctl.digests.suggest_texts import looks_up_one
from proxyctl.digests.units import count_text, rows_text, time_text

_UNKNOWN = (
    "Whether one request of the application sends these calls, or many requests one each: the"
    " statistics do not tell which calls belong together.",
    "What a call costs besides the time here: the way to ProxySQL and back is not in it.",
)


def repeated_lookups(context: Context) -> Iterator[Suggestion]:
    """Yield the lookups of one row that make up much of all calls. No rule helps."""
    if not context.load.counts_rows:
        context.note("repeats: no rows are counted (sum_rows_sent is 0 or not there)")
        return
    found = [query for query in context.load.queries.values() if _is_repeated(context, query)]
    found.sort(key=lambda query: (-query.calls, query.digest))
    for query in context.listed(Kind.REPEATS, found):
        share = query.calls / context.load.count_star
        yield Suggestion(
            Kind.REPEATS,
            f"a lookup of one row makes {share:.1%} of all calls",
            {
                "calls": query.calls,
                "share_of_calls": round(share, 6),
                "calls_per_s": round(query.calls / query.seconds, 3),
                "average_us": round(query.average),
                "rows_per_call": round(query.rows_per_call, 3),
                "sum_time_us": query.sum_time,
                "share": context.share(query.sum_time),
            },
            (
                f"{count_text(query.calls, 'call')} of {time_text(query.average)} and"
                f" {rows_text(query.rows_per_call)} each. A loop over rows of another query looks"
                " like this: ask for all of them at once, with a join or with IN (...).",
            ),
            _UNKNOWN,
            query.sum_time,
            query.digest,
            query.text,
        )


def _is_repeated(context: Context, query: Query) -> bool:
    limits = context.thresholds
    return (
        query.calls >= limits.repeat_calls
        and query.calls >= limits.repeat_share * context.load.count_star
        and query.average <= limits.repeat_average
        and 0 < query.rows_per_call <= limits.repeat_rows
        and looks_up_one(query.text)
    )
