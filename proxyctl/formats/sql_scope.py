"""A scope of `manage:` -> the SQL condition that is true for just the rows that the files own."""

from __future__ import annotations

from proxyctl.catalog import Layout
from proxyctl.state.row import Glob, Scope, Span, Term
from proxyctl.state.sql import literal, quoted_name


def condition(layout: Layout, scope: Scope | None) -> str | None:
    """Return the condition; None when the whole table is ours.

    Raises: ValueError for a scope that is not given as data.
    """
    if scope is None:
        return None
    if not scope.terms:
        raise ValueError(f"the scope of {layout.name} cannot be said in SQL: {scope.text}")
    columns = []
    for name, terms in scope.terms.items():
        choices = [_term(quoted_name(name), term) for term in terms]
        columns.append(choices[0] if len(choices) == 1 else f"({' OR '.join(choices)})")
    return " AND ".join(columns)


def _term(column: str, term: Term) -> str:
    match term:
        case Span(low, high):
            return f"{column}>={low} AND {column}<={high}"
        case Glob(pattern):
            return f"{column} GLOB {literal(sqlite_glob(pattern))}"
        case _:
            return f"{column}={literal(term)}"


def sqlite_glob(pattern: str) -> str:
    """Return the pattern as SQLite's GLOB reads it.

    The two agree but for classes: `[!a]` is `[^a]` there, `^` at the beginning has to move, and a
    `[` without its end matches nothing instead of itself.
    """
    parts: list[str] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        position += 1
        if character != "[":
            parts.append(character)
            continue
        start = position + (pattern[position : position + 1] == "!")
        end = pattern.find("]", start + 1)
        if end < 0:
            parts.append("[[]")
            continue
        parts.append(_class(pattern[start:end], is_negated=start > position))
        position = end + 1
    return "".join(parts)


_NOTHING = "[^\x01-\U0010ffff]"
_SPECIAL = "]^-"


def _class(content: str, *, is_negated: bool) -> str:
    """Return a class of characters: `]` first, `^` not first and `-` last, to stand for themselves.

    A range that runs backwards holds nothing; SQLite would take its first character.
    """
    singles: dict[str, None] = {}
    ranges: list[str] = []
    position = 0
    while position < len(content):
        low, high = content[position], content[position]
        if content[position + 1 : position + 2] == "-" and position + 2 < len(content):
            high = content[position + 2]
            position += 2
        position += 1
        while low in _SPECIAL and low < high:
            singles[low] = None
            low = chr(ord(low) + 1)
        if low == high:
            singles[low] = None
        elif low < high:
            ranges.append(f"{low}-{high}")
    bracket, caret, hyphen = (c if singles.pop(c, 0) is None else "" for c in _SPECIAL)
    inside = bracket + "".join(singles) + "".join(ranges)
    if is_negated:
        return f"[^{inside}{caret}{hyphen}]" if inside + caret + hyphen else "?"
    if inside:
        return f"[{inside}{caret}{hyphen}]"
    if hyphen:
        return f"[{hyphen}{caret}]"
    return caret or _NOTHING
