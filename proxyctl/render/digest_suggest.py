"""Renders suggestions from digests: the evidence, the result of a replay, and rules to paste."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter

from proxyctl.catalog import Layout
from proxyctl.interchange.yaml import row_lines
from proxyctl.render.encode import INSTANCE, Shape
from proxyctl.render.fleet import FAILED, READ
from proxyctl.render.style import PLAIN, WIDTH, Style, shown, wrapped
from proxyctl.rows.row import ColumnValues
from proxyctl.stats.suggest.context import Suggestion, Suggestions, rule_row
from proxyctl.stats.suggest.fleet import SuggestionsOfFleet
from proxyctl.stats.suggest.kind import SuggestionKind
from proxyctl.stats.units import time_text
from proxyctl.text import counted, printable

_HEADINGS = {
    SuggestionKind.READS: "reads on a writer",
    SuggestionKind.CACHE: "results worth caching",
    SuggestionKind.SLOW: "queries slower than their peers",
}
_UNKNOWN = {
    SuggestionKind.READS: (
        "Whether a query ran in a transaction. With transaction_persistent 1 ProxySQL keeps a"
        " transaction on its hostgroup, whatever the rules say.",
        "Whether a table is a temporary table of the connection, or locked by LOCK TABLES, unless"
        " the statistics hold the CREATE TEMPORARY TABLE.",
        "Whether a reader lags behind: a session that reads its own write may not find it there.",
    ),
    SuggestionKind.CACHE: (
        "Whether the application tolerates answers as old as cache_ttl, even after its own session"
        " changed the rows.",
        "How many answers the cache keeps: one for each query text, user and schema. The estimate"
        " assumes a single answer, and queries that arrive evenly.",
        "Whether ProxySQL caches them: not if they are prepared statements, and empty answers only"
        " with mysql-query_cache_stores_empty_result.",
    ),
    SuggestionKind.SLOW: (
        "Why it is slow: ask EXPLAIN on the server. Time spent waiting for locks also counts as"
        " query time.",
    ),
}
"""What digests do not tell, by kind of suggestion."""
_LONGEST_TEXT = 300


def rules_yaml(layout: Layout, rules: Sequence[ColumnValues]) -> str:
    """Return rules as a section of our files, one line per rule, never wrapped: for pasting."""
    rows = [rule_row(layout, cells) for cells in rules]
    return "\n".join(["mysql_query_rules:", *row_lines(layout, rows)]) + "\n"


def suggest_text(
    result: Suggestions, heading: str, style: Style = PLAIN, *, width: int = WIDTH
) -> str:
    """Render the suggestions by kind, each with its evidence, and the rules to paste.

    `heading`: names the instances that have seen the digests.
    """
    title = printable(
        f"{heading}:"
        f" {counted(len(result.suggestions), 'suggestion')} from"
        f" {counted(len(result.table.rows), 'entry')},"
        f" {counted(result.total.count_star, 'query')}, {time_text(result.total.sum_time)}"
    )
    lines = [*(style("bold", line) for line in wrapped(title, width)), ""]
    for kind, heading in _HEADINGS.items():
        lines += _kind_lines(result, kind, heading, style, width)
    if not result.suggestions:
        lines += ["Nothing to suggest.", ""]
    if result.proof:
        lines += [*wrapped(result.proof, width), ""]
    for kind in dict.fromkeys(suggestion.kind for suggestion in result.suggestions):
        lines.append(style("dim", f"What digests do not tell, for {_HEADINGS[kind]}:"))
        for text in _UNKNOWN[kind]:
            lines += wrapped(text, width, first="  - ", then="    ")
        lines.append("")
    for note in result.notes:
        lines += wrapped(f"note: {printable(note)}", width, then="      ")
    return "\n".join(lines).rstrip("\n") + "\n"


def _kind_lines(
    result: Suggestions, kind: SuggestionKind, heading: str, style: Style, width: int
) -> Iterator[str]:
    suggestions = [suggestion for suggestion in result.suggestions if suggestion.kind is kind]
    if not suggestions:
        return
    yield style("bold", heading.upper())
    for suggestion in suggestions:
        text = f"{suggestion.digest}  {shown(suggestion.digest_text, limit=_LONGEST_TEXT)}"
        yield from wrapped(text, width, first=f"  {style('change', '*')} ", then="    ")
        says = suggestion.says
        if kind is not SuggestionKind.SLOW and suggestion.rule is None:
            says += " No rule changes only this digest."
        yield from wrapped(printable(says), width, first="    ", then="    ")
        yield ""
    if kind in result.left_out:
        yield from (f"  ... {result.left_out[kind]:,} more (--limit lists more)", "")
    if rules := [suggestion.rule for suggestion in suggestions if suggestion.rule]:
        yield "  Paste into the files:"
        yaml = rules_yaml(result.layout, rules)
        yield from (style("add", f"    {line}") for line in yaml.splitlines())
        yield ""


def suggest_json(result: Suggestions) -> str:
    """Render the suggestions as JSON: `rule` by column, `yaml` the same rule to paste."""
    return SUGGESTIONS.document(result)


def suggest_of_fleet_json(fleet: SuggestionsOfFleet) -> str:
    """Render the suggestions for many instances as JSON."""
    return SUGGESTIONS_OF_FLEET.document(fleet)


def _each(result: Suggestions) -> list[dict[str, object]]:
    return [
        SUGGESTION.encode(
            suggestion,
            yaml=rules_yaml(result.layout, [suggestion.rule]) if suggestion.rule else None,
        )
        for suggestion in result.suggestions
    ]


def _of_fleet(
    value_of: Callable[[Suggestions], object],
) -> Callable[[SuggestionsOfFleet], object]:
    return lambda fleet: value_of(fleet.suggestions)


_RESULT_KEYS = "digests count_star sum_time suggestions left_out proof notes"
_RESULT: dict[str, Callable[[Suggestions], object]] = {
    "digests": lambda result: len(result.table.rows),
    "count_star": attrgetter("total.count_star"),
    "sum_time": attrgetter("total.sum_time"),
    "suggestions": _each,
    "left_out": attrgetter("left_out"),
    "proof": lambda result: result.proof or None,
    "notes": attrgetter("notes"),
}
SUGGESTIONS: Shape[Suggestions] = Shape(
    "digest suggest",
    f"{INSTANCE} taken_at {_RESULT_KEYS}",
    **{name: attrgetter(f"table.{name}") for name in (*INSTANCE.split(), "taken_at")},
    **_RESULT,
)
SUGGESTIONS_OF_FLEET: Shape[SuggestionsOfFleet] = Shape(
    "digest suggest of a fleet",
    f"instances failed {_RESULT_KEYS}",
    instances=lambda fleet: READ.each(fleet.instances),
    failed=lambda fleet: FAILED.each(fleet.failed),
    **{name: _of_fleet(value_of) for name, value_of in _RESULT.items()},
)
SUGGESTION: Shape[Suggestion] = Shape(
    "suggestion",
    "kind digest digest_text evidence says rule yaml",
    rule=lambda suggestion: (
        {name: value for name, value in suggestion.rule.items() if value is not None}
        if suggestion.rule
        else None
    ),
)
