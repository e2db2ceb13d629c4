"""Regular expressions as ProxySQL's two engines take them.

This package alone knows the engines: what compiles in them, and what a pattern matches. They are
imported with the first pattern, since most commands meet none.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from proxyctl.regex.bad_pattern import BadPattern
from proxyctl.regex.spans import Span, Spans
from proxyctl.regex.verdict import Verdict

if TYPE_CHECKING:
    from proxyctl.regex.wider import Wider

__all__ = [
    "BadPattern",
    "Compiled",
    "Engine",
    "Span",
    "Spans",
    "Verdict",
    "compile_pattern",
    "is_plain",
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


class Engine(StrEnum):
    """A regular expression engine of ProxySQL; the value is how people call it."""

    PCRE = "PCRE"
    RE2 = "RE2"


class Compiled(Protocol):
    """A pattern that compiled. It works on bytes, as ProxySQL does, and stops at a NUL."""

    @property
    def groups(self) -> int:
        """How many capturing groups there are."""

    @property
    def may_overflow(self) -> bool:
        """Whether a long text can overflow the stack of ProxySQL."""

    def wider(self) -> Wider | None:
        """Return a pattern for RE2 that matches wherever this does, or None: see `PatternSet`."""

    def judge(self, subject: bytes) -> Verdict:
        """Return whether it matches somewhere in the subject, or what stops ProxySQL."""

    def matches(self, subject: bytes) -> bool:
        """Return whether it matches somewhere in the subject."""

    def search(self, subject: bytes) -> Spans | None:
        """Return where the first match and its groups are, or None."""

    def replace(self, template: bytes, subject: bytes, *, every: bool) -> bytes:
        """Return the subject with the first match, or every match (GLOBAL), rewritten."""


def is_plain(pattern: bytes) -> bool:
    """Return whether both engines compile the pattern for sure, seen at a glance.

    Most rules have such a pattern: words, dots, anchors and escaped punctuation. A compiler takes
    ten times as long to say so, and has to be imported first.
    """
    return _PLAIN.fullmatch(pattern) is not None


def compile_pattern(pattern: bytes, engine: Engine, *, caseless: bool = True) -> Compiled:
    """Compile the pattern of a rule. Raises: BadPattern if ProxySQL cannot."""
    if engine is Engine.PCRE:
        from proxyctl.regex.pcre1 import Pcre1Pattern

        return Pcre1Pattern(pattern, caseless=caseless)

    from proxyctl.regex.old_re2 import Re2Pattern

    return Re2Pattern(pattern, caseless=caseless)
