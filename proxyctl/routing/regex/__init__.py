"""Compile and match regular expressions as ProxySQL's engines do.

Only this package imports the engines, and only with the first pattern: most commands need none.
"""

from __future__ import annotations

import re
from enum import StrEnum

from proxyctl.catalog import REFERENCE, Version, releases
from proxyctl.routing.regex.pattern import BadPattern, Broken, Compiled, MatchSpan, Spans, as_bytes

__all__ = [
    "CONTROL_FIX",
    "BadPattern",
    "Broken",
    "Compiled",
    "MatchSpan",
    "Patterns",
    "RegexEngine",
    "Spans",
    "as_bytes",
    "compile_pattern",
    "control_problem",
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
    r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\\.|[^]\\])*(?:\]|\Z)"
    r"|(?P<found>\)(?:[*+]|\{[0-9]+,\})(?!\+))",
    re.DOTALL,
)


_CONTROL = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]")
_CONTROL_NAMES = {"\b": r"a backspace, which is what `\b` means in double quotes"}

CONTROL_FIX = "write the pattern in single quotes, where a backslash stays a backslash"


class RegexEngine(StrEnum):
    """A regular expression engine of ProxySQL; the value is its name in messages."""

    PCRE = "PCRE"
    PCRE2 = "PCRE2"
    RE2 = "RE2"


def engine_for(value: object, version: Version = REFERENCE) -> RegexEngine:
    """Return the engine that ProxySQL uses for this value of query_processor_regex."""
    if str(value) == "2":
        return RegexEngine.RE2
    return RegexEngine.PCRE2 if version.has(releases.PCRE2) else RegexEngine.PCRE


def never_matches_if_broken(version: Version) -> bool:
    """Return whether a pattern that does not compile never matches, even negated.

    In earlier releases a negated pattern that does not compile matches every query.
    """
    return version.has(releases.PCRE2)


def control_problem(pattern: str) -> str | None:
    """Return what is wrong with a pattern that holds a control character; None without one.

    Nobody types one into a pattern, and no query has one outside of quotes.
    """
    match = _CONTROL.search(pattern)
    if match is None:
        return None
    character = rf"the control character \x{ord(match[0]):02x}"
    return f"contains {_CONTROL_NAMES.get(match[0], character)}"


def is_plain(pattern: bytes) -> bool:
    """Return whether the pattern is so simple that all engines surely compile it.

    Most rules have such a pattern: words, dots, anchors and escaped punctuation. A compiler needs
    ten times as long to decide that, and must be imported first.
    """
    return _PLAIN.fullmatch(pattern) is not None


def repeats_a_group(pattern: str) -> bool:
    """Return whether a group such as `(a|b)+` repeats without bound.

    PCRE recurses for each repetition; some thousands overflow the stack of a ProxySQL thread, and
    the process ends. PCRE2 does not recurse, nor does PCRE for a group with `*+`, which gives
    nothing back.
    Source: ProxySQL 2.7.1 with PCRE 8.45, run with mysql-stacksize at its default.
    """
    return any(token["found"] for token in _REPEATED_GROUP.finditer(pattern))


def compile_pattern(pattern: bytes, engine: RegexEngine, *, caseless: bool = True) -> Compiled:
    """Compile the pattern of a rule. Raises: BadPattern if ProxySQL cannot compile it."""
    if engine is not RegexEngine.RE2:
        from proxyctl.routing.regex.pcre import Pcre2Pattern, PcrePattern

        kind = PcrePattern if engine is RegexEngine.PCRE else Pcre2Pattern
        return kind(pattern, caseless=caseless)

    from proxyctl.routing.regex.re2 import Re2Pattern

    return Re2Pattern(pattern, caseless=caseless)


class Patterns:
    """Compiles patterns for one engine, each pattern once."""

    def __init__(self, engine: RegexEngine) -> None:
        self._engine = engine
        self._known: dict[tuple[str, bool], Compiled] = {}

    def compiled(self, pattern: str, *, caseless: bool) -> Compiled:
        """Return the compiled pattern, or a `Broken` one."""
        key = (pattern, caseless)
        if key not in self._known:
            text = as_bytes(pattern)
            try:
                compiled = compile_pattern(text, self._engine, caseless=caseless)
            except BadPattern as problem:
                compiled = Broken(problem)
            self._known[key] = compiled
        return self._known[key]
