"""Regular expressions as ProxySQL's engines read them.

This package alone knows the engines: what compiles in them, and what a pattern matches. They are
imported with the first pattern, since most commands meet none.
"""

from __future__ import annotations

import re
from enum import StrEnum

from proxyctl.catalog import REFERENCE, Version, releases
from proxyctl.routing.regex.pattern import BadPattern, Broken, Compiled, Span, Spans, as_bytes

__all__ = [
    "BadPattern",
    "Broken",
    "Compiled",
    "Engine",
    "Patterns",
    "Span",
    "Spans",
    "as_bytes",
    "compile_pattern",
    "engine_for",
    "is_plain",
    "never_matches_if_broken",
    "repeats_a_group",
]

_PLAIN = re.compile(
    rb"""(?:
        [\t\n\ !-#%-',\-/0-9:->@A-Z\]_`a-z}~]
      | \\ [!-/:-@\[-^`{-~]
      | \. [*+?]? \??
      | [\^$] (?! [*+?] )
    ){0,999}""",
    re.VERBOSE,
)

_REPEATED_GROUP = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\\.|[^]\\])*(?:\]|\Z)|(?P<found>\)(?:[*+]|\{[0-9]+,\}))",
    re.DOTALL,
)


class Engine(StrEnum):
    """A regular expression engine of ProxySQL; the value is how people call it."""

    PCRE = "PCRE"
    PCRE2 = "PCRE2"
    RE2 = "RE2"


def engine_for(value: object, version: Version = REFERENCE) -> Engine:
    """Return the engine of a ProxySQL for its value of query_processor_regex."""
    if str(value) == "2":
        return Engine.RE2
    return Engine.PCRE2 if version.has(releases.PCRE2) else Engine.PCRE


def never_matches_if_broken(version: Version) -> bool:
    """Return whether a pattern that does not compile never matches, also when negated.

    Before, a negated one matches every query.
    """
    return version.has(releases.PCRE2)


def is_plain(pattern: bytes) -> bool:
    """Return whether all engines compile the pattern for sure, seen at a glance.

    Most rules have such a pattern: words, dots, anchors and escaped punctuation. A compiler takes
    ten times as long to say so, and has to be imported first.
    """
    return _PLAIN.fullmatch(pattern) is not None


def repeats_a_group(pattern: str) -> bool:
    """Return whether a group such as `(a|b)+` repeats without bound.

    PCRE recurses for each turn, and some thousands of turns overflow the stack of a thread of
    ProxySQL: the process ends. PCRE2 does not.
    Source: ProxySQL 2.7.1 with PCRE 8.45, run with mysql-stacksize at its default.
    """
    return any(found["found"] for found in _REPEATED_GROUP.finditer(pattern))


def compile_pattern(pattern: bytes, engine: Engine, *, caseless: bool = True) -> Compiled:
    """Compile the pattern of a rule. Raises: BadPattern if ProxySQL cannot."""
    if engine is not Engine.RE2:
        from proxyctl.routing.regex.pcre import Pcre2Pattern, PcrePattern

        kind = PcrePattern if engine is Engine.PCRE else Pcre2Pattern
        return kind(pattern, caseless=caseless)

    from proxyctl.routing.regex.re2 import Re2Pattern

    return Re2Pattern(pattern, caseless=caseless)


class Patterns:
    """Compiles patterns for one engine; rules that share a pattern share the compiled one."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[tuple[str, bool], Compiled] = {}

    def compiled(self, pattern: str, *, caseless: bool) -> Compiled:
        """Return the compiled pattern, or a `Broken` one."""
        key = (pattern, caseless)
        if key not in self._known:
            text = as_bytes(pattern)
            try:
                made = compile_pattern(text, self._engine, caseless=caseless)
            except BadPattern as problem:
                made = Broken(problem)
            self._known[key] = made
        return self._known[key]
