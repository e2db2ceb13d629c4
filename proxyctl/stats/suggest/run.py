"""Makes the suggestions of all kinds, and replays their rules."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from proxyctl.errors import counted
from proxyctl.routing.sides import Sides
from proxyctl.state.configuration import Configuration
from proxyctl.stats.model import NOT_COUNTING, DigestTable, is_counting
from proxyctl.stats.replay.comparison import Comparison
from proxyctl.stats.suggest.caching import find_cacheable
from proxyctl.stats.suggest.context import (
    Context,
    Kind,
    Suggestion,
    Suggestions,
    rules_of,
)
from proxyctl.stats.suggest.reads import find_reads
from proxyctl.stats.suggest.slow import find_slow

MOST_ROWS = 50_000
"""Rows of the table that are sent through the rules one by one, those with most time."""
_FINDERS = {Kind.READS: find_reads, Kind.CACHE: find_cacheable, Kind.SLOW: find_slow}


def suggest(
    table: DigestTable,
    configuration: Configuration,
    *,
    only: Collection[Kind] = (),
    limit: int = 5,
    most_rows: int = MOST_ROWS,
    may_use: Callable[[int], bool] = lambda _rule_id: True,
) -> Suggestions:
    """Return the suggestions.

    `only`: these kinds, all if there are none; `limit`: so many of each kind; `most_rows`: so many
    are followed through the rules. `may_use`: which rule_ids the files may use.
    Raises: ProxyctlError for digest variables that ProxySQL refuses, or under which it ends.
    """
    context = Context(table, configuration, limit=limit, most_rows=most_rows, may_use=may_use)
    notes, followed = context.notes, context.followed
    if not is_counting(table.variables):
        notes.append(NOT_COUNTING)
    if not context.queries:
        notes.append("the statistics hold no digest")
    if len(followed) < len(table.rows):
        calls = sum(seen.count_star for seen in followed)
        share = calls / max(1, context.total.count_star)
        notes.append(
            f"of {counted(len(table.rows), 'entry')}, {len(followed):,} are followed through the"
            f" rules: those with most time, {share:.1%} of all queries."
            " The others count in the sums and may include more reads on a writer"
        )
    if rewriting := context.now.rewriting_rules:
        notes.append(
            f"rule {', '.join(map(str, rewriting))}: replace_pattern makes other digests, which no"
            " rule finds by digest"
        )
    found = [
        one for kind, find in _FINDERS.items() if not only or kind in only for one in find(context)
    ]
    found, proof = _proven(context, found)
    return Suggestions(
        table,
        context.total,
        rules_of(configuration).layout,
        found,
        notes,
        proof,
        context.left_out,
    )


def _proven(context: Context, found: list[Suggestion]) -> tuple[list[Suggestion], str]:
    """Replay the digests with all rules at once: each may change its own digest and no other.

    Returns the suggestions, without rules if it is otherwise, and what was replayed.
    """
    own = {one.digest for one in found if one.rule}
    if not own:
        return found, ""
    comparison = Comparison(Sides(context.configuration, context.proposed), context.table.variables)
    others, unknown = set(), set()
    for seen in context.followed:
        verdict = comparison.verdict(seen)
        if verdict.is_unknown:
            unknown.add(seen.digest)
        elif (verdict.is_changed or verdict.is_open) and seen.digest not in own:
            others.add(seen.digest)
    if others:
        # Something else than a match, such as fast routing that a last rule with apply ends.
        context.notes.append(f"no rule is proposed: {counted(len(others), 'digest')} would change")
        return [replace(one, rule=None) for one in found], ""
    proof = (
        "The proposed rules were replayed together on"
        f" {counted(len(context.followed), 'entry')}: each changes its own digest and no other."
        " Queries that were not seen may differ."
    )
    if unknown:
        proof += f" {counted(len(unknown), 'digest')} with an uncertain text cannot be told."
    return found, proof
