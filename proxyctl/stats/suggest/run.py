"""Makes the suggestions of all kinds, and replays their rules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from proxyctl.errors import counted
from proxyctl.state.configuration import Configuration
from proxyctl.stats.model import NOT_COUNTING, DigestTable, is_counting
from proxyctl.stats.suggest.caching import find_cacheable
from proxyctl.stats.suggest.context import (
    MOST_ROWS,
    Context,
    Kind,
    Suggestion,
    Suggestions,
    add_up,
    rule_layout,
    with_rules,
)
from proxyctl.stats.suggest.reads import find_readers, find_reads
from proxyctl.stats.suggest.slow import find_slow


def suggest(
    table: DigestTable,
    configuration: Configuration,
    *,
    only: Collection[Kind] = (),
    limit: int | None = 5,
    most_rows: int = MOST_ROWS,
    may_use: Callable[[int], bool] = lambda _rule_id: True,
    progress: Callable[[int], None] = lambda _done: None,
) -> Suggestions:
    """Return the suggestions.

    `only`: these kinds, all if there are none; `limit`: so many of each kind; `most_rows`: so many
    are followed through the rules. `may_use`: which rule_ids the files may use; `progress`: called
    with the number of digests that are replayed.
    Raises: ProxyctlError for digest variables that ProxySQL refuses, or under which it ends.
    """
    statistics = add_up(table, most_rows)
    context = Context(statistics, configuration, limit, may_use, progress=progress)
    if not is_counting(table.variables):
        context.note(NOT_COUNTING)
    if not statistics.queries:
        context.note("the statistics hold no digest")
    if not statistics.is_whole:
        calls = sum(seen.count_star for seen in statistics.followed)
        share = calls / max(1, statistics.count_star)
        context.note(
            f"of {counted(len(table.rows), 'entry')}, {len(statistics.followed):,} are followed"
            f" through the rules: those with most time, {share:.1%} of all queries."
            " The others count in the sums and may include more reads on a writer"
        )
    found: list[Suggestion] = []
    for kind in Kind:
        if not only or kind in only:
            found += _of(kind, context)
    found, proof = _proven(context, found)
    return Suggestions(
        name=table.name,
        address=table.address,
        version=table.version,
        taken_at=table.taken_at,
        digests=len(table.rows),
        count_star=statistics.count_star,
        sum_time=statistics.sum_time,
        layout=rule_layout(configuration),
        found=tuple(found),
        notes=tuple(context.notes),
        proof=proof,
        left_out=context.left_out,
    )


def _of(kind: Kind, context: Context) -> Iterator[Suggestion]:
    match kind:
        case Kind.READS:
            yield from find_reads(context, find_readers(context.configuration))
        case Kind.CACHE:
            yield from find_cacheable(context)
        case Kind.SLOW:
            yield from find_slow(context)


def _proven(context: Context, found: list[Suggestion]) -> tuple[list[Suggestion], str]:
    """Replay the digests with all rules at once: each may change its own digest and no other.

    Returns the suggestions, without rules if it is otherwise, and what was replayed.
    """
    rules = [rule for one in found for rule in one.rules]
    if not rules:
        return found, ""
    report = context.replayed(with_rules(context.configuration, rules))
    changed: dict[bool, set[str]] = {True: set(), False: set()}
    for entry in (*report.moved, *report.open):
        changed[entry.verdict.is_unknown].add(entry.seen.digest)
    if others := changed[False] - {str(rule["digest"]) for rule in rules}:
        # Something else than a match, such as fast routing that a last rule with apply ends.
        count = counted(len(others), "other digest")
        proof = f"No rule is proposed: {count} would change with it."
        return [replace(one, rules=(), proof=proof) if one.rules else one for one in found], ""
    statistics = context.statistics
    of = f"all of the statistics, {counted(report.total.entries, 'entry')}"
    if not statistics.is_whole:
        seen = counted(len(statistics.table.rows), "entry")
        of = f"{report.total.entries:,} of {seen} in the statistics, those with most time"
    proof = (
        f"The proposed rules were replayed together on {of}: each changes its own digest and no"
        " other. Queries that were not seen may differ."
    )
    if unknown := changed[True]:
        proof += (
            f" For {counted(len(unknown), 'digest')} that is not known: the texts are cut, or"
            " may differ from what the rules saw."
        )
    return found, proof
