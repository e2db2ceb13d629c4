"""Suggestions for people on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from proxyctl.catalog import Value
from proxyctl.render.style import PLAIN, Style
from proxyctl.render.wrapped import wrapped
from proxyctl.stats.suggest.found import Kind, Suggestion, Suggestions
from proxyctl.stats.units import count_text, time_text
from proxyctl.text import printable

RulesText = Callable[[Sequence[Mapping[str, Value]]], str]
"""Rules as YAML to paste: a section mysql_query_rules."""

HEADINGS = {
    Kind.READS: "READS ON A WRITER",
    Kind.CACHE: "WORTH CACHING",
    Kind.SLOW: "SLOWER THAN THEIR PEERS",
}
WIDTH = 100
"""Of a line, unless told. Rules stand on one line each, to be pasted."""
_LONGEST_TEXT = 300


def suggest_text(
    found: Suggestions, rules_text: RulesText, style: Style = PLAIN, *, width: int = WIDTH
) -> str:
    """Return the suggestions: heading, digest, evidence, what is not known, and rules to paste."""
    lines = [*(style("bold", line) for line in wrapped(title(found), width)), ""]
    for kind in Kind:
        some = [one for one in found.found if one.kind is kind]
        if not some:
            continue
        lines.append(style("bold", HEADINGS[kind]))
        for one in some:
            lines += _lines(one, rules_text, style, width)
        if kind in found.left_out:
            lines += [f"  ... {found.left_out[kind]:,} more: --limit", ""]
    if not found.found:
        lines += ["Nothing to suggest.", ""]
    if found.proof:
        lines += [*wrapped(found.proof, width), ""]
    for kind, texts in found.unknown.items():
        lines.append(style("dim", f"not known from digests, {HEADINGS[kind].lower()}:"))
        for text in texts:
            lines += wrapped(text, width, first="  - ", then="    ")
        lines.append("")
    for note in found.notes:
        lines += wrapped(f"note: {printable(note)}", width, then="      ")
    return "\n".join(lines).rstrip("\n") + "\n"


def title(found: Suggestions) -> str:
    """Return the first line: where this is from, and how much of it there is."""
    return printable(
        f"{found.name}  ProxySQL {found.version}: {count_text(len(found.found), 'suggestion')} from"
        f" {count_text(found.digests, 'digest')}, {count_text(found.count_star, 'call')},"
        f" {time_text(found.sum_time)}"
    )


def short_text(one: Suggestion) -> str:
    """Return the digest text on one line; empty where there is none."""
    text = printable(one.digest_text)
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 3] + "..."


def _lines(one: Suggestion, rules_text: RulesText, style: Style, width: int) -> Iterator[str]:
    yield "  " + style("change", "*") + " " + printable(one.title)
    if one.digest:
        yield from wrapped(
            f"{one.digest}  {short_text(one)}",
            width,
            first="    ",
            then="      ",
        )
    for text in (*one.says, one.proof):
        if text:
            yield from wrapped(printable(text), width, first="    ", then="    ")
    if one.rules:
        yield "    " + "Paste into the files:"
        yield from (style("add", f"      {line}") for line in rules_text(one.rules).splitlines())
    yield ""
