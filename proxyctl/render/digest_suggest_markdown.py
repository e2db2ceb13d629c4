"""Suggestions as markdown, for a ticket or a page."""

from __future__ import annotations

import re
from collections.abc import Iterator

from proxyctl.render.digest_suggest_text import (
    HEADINGS,
    RulesText,
    short_text,
    title,
)
from proxyctl.stats.suggest.found import Kind, Suggestion, Suggestions
from proxyctl.text import printable

_MARKED = re.compile(r"([\\`*_{}\[\]<>#|!~&])")


def suggest_markdown(found: Suggestions, rules_text: RulesText) -> str:
    """Return the suggestions; text of the server is escaped, or stands in a block of code."""
    lines = [f"# {_plain(title(found))}", ""]
    for kind in Kind:
        some = [one for one in found.found if one.kind is kind]
        if not some:
            continue
        lines += [f"## {HEADINGS[kind].capitalize()}", ""]
        for one in some:
            lines += _lines(one, rules_text)
        if kind in found.left_out:
            lines += [f"{found.left_out[kind]:,} more: `--limit`.", ""]
    if not found.found:
        lines += ["Nothing to suggest.", ""]
    if found.proof:
        lines += [_plain(found.proof), ""]
    if found.unknown:
        lines += ["## Not known from digests", ""]
        lines += [
            f"- {HEADINGS[kind].capitalize()}: {_plain(text)}"
            for kind, texts in found.unknown.items()
            for text in texts
        ]
        lines.append("")
    if found.notes:
        lines += ["## Notes", "", *(f"- {_plain(note)}" for note in found.notes), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _lines(one: Suggestion, rules_text: RulesText) -> Iterator[str]:
    yield f"### {_plain(one.title)}"
    yield ""
    if one.digest:
        yield from (*_fenced("sql", short_text(one)), "", f"Digest `{one.digest}`.", "")
    for text in (*one.says, one.proof):
        if text:
            yield from (_plain(text), "")
    yield from ("| evidence | value |", "| --- | --- |")
    for name, value in one.evidence.items():
        yield f"| {name} | {_plain('' if value is None else str(value))} |"
    yield ""
    if one.rules:
        yield from ("Paste into the files:", "")
        yield from (*_fenced("yaml", rules_text(one.rules).rstrip("\n")), "")


def _fenced(language: str, text: str) -> tuple[str, str, str]:
    """Return a block of code whose fence is longer than any in the text."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{language}", text, fence


def _plain(text: str) -> str:
    return _MARKED.sub(r"\\\1", printable(text))
