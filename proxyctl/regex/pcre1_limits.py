"""Matching within bounds: where PCRE1 gives up, where it overflows the stack, and never for ever.

PCRE1 counts steps anew at each place where a match may begin, and gives up if one place takes ten
million. It recurses for each turn of a repeated group such as `(a|b)+`, and ProxySQL's threads
have a small stack: some 1,000 to 5,000 turns end the process.
Source: ProxySQL 2.7.1 with PCRE 8.45, run: with mysql-stacksize at its default of 1 MiB, patterns
crashed it from 2,305 nested steps on, as PCRE2 counts them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pcre2

from proxyctl.regex.verdict import Stopped, Verdict

STEPS = 10_000_000
"""PCRE's MATCH_LIMIT, for each place where a match may begin."""

NESTED_STEPS = 2_304
"""How deep PCRE1 can recurse in 1 MiB of stack."""

_QUICK_BUDGET = 30_000_000
"""Steps that a match may take at first, at all places together: a second."""

_BUDGET = 100_000_000
"""Steps that are spent on one match where that was not enough: three seconds at most."""

_SHORT = 1_000
"""Up to this length PCRE1 looks first whether a byte that a match needs is there at all.

PCRE2 does so for longer texts, too, and would not see where PCRE1 overflows the stack.
"""

_OUT_OF_STEPS = -47
_TOO_DEEP = -53

_REPEATED_GROUP = re.compile(rb"\)[*+{]|\(\?(?:R|&|P>|[+-]?[0-9])|\\g[<']")

Found = Any
"""A match of the binding, which has no types."""


class LimitedPattern:
    """A pattern in PCRE2's words, compiled once for each limit that was needed."""

    def __init__(self, text: bytes, flags: int) -> None:
        """Compile it. Raises: pcre2.PatternError, with a position in `text`."""
        self._text = text
        self._flags = flags
        self._variants: dict[tuple[int, bytes], Any] = {}
        """Compiled, by limit and further settings."""
        self.repeats_a_group = _REPEATED_GROUP.search(text) is not None
        """Whether the stack that a match takes grows with the text."""
        self._usual = self._variant(_quick_limit(_SHORT))

    @property
    def groups(self) -> int:
        """How many capturing groups there are."""
        return int(self._usual.groups)

    def first(self, subject: bytes) -> Found | None:
        """Return the first match, or None. Raises: Stopped."""
        try:
            return self._quick(len(subject)).search(subject)
        except pcre2.LibraryError as error:
            _continue_if_out_of_steps(error)
        return self._from_each_place(subject, 0, b"")

    def every(self, subject: bytes) -> Iterator[Found]:
        """Yield the matches, one behind the other. Raises: Stopped, perhaps behind some of them."""
        at, settings = 0, b""
        try:
            for found in self._quick(len(subject)).finditer(subject):
                yield found
                at, settings = _behind(found)
        except pcre2.LibraryError as error:
            _continue_if_out_of_steps(error)
            while at <= len(subject):
                found = self._from_each_place(subject, at, settings)
                if found is None:
                    return
                yield found
                at, settings = _behind(found)
                if settings and at == len(subject):
                    return

    def _quick(self, size: int) -> Any:  # noqa: ANN401 - the binding has no types
        if size <= _SHORT:
            return self._usual
        return self._variant(_quick_limit(size), self._settings(size))

    def _settings(self, size: int) -> bytes:
        return b"(*NO_START_OPT)" if size > _SHORT and self.repeats_a_group else b""

    def _variant(self, limit: int, settings: bytes = b"") -> Any:  # noqa: ANN401
        key = (limit, settings)
        if key not in self._variants:
            limits = b"(*LIMIT_MATCH=%d)(*LIMIT_DEPTH=%d)" % (limit, NESTED_STEPS)
            prefix = limits + settings
            try:
                compiled = pcre2.compile(prefix + self._text, self._flags, jit=False)
            except pcre2.PatternError as error:
                error.pos = max(0, error.pos - len(prefix))
                raise
            self._variants[key] = compiled
        return self._variants[key]

    def _from_each_place(self, subject: bytes, start: int, settings: bytes) -> Found | None:
        """Return the first match from `start` on, with more steps where they are needed.

        Raises: Stopped.
        """
        usual = self._settings(len(subject))
        limit = _quick_limit(len(subject))
        spent = 0
        for place in range(start, len(subject) + 1):
            found, limit = self._at_place(subject, place, usual + settings, limit)
            if found is not None:
                return found
            settings = b""
            spent += limit
            if spent > _BUDGET:
                raise Stopped(Verdict.ENDLESS)
        return None

    def _at_place(
        self, subject: bytes, place: int, settings: bytes, limit: int
    ) -> tuple[Found | None, int]:
        """Return the match at one place, and the limit that was enough. Raises: Stopped."""
        while True:
            try:
                return self._variant(limit, settings).match(subject, place), limit
            except pcre2.LibraryError as error:
                _continue_if_out_of_steps(error)
            if limit >= STEPS:
                raise Stopped(Verdict.GAVE_UP)
            limit = min(2 * limit, STEPS)


def _quick_limit(size: int) -> int:
    """Return so few steps that all places of a text together stay within the budget."""
    most = max(_QUICK_BUDGET // max(size, _SHORT), 16)
    return 1 << (most.bit_length() - 1)  # a power of two, so that there are few variants


def _behind(found: Found) -> tuple[int, bytes]:
    """Return where to go on, and how: an empty match is not found a second time."""
    start, end = found.span()
    return end, b"(*NOTEMPTY_ATSTART)" if start == end else b""


def _continue_if_out_of_steps(error: pcre2.LibraryError) -> None:
    """Return if more steps may help. Raises: Stopped."""
    if error.code == _TOO_DEEP:
        raise Stopped(Verdict.CRASH) from None
    if error.code != _OUT_OF_STEPS:
        raise Stopped(Verdict.GAVE_UP) from None
