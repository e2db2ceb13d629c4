r"""What the text of a pattern shows: its plain beginning, a pasted digest, words of SQL.

Each match of `^SELECT c FROM t(1|2) WHERE` begins with `SELECT c FROM t`. Groups, classes and other
syntax only end the plain text before them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from proxyctl.routing.digest import Digester
from proxyctl.routing.regex.pattern import as_bytes
from proxyctl.routing.rule import Rule

_TOKEN = re.compile(
    r"""(?P<words> [0-9A-Za-z_\ ]{2,} (?! [*+?{] ) )
      | (?P<atom> \\. | \[\^?\]?(?:\[:\w+:\]|\\.|[^\]\\])*\] | . )
        (?P<count> (?: [*+?] | \{\d*,?\d*\} ) [+?]? )?""",
    re.VERBOSE | re.DOTALL,
)
_UNSUPPORTED = re.compile(r"\(\*|\(\?[-a-zA-Z^]+\)|\\[QE]|\0")
"""Verbs, switches such as `(?x)`, and quoting: they change what the text behind them means."""

_CONTROLS = {"\\n": "\n", "\\r": "\r", "\\t": "\t"}
_SPECIAL = frozenset(".^$|()[]{}*+?\\")


@dataclass(frozen=True)
class Literals:
    """The plain text at the beginning of a pattern."""

    is_caseless: bool
    """Whether the pattern matches upper and lower case alike."""
    is_anchored: bool = False
    """Whether each match is at the beginning of the text."""
    first: str = ""
    """The text that each match begins with."""
    is_plain: bool = False
    """Whether the pattern is only `first`, with or without `^` before and `.*` behind it."""

    def covers(self, other: Literals) -> bool:
        """Return whether this pattern matches all that the other one matches, by plain texts."""
        if not self.is_plain:
            return False
        if not self.first:
            return True
        if not self.is_caseless and other.is_caseless:
            return False
        if self.is_anchored and not other.is_anchored:
            return False
        mine, theirs = self.first, other.first
        if self.is_caseless:
            mine, theirs = mine.lower(), theirs.lower()
        return theirs.startswith(mine)


def literals_of(pattern: str, *, is_caseless: bool) -> Literals:
    """Return the plain text of a pattern that compiles; none if its syntax is not supported."""
    no_literals = Literals(is_caseless)
    if _UNSUPPORTED.search(pattern):
        return no_literals
    is_anchored = pattern.startswith("^")
    body = pattern[1:] if is_anchored else pattern
    first = ""
    depth = 0
    has_ended, is_plain = False, True
    for token in _TOKEN.finditer(body):
        if token["words"]:
            first += token["words"] if depth == 0 and not has_ended else ""
            continue
        atom, count = token["atom"], token["count"]
        if atom in "()":
            depth += 1 if atom == "(" else -1
        if depth == 0 and atom == "|":
            return no_literals
        letter = None if depth else _letter(atom)
        if letter is None or count:
            is_open_end = (atom, count) == (".", "*") and token.end() == len(body)
            is_plain = is_plain and is_open_end
        if letter is not None and count in (None, "+") and not has_ended:
            first += letter
        has_ended = has_ended or letter is None or bool(count)
    return Literals(is_caseless, is_anchored, first, is_plain)


def _letter(atom: str) -> str | None:
    """Return the character that an atom of a pattern matches, None if it is no plain text."""
    if atom in _CONTROLS:
        return _CONTROLS[atom]
    letter = atom[1:] if atom.startswith("\\") else atom
    if len(letter) != 1 or not letter.isascii():
        return None
    is_escaped = atom != letter
    return None if (letter.isalnum() if is_escaped else letter in _SPECIAL) else letter


# Digest texts, pasted -----------------------------------------------------------------------------
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


def looks_pasted(rule: Rule | None, text: str) -> bool:
    """Return whether a pattern, read as plain text, is a digest text with a value in it."""
    literal = _literal(text)
    if rule is None or _REGEX_ONLY.search(literal) or not _VALUE.search(literal):
        return False
    as_text = as_bytes(literal)
    return _DIGESTER.digest(as_text).text == as_text


def is_pasted(rule: Rule | None, column: str, text: str | None) -> bool:
    """Return whether a pattern looks like a digest text that it does not match."""
    if text is None or ("?" not in text and "*" not in text) or not looks_pasted(rule, text):
        return False
    pattern = getattr(rule, column)
    return pattern is not None and not pattern.matches(as_bytes(_literal(text)))


def _literal(text: str) -> str:
    return text.removeprefix("^").removesuffix("$")


_SQL_WORD = re.compile(
    r"""all|and|as|begin|between|by|call|case|columns|commit|count|create|database|delete|desc
        |describe|distinct|drop|explain|from|group|having|in|insert|interval|into|join|key|kill
        |left|like|limit|load|lock|max|min|not|on|optimize|or|order|rename|replace|right|rollback
        |select|set|show|start|sum|table|tables|transaction|trigger|truncate|union|unlock|update
        |use|user|values|variables|view|where|with|write""",
    re.VERBOSE | re.IGNORECASE,
)


def is_sql_word(word: str) -> bool:
    """Return whether a word is SQL rather than the name of a table."""
    return _SQL_WORD.fullmatch(word) is not None
