"""What comes of matching one pattern with one text."""

from __future__ import annotations

from enum import Enum


class Verdict(Enum):
    """Whether a pattern matches. Everything but MATCH is no match; two say that it came to harm."""

    MATCH = "matches"
    NO_MATCH = "does not match"
    GAVE_UP = "gives up: too much backtracking"
    """PCRE stops after ten million steps from one place, and ProxySQL takes that for no match."""
    CRASH = "overflows the stack: ProxySQL ends"
    """PCRE1 recurses once or more for each turn of a repeated group, on a thread's small stack."""
    ENDLESS = "takes so long that it is not followed to the end here"
    """Below PCRE's limit at each place, but at so many places that ProxySQL is busy for seconds."""


class Stopped(Exception):  # noqa: N818 - an answer, as BadPattern is
    """A match was not carried through."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.value)
        self.verdict = verdict
