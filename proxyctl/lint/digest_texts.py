r"""What no digest text holds, and which patterns therefore match none.

What stands in `/*! ... */` is copied nearly as it is, and does not count here.
Source: ProxySQL 2.7.1; the tests hold it against the digests of random queries.
"""

from __future__ import annotations

import re
from enum import Enum

from proxyctl.lint.literals import Literals
from proxyctl.routing.digest import DigestOptions


class Kind(Enum):
    """What a pattern asks for in vain."""

    QUOTED = "quoted text"
    NUMBER = "a number"
    COMMENT = "a comment"
    SPACING = "blanks"
    END = "a semicolon or a blank at the end"
    CASE = "capital letters"
    DIGIT = "digits"


_QUOTE = re.compile(r"['\"]")
_DIGIT = re.compile(r"[0-9]")
_NUMBER = re.compile(r"(?<=[^\w$.])[0-9]+(?=[^\w$.])")
_NUMBER_LAST = re.compile(r"(?<=[^\w$.])[0-9]+\Z")
_CAPITAL = re.compile(r"[A-Z]")
_COMMENT = re.compile(r"/\*|#")
_SPACING = re.compile(r"[\t\r\n]| [ ),]|[(,] ")


def why_never(literals: Literals, options: DigestOptions) -> Kind | None:
    """Return what a pattern asks for that no digest text has; None: it may match one."""
    runs = literals.runs
    asked = [
        (Kind.QUOTED, _has(_QUOTE, runs)),
        (Kind.DIGIT, options.no_digits and _has(_DIGIT, runs)),
        (Kind.NUMBER, _has(_NUMBER, runs) or _has(_NUMBER_LAST, (literals.last,))),
        (Kind.CASE, options.lowercase and not literals.is_caseless and _has(_CAPITAL, runs)),
    ]
    if not options.keep_comment:
        begins = literals.is_anchored and literals.first.startswith(" ")
        ends = literals.is_closed and literals.last.endswith((" ", ";"))
        asked += [
            (Kind.COMMENT, _has(_COMMENT, runs)),
            (Kind.SPACING, begins or _has(_SPACING, runs)),
            (Kind.END, ends),
        ]
    return next((kind for kind, is_asked in asked if is_asked), None)


def _has(what: re.Pattern[str], runs: tuple[str, ...]) -> bool:
    return any(what.search(run) for run in runs)
