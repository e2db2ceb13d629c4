r"""The plain texts in a pattern: what each match begins with, and what stands in each match.

`^SELECT c FROM t(1|2) WHERE` begins with `SELECT c FROM t` and holds ` WHERE`, too. Groups, classes
and whatever else is no plain text only end the text before them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<one> \\. | \[\^?\]?(?:\[:\w+:\]|\\.|[^\]\\])*\] | . )
        (?P<count> (?: [*+?] | \{\d*,?\d*\} ) [+?]? )?""",
    re.VERBOSE | re.DOTALL,
)
_NOT_READ = re.compile(r"\(\*|\(\?[-a-zA-Z^]+\)|\\[QE]|\0")
"""Verbs, switches such as `(?x)`, and quoting: they change how the rest is read."""

_CONTROLS = {"\\n": "\n", "\\r": "\r", "\\t": "\t"}
_SPECIAL = frozenset(".^$|()[]{}*+?\\")


@dataclass(frozen=True)
class Literals:
    """The plain texts in a pattern.

    Shape: each match begins with `first`, at the beginning of the text if `is_anchored`, and holds
    every one of `runs`, the first of which is `first` unless that is empty. `last` is the run that
    ends the pattern, '' if something else does; `is_closed`: a `$` stands behind it.
    """

    is_caseless: bool
    is_anchored: bool = False
    first: str = ""
    runs: tuple[str, ...] = ()
    last: str = ""
    is_closed: bool = False
    is_plain: bool = False
    """Whether the pattern is `first` and nothing else, but for `^` and a `.*` at its end."""

    def covers(self, other: Literals) -> bool:
        """Return whether this matches whatever the other one matches, as far as texts show."""
        if not self.is_plain:
            return False
        if not self.first:
            return True
        if not self.is_caseless and other.is_caseless:
            return False
        if self.is_anchored and not other.is_anchored:
            return False
        mine, its = self.first, other.first
        if self.is_caseless:
            mine, its = mine.lower(), its.lower()
        return its.startswith(mine)


def literals_of(pattern: str, *, is_caseless: bool) -> Literals:
    """Return the plain texts in a pattern that compiles; none where it is not read."""
    nothing = Literals(is_caseless)
    if _NOT_READ.search(pattern):
        return nothing
    is_anchored = pattern.startswith("^")
    body = pattern[1:] if is_anchored else pattern
    runs = [""]
    depth = 0
    is_plain = True
    is_closed = False
    for found in _TOKEN.finditer(body):
        one, count = found["one"], found["count"]
        if one in "()":
            depth += 1 if one == "(" else -1
        if depth == 0 and one == "|":
            return nothing
        letter = None if depth else _letter(one)
        is_closed = depth == 0 and one == "$" and found.end() == len(body)
        if letter is None or count:
            is_rest = (one, count) == (".", "*") and found.end() == len(body)
            is_plain = is_plain and is_rest
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


def _letter(one: str) -> str | None:
    """Return the character that a part of a pattern stands for, None if it is no plain text."""
    if one in _CONTROLS:
        return _CONTROLS[one]
    letter = one[1:] if one.startswith("\\") else one
    if len(letter) != 1 or not letter.isascii():
        return None
    is_escaped = one != letter
    return None if (letter.isalnum() if is_escaped else letter in _SPECIAL) else letter
