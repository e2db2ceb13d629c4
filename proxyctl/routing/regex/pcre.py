"""ProxySQL's default engine: PCRE 8.x through pcrecpp, from 3.0.12 on PCRE2.

Python's PCRE2 matches. PCRE and PCRE2 read usual patterns alike; only such a pattern counts as
verified. `translation` translates any other pattern from PCRE 8.x to PCRE2 as well as it can.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pcre2

from proxyctl.routing.regex.pattern import BadPattern, Spans, rewritten
from proxyctl.routing.regex.translation import Translation, for_re2

_VERIFIED = re.compile(
    rb"""(?:
        (?:
            [^\\^$.|?*+()\[{\0]
          | \.
          | \\ (?: [dDwWsShHvVnrtfea] | [^0-9A-Za-z\0] )
          | \[ \^?+ (?: \\[dDwWsS\].^$*+?(){}|/\\-] (?!-) | [^][\\\0-] (?! - [^]]) (?:-(?=]))?
                     | \[:(?:alpha|digit|alnum|lower|upper|space|punct|word):\] (?!-)
                     | [0-9]-9 | [a-z]-z | [A-Z]-Z | 0-[0-8] | a-[a-y] | A-[A-Y] )+ \]
          | \)
        )
        (?: (?: [*+?] | \{[0-9]{1,4}(?:,[0-9]{0,4})?\} ) [+?]? )? (?![*+?{])
      | [|^$] (?![*+?{])
      | \\[bBAzZ] (?![*+?{])
      | \( (?: \?(?: [:=!>] | [ims]+\) (?![*+?{]) ) )? (?![*+?{])
    )*""",
    re.VERBOSE | re.DOTALL,
)
"""The usual patterns, which PCRE and PCRE2 read alike.

No group is possessive: Python before 3.11.5 matches them wrongly.
"""

_MOST_STEPS = 10_000_000
"""PCRE's MATCH_LIMIT for each place where a match may begin; PCRE gives up after it."""

_STEPS = (30, 250, 2_000, 16_000, 130_000, 1_000_000, _MOST_STEPS)
"""The limits for one place, tried in order, so that a long text stays fast."""

_QUICK_BUDGET = 30_000_000
"""The most steps for all places of a text in the first attempt: a second."""

_BUDGET = 100_000_000
"""The most steps for one match after that: three seconds."""

_MAX_KNOWN = 17
_ALL_KNOWN = 25
"""pcrecpp has room for 16 groups; if more take part in a match, a template may name any group."""

_Match = Any
"""A match of the binding, which has no types."""


class _NoAnswer(Exception):  # noqa: N818 - an answer, as BadPattern is
    """A match needs more steps than proxyctl tries."""


def is_verified(pattern: bytes) -> bool:
    """Return whether PCRE and PCRE2 surely read the pattern alike, or both refuse it."""
    return _VERIFIED.fullmatch(pattern) is not None


class PcrePattern:
    """A compiled pattern that matches as in ProxySQL."""

    _is_pcre2 = False

    def __init__(self, pattern: bytes, *, caseless: bool) -> None:
        """Compile it. Raises: BadPattern."""
        pattern = pattern.partition(b"\0")[0]
        self.is_verified = is_verified(pattern)
        self._flags = pcre2.IGNORECASE if caseless else 0
        self._by_steps: dict[int, Any] = {}
        is_alike = self.is_verified or self._is_pcre2
        translation = None if is_alike else Translation(pattern)
        self._text = translation.text if translation else pattern
        try:
            compiled = pcre2.compile(self._text, self._flags, jit=False)
        except pcre2.PatternError as error:
            place = translation.place(error.pos) if translation else error.pos
            raise BadPattern(str(error.msg).rpartition("; ")[2], place) from None
        self.groups = int(compiled.groups)

    @property
    def for_re2(self) -> bytes | None:
        """A pattern for RE2 that matches at least where this one does; None if there is none."""
        return for_re2(self._text, caseless=self._flags != 0)

    def matches(self, subject: bytes) -> bool | None:
        """Return whether it matches somewhere in the subject; None: it needs too many steps."""
        try:
            return self._first(subject.partition(b"\0")[0]) is not None
        except _NoAnswer:
            return None

    def search(self, subject: bytes) -> Spans | None:
        """Return the spans of the first match and its groups; None without a known match."""
        try:
            match = self._first(subject.partition(b"\0")[0])
        except _NoAnswer:
            return None
        return None if match is None else self._spans(match)

    def replace(self, template: bytes, subject: bytes, *, every: bool) -> bytes | None:
        r"""Return the subject with the first match, or every match, rewritten; None: undecided.

        It is a mistake if the template names a group after the last group of the match; with PCRE2,
        a group that the pattern does not have.
        """
        template = template.partition(b"\0")[0]
        subject = subject.partition(b"\0")[0]
        out = []
        at = 0
        try:
            for match in self._every(subject) if every else self._only_first(subject):
                start, end = match.span()
                text, is_valid = self._rewritten(template, subject, match)
                if not is_valid and (self._is_pcre2 or not every):
                    return subject
                out += [subject[at:start], text]
                at = end
        except _NoAnswer:
            return None
        return b"".join(out) + subject[at:]

    def _rewritten(self, template: bytes, subject: bytes, match: _Match) -> tuple[bytes, bool]:
        """Return the text for one match, and whether the template is valid."""
        if b"\\" not in template:
            return template, True
        spans = self._spans(match)
        if self._is_pcre2:
            return rewritten(template, subject, spans, len(spans))
        known = max(number for number, span in enumerate(spans) if span != (-1, -1)) + 1
        return rewritten(template, subject, spans, known if known <= _MAX_KNOWN else _ALL_KNOWN)

    def _spans(self, match: _Match) -> Spans:
        return tuple(map(match.span, range(self.groups + 1)))

    def _first(self, subject: bytes) -> _Match | None:
        """Return the first match. Raises: _NoAnswer."""
        try:
            return self._quick(len(subject)).search(subject)
        except pcre2.LibraryError:
            return self._from_each_place(subject)

    def _only_first(self, subject: bytes) -> Iterator[_Match]:
        match = self._first(subject)
        if match is not None:
            yield match

    def _every(self, subject: bytes) -> Iterator[_Match]:
        """Yield the matches in order. Raises: _NoAnswer."""
        try:
            yield from self._quick(len(subject)).finditer(subject)
        except pcre2.LibraryError:
            raise _NoAnswer from None

    def _quick(self, size: int) -> Any:  # noqa: ANN401 - the binding has no types
        for steps in reversed(_STEPS):
            if steps * (size + 1) <= _QUICK_BUDGET:
                return self._limited(steps)
        return self._limited(_STEPS[0])

    def _limited(self, steps: int) -> Any:  # noqa: ANN401 - the binding has no types
        if steps not in self._by_steps:
            text = b"(*LIMIT_MATCH=%d)%b" % (steps, self._text)
            self._by_steps[steps] = pcre2.compile(text, self._flags, jit=False)
        return self._by_steps[steps]

    def _from_each_place(self, subject: bytes) -> _Match | None:
        """Return the first match, with many steps only at the places that need them.

        The first attempt alone has no answer for `^SELECT.*FROM orders` and a query of 20 KB.
        Raises: _NoAnswer.
        """
        spent = 0
        for place in range(len(subject) + 1):
            for steps in _STEPS:
                spent += steps
                if spent > _BUDGET:
                    raise _NoAnswer
                try:
                    match = self._limited(steps).match(subject, place)
                except pcre2.LibraryError:
                    if steps == _MOST_STEPS:
                        raise _NoAnswer from None
                    continue
                if match is not None:
                    return match
                break
        return None


class Pcre2Pattern(PcrePattern):
    """A compiled pattern of a ProxySQL with PCRE2.

    Source: pull request 6120; such a ProxySQL was never run.
    """

    _is_pcre2 = True
