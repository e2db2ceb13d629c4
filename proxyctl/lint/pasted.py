"""Patterns that are digest texts, pasted."""

from __future__ import annotations

import re

from proxyctl.lint.subject import RuleRow
from proxyctl.routing.digest import Digester
from proxyctl.routing.regex.pattern import as_bytes

_REGEX_ONLY = re.compile(r"[\\|\[\]{}]|\.[*+?]|\)[*+?]|\(\?[^,) ]|[*+?]\?")
"""Syntax of patterns that hardly any digest text contains."""

_VALUE = re.compile(
    r"""(?: [=<>(,] | \b (?: LIMIT | LIKE | BETWEEN | AND | OFFSET | INTERVAL | SELECT | VALUES | IN
        | THEN | ELSE | WHEN ) ) \ ? \?
      | \(\*\) | \b SELECT\ \*\  """,
    re.VERBOSE | re.IGNORECASE,
)
"""A `?` where digest texts have a value, or a `*` for all columns."""

_DIGESTER = Digester()


def looks_pasted(row: RuleRow, text: str) -> bool:
    """Return whether a pattern, read as plain text, is a digest text with a value in it."""
    literal = _literal(text)
    if row.rule is None or _REGEX_ONLY.search(literal) or not _VALUE.search(literal):
        return False
    as_text = as_bytes(literal)
    return _DIGESTER.digest(as_text).text == as_text


def is_pasted(row: RuleRow, column: str) -> bool:
    """Return whether a pattern looks like a digest text that it does not match."""
    text = row.text(column)
    if text is None or ("?" not in text and "*" not in text) or not looks_pasted(row, text):
        return False
    pattern = getattr(row.rule, column)
    return pattern is not None and not pattern.matches(as_bytes(_literal(text)))


def _literal(text: str) -> str:
    return text.removeprefix("^").removesuffix("$")
