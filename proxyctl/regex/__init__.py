"""Regular expressions as ProxySQL's two engines take them.

This package alone knows the engines: what compiles in them, and what a pattern matches. They are
imported with the first pattern, since most commands meet none.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from proxyctl.regex.bad_pattern import BadPattern
from proxyctl.regex.spans import Span, Spans

__all__ = ["BadPattern", "Compiled", "Engine", "Span", "Spans", "compile_pattern"]


class Engine(StrEnum):
    """A regular expression engine of ProxySQL; the value is how people call it."""

    PCRE = "PCRE"
    RE2 = "RE2"


class Compiled(Protocol):
    """A pattern that compiled. It works on bytes, as ProxySQL does, and stops at a NUL."""

    @property
    def groups(self) -> int:
        """How many capturing groups there are."""

    def matches(self, subject: bytes) -> bool:
        """Return whether it matches somewhere in the subject."""

    def search(self, subject: bytes) -> Spans | None:
        """Return where the first match and its groups are, or None."""

    def replace(self, template: bytes, subject: bytes, *, every: bool) -> bytes:
        """Return the subject with the first match, or every match (GLOBAL), rewritten."""


def compile_pattern(pattern: bytes, engine: Engine, *, caseless: bool = True) -> Compiled:
    """Compile the pattern of a rule. Raises: BadPattern if ProxySQL cannot."""
    if engine is Engine.PCRE:
        from proxyctl.regex.pcre1 import Pcre1Pattern

        return Pcre1Pattern(pattern, caseless=caseless)

    from proxyctl.regex.old_re2 import Re2Pattern

    return Re2Pattern(pattern, caseless=caseless)
