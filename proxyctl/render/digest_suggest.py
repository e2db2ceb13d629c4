"""Suggestions from digests: the evidence, what a replay shows, and rules to paste."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

from proxyctl.catalog import Value
from proxyctl.errors import counted
from proxyctl.render.encode import INSTANCE, Shape
from proxyctl.render.style import PLAIN, WIDTH, Style, shown, wrapped
from proxyctl.stats.suggest.context import Kind, Suggestion, Suggestions
from proxyctl.stats.units import time_text
from proxyctl.text import printable

RulesText = Callable[[Sequence[Mapping[str, Value]]], str]
"""Rules as YAML to paste: a section mysql_query_rules."""

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
        "Whether procedures, triggers or events write to the tables: writes are counted by the"
        " names in digest texts.",
        "Whether the application tolerates answers as old as cache_ttl, even after its own session"
        " changed the rows.",
        "How many different values each `?` stands for: the cache keeps one answer per query text."
        " The estimate assumes a single value, so it is an upper limit.",
        "Whether the queries are prepared statements: ProxySQL does not cache those.",
        "Whether answers are empty: mysql-query_cache_stores_empty_result says whether those are"
        " cached.",
    ),
    Kind.SLOW: (
        "Why it is slow: ask EXPLAIN on the server. Time spent waiting for locks counts as query"
        " time, too.",
        "Whether all its queries are slow or only a few: ProxySQL keeps an average and a maximum,"
        " no percentiles.",
    ),
}
"""What digests do not tell."""
_LONGEST_TEXT = 300


def _title(found: Suggestions) -> str:
    """Return the first line: where this is from, and how much of it there is."""
    return printable(
        f"{found.name}  ProxySQL {found.version}: {counted(len(found.found), 'suggestion')} from"
        f" {counted(found.digests, 'entry')}, {counted(found.count_star, 'query')},"
        f" {time_text(found.sum_time)}"
    )


def _by_kind(found: Suggestions) -> Iterator[tuple[Kind, list[Suggestion]]]:
    for kind in Kind:
        if some := [one for one in found.found if one.kind is kind]:
            yield kind, some


def _common(some: Sequence[Suggestion]) -> list[str]:
    """Return the sentences that hold for every one of several suggestions."""
    if len(some) < 2:
        return []
    return [text for text in some[0].says if all(text in one.says for one in some)]


def _rules(some: Sequence[Suggestion]) -> list[Mapping[str, Value]]:
    return [rule for one in some for rule in one.rules]


def _digest_text(one: Suggestion) -> str:
    return shown(one.digest_text, limit=_LONGEST_TEXT) if one.digest_text else ""


# -- Text.


def suggest_text(
    found: Suggestions, rules_text: RulesText, style: Style = PLAIN, *, width: int = WIDTH
) -> str:
    """Return the suggestions by kind: what holds for all, each with its evidence, rules to paste.

    Rules take one line each, however wide: they are to be pasted.
    """
    lines = [*(style("bold", line) for line in wrapped(_title(found), width)), ""]
    for kind, some in _by_kind(found):
        lines.append(style("bold", _HEADINGS[kind].upper()))
        common = _common(some)
        for text in common:
            lines += wrapped(printable(text), width, first="  ", then="  ")
        for title, alike in groupby(some, key=attrgetter("title")):
            lines.append(f"  {style('change', '*')} {printable(title)}")
            for one in alike:
                lines += _text_lines(one, common, width)
        if kind in found.left_out:
            lines += [f"  ... {found.left_out[kind]:,} more (--limit lists more)", ""]
        if rules := _rules(some):
            lines.append("  Paste into the files:")
            lines += (style("add", f"    {line}") for line in rules_text(rules).splitlines())
            lines.append("")
    if not found.found:
        lines += ["Nothing to suggest.", ""]
    if found.proof:
        lines += [*wrapped(found.proof, width), ""]
    for kind, _ in _by_kind(found):
        lines.append(style("dim", f"What digests do not tell, for {_HEADINGS[kind]}:"))
        for text in _UNKNOWN[kind]:
            lines += wrapped(text, width, first="  - ", then="    ")
        lines.append("")
    for note in found.notes:
        lines += wrapped(f"note: {printable(note)}", width, then="      ")
    return "\n".join(lines).rstrip("\n") + "\n"


def _text_lines(one: Suggestion, common: Sequence[str], width: int) -> Iterator[str]:
    if one.digest:
        text = f"{one.digest}  {_digest_text(one)}"
        yield from wrapped(text, width, first="    ", then="      ")
    own = [text for text in (*one.says, one.proof) if text and text not in common]
    if own:
        yield from wrapped(printable(" ".join(own)), width, first="    ", then="    ")
    yield ""


# -- JSON.


def suggest_json(found: Suggestions, rules_text: RulesText) -> str:
    """Return the suggestions; `rules` by column, `yaml` the same to paste."""
    made = [
        SUGGESTION.encode(one, yaml=rules_text(one.rules) if one.rules else None)
        for one in found.found
    ]
    return SUGGESTIONS.document(found, suggestions=made)


SUGGESTIONS: Shape[Suggestions] = Shape(
    "digest suggest",
    f"{INSTANCE} taken_at digests count_star sum_time suggestions left_out proof notes",
    proof=lambda one: one.proof or None,
)
SUGGESTION: Shape[Suggestion] = Shape(
    "suggestion",
    "kind title digest digest_text evidence says rules yaml proof",
    digest=lambda one: one.digest or None,
    digest_text=lambda one: one.digest_text or None,
    rules=lambda one: [
        {name: value for name, value in cells.items() if value is not None} for cells in one.rules
    ],
    proof=lambda one: one.proof or None,
)
