"""Suggestions from digests: the evidence, what a replay shows, and rules to paste."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

from proxyctl.catalog import Layout
from proxyctl.errors import counted
from proxyctl.formats.yaml import row_lines
from proxyctl.render.encode import INSTANCE, Shape
from proxyctl.render.style import PLAIN, WIDTH, Style, shown, wrapped
from proxyctl.stats.suggest.context import Cells, Kind, Suggestion, Suggestions, rule_row
from proxyctl.stats.units import time_text
from proxyctl.text import printable

_HEADINGS = {
    Kind.READS: "reads on a writer",
    Kind.CACHE: "results worth caching",
    Kind.SLOW: "queries slower than their peers",
}
_UNKNOWN = {
    Kind.READS: (
        "Whether a query ran in a transaction. With transaction_persistent 1 ProxySQL keeps a"
        " transaction on its hostgroup, whatever the rules say.",
        "Whether a table is a temporary table of the connection, or locked by LOCK TABLES, unless"
        " the statistics hold the CREATE TEMPORARY TABLE.",
        "Whether a reader lags behind: a session that reads its own write may not find it there.",
    ),
    Kind.CACHE: (
        "Whether the application tolerates answers as old as cache_ttl, even after its own session"
        " changed the rows.",
        "How many answers the cache keeps: one for each query text, user and schema. The estimate"
        " assumes a single one, and queries that come evenly.",
        "Whether ProxySQL caches them: not if they are prepared statements, and empty answers only"
        " with mysql-query_cache_stores_empty_result.",
    ),
    Kind.SLOW: (
        "Why it is slow: ask EXPLAIN on the server. Time spent waiting for locks counts as query"
        " time, too.",
    ),
}
"""What digests do not tell."""
_LONGEST_TEXT = 300


def rules_yaml(layout: Layout, rules: Sequence[Cells]) -> str:
    """Return rules as a section of our files, one a line: however wide, they are to be pasted."""
    rows = [rule_row(layout, cells) for cells in rules]
    return "\n".join(["mysql_query_rules:", *row_lines(layout, rows)]) + "\n"


def suggest_text(found: Suggestions, style: Style = PLAIN, *, width: int = WIDTH) -> str:
    """Return the suggestions by kind, each with its evidence; and the rules to paste."""
    title = printable(
        f"{found.table.name}  ProxySQL {found.table.version}:"
        f" {counted(len(found.found), 'suggestion')} from"
        f" {counted(len(found.table.rows), 'entry')},"
        f" {counted(found.total.count_star, 'query')}, {time_text(found.total.sum_time)}"
    )
    lines = [*(style("bold", line) for line in wrapped(title, width)), ""]
    for kind, heading in _HEADINGS.items():
        lines += _kind_lines(found, kind, heading, style, width)
    if not found.found:
        lines += ["Nothing to suggest.", ""]
    if found.proof:
        lines += [*wrapped(found.proof, width), ""]
    for kind in dict.fromkeys(one.kind for one in found.found):
        lines.append(style("dim", f"What digests do not tell, for {_HEADINGS[kind]}:"))
        for text in _UNKNOWN[kind]:
            lines += wrapped(text, width, first="  - ", then="    ")
        lines.append("")
    for note in found.notes:
        lines += wrapped(f"note: {printable(note)}", width, then="      ")
    return "\n".join(lines).rstrip("\n") + "\n"


def _kind_lines(
    found: Suggestions, kind: Kind, heading: str, style: Style, width: int
) -> Iterator[str]:
    some = [one for one in found.found if one.kind is kind]
    if not some:
        return
    yield style("bold", heading.upper())
    for one in some:
        text = f"{one.digest}  {shown(one.digest_text, limit=_LONGEST_TEXT)}"
        yield from wrapped(text, width, first=f"  {style('change', '*')} ", then="    ")
        says = one.says
        if kind is not Kind.SLOW and one.rule is None:
            says += " No rule changes only this digest."
        yield from wrapped(printable(says), width, first="    ", then="    ")
        yield ""
    if kind in found.left_out:
        yield from (f"  ... {found.left_out[kind]:,} more (--limit lists more)", "")
    if rules := [one.rule for one in some if one.rule]:
        yield "  Paste into the files:"
        yaml = rules_yaml(found.layout, rules)
        yield from (style("add", f"    {line}") for line in yaml.splitlines())
        yield ""


def suggest_json(found: Suggestions) -> str:
    """Return the suggestions; `rule` by column, `yaml` the same to paste."""
    made = [
        SUGGESTION.encode(one, yaml=rules_yaml(found.layout, [one.rule]) if one.rule else None)
        for one in found.found
    ]
    return SUGGESTIONS.document(found, suggestions=made)


SUGGESTIONS: Shape[Suggestions] = Shape(
    "digest suggest",
    f"{INSTANCE} taken_at digests count_star sum_time suggestions left_out proof notes",
    **{name: attrgetter(f"table.{name}") for name in (*INSTANCE.split(), "taken_at")},
    digests=lambda one: len(one.table.rows),
    count_star=attrgetter("total.count_star"),
    sum_time=attrgetter("total.sum_time"),
    proof=lambda one: one.proof or None,
)
SUGGESTION: Shape[Suggestion] = Shape(
    "suggestion",
    "kind digest digest_text evidence says rule yaml",
    rule=lambda one: (
        {name: value for name, value in one.rule.items() if value is not None} if one.rule else None
    ),
)
