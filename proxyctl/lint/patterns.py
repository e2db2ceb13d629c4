r"""What the text of a pattern shows: its plain texts, a pasted digest, words of SQL.

Each match of `^SELECT c FROM t(1|2) WHERE` begins with `SELECT c FROM t` and contains ` WHERE`.
Groups, classes and other syntax only end the plain text before them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from proxyctl.routing.digest import Digester, DigestOptions
from proxyctl.routing.regex import as_bytes

if TYPE_CHECKING:
    from proxyctl.lint.subject import RuleRow

_TOKEN = re.compile(
    r"""(?P<atom> \\. | \[\^?\]?(?:\[:\w+:\]|\\.|[^\]\\])*\] | . )
        (?P<count> (?: [*+?] | \{\d*,?\d*\} ) [+?]? )?""",
    re.VERBOSE | re.DOTALL,
)
_UNSUPPORTED = re.compile(r"\(\*|\(\?[-a-zA-Z^]+\)|\\[QE]|\0")
"""Verbs, switches such as `(?x)`, and quoting: they change what the text behind them means."""

_CONTROLS = {"\\n": "\n", "\\r": "\r", "\\t": "\t"}
_SPECIAL = frozenset(".^$|()[]{}*+?\\")


@dataclass(frozen=True)
class Literals:
    """The plain texts in a pattern.

    Shape: each match begins with `first`, at the beginning of the text if `is_anchored`, and
    contains all `runs`; the first run is `first` unless that is empty. `last` is the run at the
    end of the pattern, '' if the pattern ends otherwise; `is_closed`: a `$` follows it.
    """

    is_caseless: bool
    is_anchored: bool = False
    first: str = ""
    runs: tuple[str, ...] = ()
    last: str = ""
    is_closed: bool = False
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
    """Return the plain texts in a pattern that compiles; none if its syntax is not supported."""
    no_literals = Literals(is_caseless)
    if _UNSUPPORTED.search(pattern):
        return no_literals
    is_anchored = pattern.startswith("^")
    body = pattern[1:] if is_anchored else pattern
    runs = [""]
    depth = 0
    is_plain = True
    is_closed = False
    for token in _TOKEN.finditer(body):
        atom, count = token["atom"], token["count"]
        if atom in "()":
            depth += 1 if atom == "(" else -1
        if depth == 0 and atom == "|":
            return no_literals
        letter = None if depth else _letter(atom)
        is_closed = depth == 0 and atom == "$" and token.end() == len(body)
        if letter is None or count:
            is_open_end = (atom, count) == (".", "*") and token.end() == len(body)
            is_plain = is_plain and is_open_end
        if letter is not None and count in (None, "+"):
            runs[-1] += letter
        if (letter is None and not is_closed) or count:
            runs.append("")
    return Literals(
        is_caseless,
        is_anchored,
        runs[0],
        tuple(run for run in runs if run),
        runs[-1],
        is_closed,
        is_plain,
    )


def _letter(atom: str) -> str | None:
    """Return the character that an atom of a pattern matches, None if it is no plain text."""
    if atom in _CONTROLS:
        return _CONTROLS[atom]
    letter = atom[1:] if atom.startswith("\\") else atom
    if len(letter) != 1 or not letter.isascii():
        return None
    is_escaped = atom != letter
    return None if (letter.isalnum() if is_escaped else letter in _SPECIAL) else letter


# What digest texts never contain ------------------------------------------------------------------
class Never(NamedTuple):
    """A kind of text that no digest text contains, and the fix.

    Shape: `{side}` in the text stands for mysql or pgsql.
    """

    text: str
    fix: str


_FOR_A_VALUE = r"write \? for the value, or use match_pattern"
QUOTED = Never("a quoted text, where digest texts have `?`", _FOR_A_VALUE)
NUMBER = Never("a number, where digest texts have `?`", _FOR_A_VALUE)
COMMENT = Never("a comment, which digest texts lose", "use match_pattern")
SPACING = Never(
    "spaces that no digest text has",
    "write one space between words, none beside parentheses and commas, no line breaks",
)
END = Never("a `;` or a space at the end, which digest texts lose", "leave it out")
CAPITAL = Never(
    "capital letters, which {side}-query_digests_lowercase removes",
    "set re_modifiers: CASELESS, or write the pattern in lower case",
)
DIGIT = Never(
    "a digit, which {side}-query_digests_no_digits removes",
    r"write \? for it, or use match_pattern",
)


def why_never(literals: Literals, options: DigestOptions) -> Never | None:
    """Return why a pattern matches no digest text; None if it may match one.

    Text in `/*! ... */` is not considered: ProxySQL copies it nearly unchanged.
    Source: ProxySQL 2.7.1; the tests hold it against the digests of random queries.
    """
    runs, first, last = literals.runs, literals.first, literals.last
    number = r"(?<=[^\w$.])[0-9]+"
    reasons = [
        (QUOTED, _has(r"['\"]", *runs)),
        (DIGIT, options.no_digits and _has(r"[0-9]", *runs)),
        (NUMBER, _has(number + r"(?=[^\w$.])", *runs) or _has(number + r"\Z", last)),
        (CAPITAL, options.lowercase and not literals.is_caseless and _has(r"[A-Z]", *runs)),
    ]
    if not options.keep_comment:
        starts_with_space = literals.is_anchored and first.startswith(" ")
        reasons += [
            (COMMENT, _has(r"/\*|#", *runs)),
            (SPACING, starts_with_space or _has(r"[\t\r\n]| [ ),]|[(,] ", *runs)),
            (END, literals.is_closed and last.endswith((" ", ";"))),
        ]
    return next((never for never, applies in reasons if applies), None)


def _has(pattern: str, *runs: str) -> bool:
    return any(re.search(pattern, run) for run in runs)


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
