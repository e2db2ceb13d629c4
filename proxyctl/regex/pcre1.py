"""Patterns as ProxySQL's default engine takes them: PCRE1 8.x through pcrecpp.

Python's PCRE2 does the work; `pcre1_syntax` puts the pattern into its words where they differ.
"""

from __future__ import annotations

import re

import pcre2

from proxyctl.regex.bad_pattern import BadPattern
from proxyctl.regex.pcre1_limits import Found, LimitedPattern
from proxyctl.regex.pcre1_syntax import Translation
from proxyctl.regex.rewriting import rewritten
from proxyctl.regex.spans import Spans
from proxyctl.regex.verdict import Stopped, Verdict
from proxyctl.regex.wider import Wider, widened

_PLAIN = re.compile(
    rb"""(?:
        (?:
            [^\\^$.|?*+()\[{\0]
          | \.
          | \\ (?: [dDwWsShHvVnrtfea] | [^0-9A-Za-z\0] )
          | \[ \^?+ (?: \\[dDwWsS\].^$*+?(){}|/\\-] (?!-) | [^][\\\0-] (?! - [^]]) (?:-(?=]))?
                     | [0-9]-9 | [a-z]-z | [A-Z]-Z | 0-[0-8] | a-[a-y] | A-[A-Y] )+ \]
          | \)
        )
        (?: (?: [*+?] | \{[0-9]{1,4}(?:,[0-9]{0,4})?\} ) [+?]? )? (?![*+?{])
      | [|^$] (?![*+?{])
      | \\[bBAzZ] (?![*+?{])
      | \( (?: \?(?: [:=!>] | i\) (?![*+?{]) ) )? (?![*+?{])
    )*""",
    re.VERBOSE | re.DOTALL,
)
"""Patterns that both engines read alike, and most people write; all others are translated.

No group is possessive: Python before 3.11.5 goes wrong with those.
"""


_MAX_KNOWN = 17
_ALL_KNOWN = 25
"""pcrecpp has room for 16 groups; when more took part, it lets a template name any."""


class Pcre1Pattern:
    """A compiled pattern that matches as in ProxySQL.

    A match that is not carried through (too much backtracking) is none, as in ProxySQL.
    """

    def __init__(self, pattern: bytes, *, caseless: bool) -> None:
        """Compile it. Raises: BadPattern."""
        pattern = pattern.partition(b"\0")[0]
        flags = pcre2.IGNORECASE if caseless else 0
        translation = None
        text = pattern
        if not _PLAIN.fullmatch(pattern):
            translation = Translation(pattern)
            text = translation.text
        try:
            self._compiled = LimitedPattern(text, flags)
        except pcre2.PatternError as error:
            place = translation.place(error.pos) if translation else error.pos
            raise BadPattern(str(error.msg).rpartition("; ")[2], place) from None
        self._text = text
        self._caseless = caseless

    @property
    def groups(self) -> int:
        """How many capturing groups there are."""
        return self._compiled.groups

    @property
    def may_overflow(self) -> bool:
        """Whether a long text can overflow the stack of ProxySQL."""
        return self._compiled.repeats_a_group

    def wider(self) -> Wider | None:
        """Return what RE2 may look for in its stead: it matches wherever this does, and beyond."""
        return widened(self._text, caseless=self._caseless)

    def judge(self, subject: bytes) -> Verdict:
        """Return whether it matches somewhere in the subject, or what stops ProxySQL."""
        try:
            found = self._compiled.first(subject.partition(b"\0")[0])
        except Stopped as stopped:
            return stopped.verdict
        return Verdict.NO_MATCH if found is None else Verdict.MATCH

    def matches(self, subject: bytes) -> bool:
        """Return whether it matches somewhere in the subject."""
        return self.judge(subject) is Verdict.MATCH

    def search(self, subject: bytes) -> Spans | None:
        r"""Return where the first match and its groups are, or None.

        A `\K` in a look-around, with which PCRE1 moves the start of the match, is not followed.
        """
        try:
            found = self._compiled.first(subject.partition(b"\0")[0])
        except Stopped:
            return None
        return None if found is None else tuple(map(found.span, range(self.groups + 1)))

    def replace(self, template: bytes, subject: bytes, *, every: bool) -> bytes:
        r"""Return the subject with the first match, or every match, rewritten.

        A group behind the last that took part in the match is a mistake in the template.
        """
        template = template.partition(b"\0")[0]
        subject = subject.partition(b"\0")[0]
        out = []
        at = 0
        try:
            for found in self._compiled.every(subject):
                start, end = found.span()
                text, is_valid = template, True
                if b"\\" in template:
                    text, is_valid = self._rewritten(template, subject, found)
                if not every and not is_valid:
                    return subject
                out += [subject[at:start], text]
                at = end
                if not every:
                    break
        except Stopped:
            pass  # ProxySQL's PCRE gives up as well, and keeps what was replaced before
        return b"".join(out) + subject[at:]

    def _rewritten(self, template: bytes, subject: bytes, found: Found) -> tuple[bytes, bool]:
        """Return the text for one match, and whether the template had no mistake."""
        spans = tuple(map(found.span, range(self.groups + 1)))
        known = max(number for number, span in enumerate(spans) if span != (-1, -1)) + 1
        return rewritten(template, subject, spans, known if known <= _MAX_KNOWN else _ALL_KNOWN)
