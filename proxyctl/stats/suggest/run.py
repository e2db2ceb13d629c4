"""Makes the suggestions of all kinds and replays their rules."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from proxyctl.proxysql.configuration import BeforeAfter, Configuration
from proxyctl.stats.model import NOT_COUNTING, DigestTable, is_counting
from proxyctl.stats.replay.comparison import Comparison
from proxyctl.stats.suggest.caching import find_cacheable
from proxyctl.stats.suggest.context import (
    SuggestContext,
    Suggestion,
    Suggestions,
    rules_of,
)
from proxyctl.stats.suggest.kind import SuggestionKind
from proxyctl.stats.suggest.reads import find_reads
from proxyctl.stats.suggest.slow import find_slow
from proxyctl.text import counted

MOST_ROWS = 50_000
"""How many rows of the table are evaluated against the rules: the rows with most time."""
_FINDERS = {
    SuggestionKind.READS: find_reads,
    SuggestionKind.CACHE: find_cacheable,
    SuggestionKind.SLOW: find_slow,
}


def suggest(
    table: DigestTable,
    configuration: Configuration,
    *,
    only: Collection[SuggestionKind] = (),
    limit: int = 5,
    most_rows: int = MOST_ROWS,
    may_use: Callable[[int], bool] = lambda _rule_id: True,
    seconds: int | None = None,
) -> Suggestions:
    """Return the suggestions.

    `only`: the kinds to suggest, empty for all; `limit`: the most suggestions of each kind;
    `most_rows`: the most rows to evaluate against the rules; `may_use`: whether the files may use a
    rule_id; `seconds`: the time that many instances counted for, by default that of the table.
    Raises: ProxyctlError for digest variables that ProxySQL refuses, or under which it
    ends.
    """
    context = SuggestContext(
        table,
        configuration,
        limit=limit,
        most_rows=most_rows,
        may_use=may_use,
        seconds=seconds,
    )
    notes, followed = context.notes, context.followed
    if not is_counting(table.variables):
        notes.append(NOT_COUNTING)
    if not context.queries:
        notes.append("the statistics contain no digests")
    if len(followed) < len(table.rows):
        calls = sum(seen.count_star for seen in followed)
        share = calls / max(1, context.total.count_star)
        notes.append(
            f"the rules are checked on {len(followed):,} of {counted(len(table.rows), 'entry')},"
            f" those with the most time: {share:.1%} of all queries. The other entries are included"
            " in the sums and may include more reads on a writer"
        )
    if rewriting := context.now.rewriting_rules:
        notes.append(
            f"rule {', '.join(map(str, rewriting))}: replace_pattern rewrites queries, so no rule"
            " finds them by digest"
        )
    suggestions = [
        suggestion
        for kind, find in _FINDERS.items()
        if not only or kind in only
        for suggestion in find(context)
    ]
    suggestions, proof = _proven(context, suggestions)
    return Suggestions(
        table,
        context.total,
        rules_of(configuration).layout,
        suggestions,
        notes,
        proof,
        context.left_out,
    )


def _proven(context: SuggestContext, suggestions: list[Suggestion]) -> tuple[list[Suggestion], str]:
    """Replay the digests with all rules at once: a rule may change only its own digest.

    Returns the suggestions, without rules if another digest changes, and what was replayed.
    """
    own = {suggestion.digest for suggestion in suggestions if suggestion.rule}
    if not own:
        return suggestions, ""
    comparison = Comparison(
        BeforeAfter(context.configuration, context.proposed), context.table.variables
    )
    others, unknown = set(), set()
    for seen in context.followed:
        verdict = comparison.verdict(seen)
        if verdict.is_unknown:
            unknown.add(seen.digest)
        elif (verdict.is_changed or verdict.is_open) and seen.digest not in own:
            others.add(seen.digest)
    if others:
        # The cause is not a match: a last rule with apply stops fast routing, for example.
        context.notes.append(f"no rule is proposed: {counted(len(others), 'digest')} would change")
        return [replace(suggestion, rule=None) for suggestion in suggestions], ""
    proof = (
        "The proposed rules were replayed together on"
        f" {counted(len(context.followed), 'entry')}: each changes its own digest and no other."
        " Queries that were not seen may differ."
    )
    if unknown:
        digests = counted(len(unknown), "digest")
        proof += f" For {digests} with an uncertain text, the effect of the rules is unknown."
    return suggestions, proof
