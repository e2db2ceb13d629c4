"""Patterns as ProxySQL's default engine reads them: PCRE 8.x through pcrecpp, from 3.0.12 on PCRE2.

Python's PCRE2 does the work. What most people write both read alike; only such a pattern counts as
verified. For PCRE 8.x `translation` puts any other into PCRE2's words as well as it can.
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
"""Patterns that PCRE and PCRE2 read alike: what most people write.

No group is possessive: Python before 3.11.5 goes wrong with those.
"""

_MOST_STEPS = 10_000_000
"""PCRE's MATCH_LIMIT, for each place where a match may begin; beyond it PCRE gives up."""

_STEPS = (30, 250, 2_000, 16_000, 130_000, 1_000_000, _MOST_STEPS)
"""How many steps a place is given: a few at first, so that a long text stays quick."""

_QUICK_BUDGET = 30_000_000
"""Steps that all places of a text together may take at first: a second."""

_BUDGET = 100_000_000
"""Steps that are spent on one match where that was not enough: three seconds at most."""

_MAX_KNOWN = 17
_ALL_KNOWN = 25
"""pcrecpp has room for 16 groups; when more took part, it lets a template name any."""

_Match = Any
"""A match of the binding, which has no types."""


class _NoAnswer(Exception):  # noqa: N818 - an answer, as BadPattern is
    """A match takes more steps than are tried here."""


def is_verified(pattern: bytes) -> bool:
    """Return whether PCRE and PCRE2 are known to read the pattern alike, and to refuse it alike."""
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
        """A pattern for RE2 that matches wherever this one does; None if a part is not known."""
        return for_re2(self._text, caseless=self._flags != 0)

    def matches(self, subject: bytes) -> bool | None:
        """Return whether it matches somewhere in the subject; None: too many steps to tell."""
        try:
            return self._first(subject.partition(b"\0")[0]) is not None
        except _NoAnswer:
            return None

    def search(self, subject: bytes) -> Spans | None:
        """Return where the first match and its groups are; None without one that can be told."""
        try:
            found = self._first(subject.partition(b"\0")[0])
        except _NoAnswer:
            return None
        return None if found is None else self._spans(found)

    def replace(self, template: bytes, subject: bytes, *, every: bool) -> bytes | None:
        r"""Return the subject with the first match, or every match, rewritten; None: not told.

        A group behind the last that took part in the match is a mistake in the template; with
        PCRE2 one that the pattern does not have.
        """
        template = template.partition(b"\0")[0]
        subject = subject.partition(b"\0")[0]
        out = []
        at = 0
        try:
            for found in self._every(subject) if every else self._only_first(subject):
                start, end = found.span()
                text, is_valid = self._rewritten(template, subject, found)
                if not is_valid and (self._is_pcre2 or not every):
                    return subject
                out += [subject[at:start], text]
                at = end
        except _NoAnswer:
            return None
        return b"".join(out) + subject[at:]

    def _rewritten(self, template: bytes, subject: bytes, found: _Match) -> tuple[bytes, bool]:
        """Return the text for one match, and whether the template had no mistake."""
        if b"\\" not in template:
            return template, True
        spans = self._spans(found)
        if self._is_pcre2:
            return rewritten(template, subject, spans, len(spans))
        known = max(number for number, span in enumerate(spans) if span != (-1, -1)) + 1
        return rewritten(template, subject, spans, known if known <= _MAX_KNOWN else _ALL_KNOWN)

    def _spans(self, found: _Match) -> Spans:
        return tuple(map(found.span, range(self.groups + 1)))

    def _first(self, subject: bytes) -> _Match | None:
        """Return the first match. Raises: _NotTold."""
        try:
            return self._quick(len(subject)).search(subject)
        except pcre2.LibraryError:
            return self._from_each_place(subject)

    def _only_first(self, subject: bytes) -> Iterator[_Match]:
        found = self._first(subject)
        if found is not None:
            yield found

    def _every(self, subject: bytes) -> Iterator[_Match]:
        """Yield the matches, one behind the other. Raises: _NotTold."""
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
        """Return the first match, with many steps only at those places that need them.

        Raises: _NotTold.
        """
        spent = 0
        for place in range(len(subject) + 1):
            for steps in _STEPS:
                spent += steps
                if spent > _BUDGET:
                    raise _NoAnswer
                try:
                    found = self._limited(steps).match(subject, place)
                except pcre2.LibraryError:
                    if steps == _MOST_STEPS:
                        raise _NoAnswer from None
                    continue
                if found is not None:
                    return found
                break
        return None


class Pcre2Pattern(PcrePattern):
    """The same where ProxySQL itself has PCRE2.

    Source: pull request 6120. No such ProxySQL was run.
    """

    _is_pcre2 = True
