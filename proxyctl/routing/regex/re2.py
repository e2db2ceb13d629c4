"""ProxySQL's other engine: RE2 of December 2022, in UTF-8.

Python's RE2 is newer. 100,000 generated patterns showed one difference: it accepts a group named
(?<name>...), while ProxySQL's RE2 accepts only (?P<name>...). Sets of RE2 search for the patterns
of both engines.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import re2

from proxyctl.routing.regex.pattern import BadPattern, Compiled, Spans, highest_group, rewritten

_TOKENS = re.compile(
    rb"\\Q.*?(?:\\E|\Z)"
    rb"|\\([1-9])|\\."
    rb"|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^]\\])*(?:\]|\Z)"
    rb"|\(\?(<?[=!]|[<>])",
    re.DOTALL,
)
"""The syntax that RE2 lacks, and the syntax to skip before it: quoted text, escapes, classes.

A class without an end extends to the end of the pattern: a search for the end from each of many
brackets would be slow, and RE2 refuses such a pattern anyway.
"""

_LACKS = {
    b"<": "RE2 in ProxySQL accepts named groups only as (?P<name>...)",
    b">": "RE2 does not support atomic groups",
}
_NO_LOOKING = "RE2 does not support look-around"
_NO_REFERENCES = "RE2 does not support back references"


class Re2Pattern:
    """A compiled pattern that matches as in ProxySQL."""

    is_verified = True

    def __init__(self, pattern: bytes, *, caseless: bool) -> None:
        """Compile it. Raises: BadPattern."""
        pattern = pattern.partition(b"\0")[0]
        self._pattern = pattern
        self._caseless = caseless
        self._caseful: Any = None
        if b"(?<" in pattern:
            _refuse_unsupported(pattern)
        try:
            self._compiled: Any = _compile(pattern, caseless=caseless)
        except re2.error as error:
            _refuse_unsupported(pattern)
            reason = error.args[0]
            if isinstance(reason, bytes):
                reason = reason.decode("utf-8", "replace")
            raise BadPattern(str(reason)) from None

    @property
    def groups(self) -> int:
        """The number of capturing groups."""
        return int(self._compiled.groups)

    @property
    def for_re2(self) -> bytes:
        """The pattern as a member of a set of patterns."""
        return b"(?i)" + self._pattern if self._caseless else self._pattern

    def matches(self, subject: bytes) -> bool:
        """Return whether it matches somewhere in the subject."""
        return self._compiled.search(subject.partition(b"\0")[0]) is not None

    def search(self, subject: bytes) -> Spans | None:
        """Return the spans of the first match and its groups; None without a match."""
        match = self._compiled.search(subject.partition(b"\0")[0])
        return None if match is None else tuple(map(match.span, range(self.groups + 1)))

    def replace(self, template: bytes, subject: bytes, *, every: bool) -> bytes:
        r"""Return the subject with the first match, or every match, rewritten.

        ProxySQL compiles the pattern again for this, without CASELESS, so a rule can match and
        replace nothing.
        """
        template = template.partition(b"\0")[0]
        subject = subject.partition(b"\0")[0]
        known = highest_group(template) + 1
        if known > self.groups + 1:
            return subject
        if self._caseful is None:
            self._caseful = _compile(self._pattern, caseless=False)
        out = []
        at = 0
        last = -1
        while at <= len(subject) and (match := self._caseful.search(subject, at)):
            spans = tuple(map(match.span, range(known)))
            start, end = spans[0]
            out.append(subject[at:start])
            if start == end == last:  # no empty match directly after another match
                at = _next_character(subject, start)
                out.append(subject[start:at])
                last = -1
                continue
            text, is_valid = rewritten(template, subject, spans, known)
            if not every:
                return b"".join([*out, text, subject[end:]]) if is_valid else subject
            out.append(text)
            at = last = end
        return b"".join(out) + subject[at:]


def _next_character(subject: bytes, at: int) -> int:
    """Return the index after the character at `at`; a byte that is not UTF-8 is a character."""
    for size in (1, 2, 3, 4):
        try:
            subject[at : at + size].decode()
        except UnicodeDecodeError:
            continue
        return at + size
    return at + 1


def _compile(pattern: bytes, *, caseless: bool) -> Any:  # noqa: ANN401 - the binding has no types
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not caseless
    return re2.compile(pattern, options)


def _refuse_unsupported(pattern: bytes) -> None:
    """Raise for syntax that ProxySQL's RE2 does not know. Raises: BadPattern."""
    for token in _TOKENS.finditer(pattern):
        if token[1]:
            raise BadPattern(_NO_REFERENCES, token.start())
        if token[2]:
            raise BadPattern(_LACKS.get(token[2], _NO_LOOKING), token.start())


# Search a text for many patterns at once ---------------------------------------------------------

_MAX_PATTERNS = 1_000
_MAX_BYTES = 100_000
_MEMORY = 64 << 20


class Prefilter:
    """Selects the patterns of one engine that may match a text, by their place in a sequence.

    RE2 tests hundreds of patterns in the time of one, and in time linear in the text. Each pattern
    has a form for RE2 that matches at least where the pattern matches.
    """

    def __init__(self, patterns: Sequence[Compiled], *, latin1: bool) -> None:
        texts = [pattern.for_re2 for pattern in patterns]
        self.unfiltered: list[int] = [place for place, text in enumerate(texts) if text is None]
        """The patterns that are always tried."""
        self._chunks: list[tuple[Any, list[int]]] = []
        for chunk in _chunks([(n, text) for n, text in enumerate(texts) if text is not None]):
            self._add(chunk, latin1=latin1)

    def _add(self, chunk: list[tuple[int, bytes]], *, latin1: bool) -> None:
        search_set = re2.Set.SearchSet(_options(latin1=latin1))
        search_set.Add(b"")  # matches everything: without it RE2 ran out of memory
        places: list[int] = []
        for place, text in chunk:
            try:
                search_set.Add(text)
            except re2.error:
                self.unfiltered.append(place)
            else:
                places.append(place)
        if not places:
            return
        try:
            search_set.Compile()
        except re2.error:
            if len(chunk) == 1:
                self.unfiltered.append(places[0])
                return
            self._add(chunk[: len(chunk) // 2], latin1=latin1)
            self._add(chunk[len(chunk) // 2 :], latin1=latin1)
        else:
            self._chunks.append((search_set, places))

    def may_match(self, subject: bytes) -> Collection[int]:
        """Return the filtered patterns that may match; the others do not match."""
        subject = subject.partition(b"\0")[0]
        candidates: list[int] = []
        for search_set, places in self._chunks:
            numbers = search_set.Match(subject)
            if not numbers or 0 not in numbers:
                candidates += places
            elif len(numbers) > 1:
                candidates += [places[number - 1] for number in numbers if number]
        return candidates


def _options(*, latin1: bool) -> Any:  # noqa: ANN401 - the binding has no types
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    if latin1:
        options.encoding = re2.Options.Encoding.LATIN1
    return options


def _chunks(patterns: Iterable[tuple[int, bytes]]) -> Iterable[list[tuple[int, bytes]]]:
    chunk: list[tuple[int, bytes]] = []
    size = 0
    for place, text in patterns:
        if chunk and (len(chunk) == _MAX_PATTERNS or size + len(text) > _MAX_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append((place, text))
        size += len(text)
    if chunk:
        yield chunk
