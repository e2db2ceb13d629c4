"""Many patterns, one text: which of them are worth a try.

RE2 tests hundreds of patterns in the time of one, and in time linear in the text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import re2

if TYPE_CHECKING:
    from proxyctl.regex import Compiled

_MAX_PATTERNS = 1_000
_MAX_BYTES = 100_000
_MEMORY = 64 << 20
_LONG = 300
"""From this length on a repeated group may overflow ProxySQL's stack, which RE2 would not show."""


class PatternSet:
    """Patterns of one engine, by their place in a sequence."""

    def __init__(self, patterns: Sequence[Compiled], *, latin1: bool) -> None:
        wider = [pattern.wider() for pattern in patterns]
        self.unfiltered: list[int] = [n for n, found in enumerate(wider) if found is None]
        """Patterns that are always worth a try."""
        self.exact_below = [found.exact_below if found else 0 for found in wider]
        """In how short a text, without a line feed, being found means to match."""
        self._overflowing = [
            n for n, found in enumerate(wider) if found and patterns[n].may_overflow
        ]
        self._chunks: list[tuple[Any, list[int]]] = []
        for chunk in _chunks([(n, found.text) for n, found in enumerate(wider) if found]):
            self._add(chunk, latin1=latin1)

    def _add(self, chunk: list[tuple[int, bytes]], *, latin1: bool) -> None:
        made = re2.Set.SearchSet(_options(latin1=latin1))
        made.Add(b"")  # matches everything: its absence tells that RE2 ran out of memory
        places: list[int] = []
        for place, text in chunk:
            try:
                made.Add(text)
            except re2.error:
                self.unfiltered.append(place)
            else:
                places.append(place)
        if not places:
            return
        try:
            made.Compile()
        except re2.error:
            if len(chunk) == 1:
                self.unfiltered.append(places[0])
                return
            self._add(chunk[: len(chunk) // 2], latin1=latin1)
            self._add(chunk[len(chunk) // 2 :], latin1=latin1)
        else:
            self._chunks.append((made, places))

    def may_match(self, subject: bytes) -> Collection[int]:
        """Return the filtered patterns that may match; any other of them does not."""
        subject = subject.partition(b"\0")[0]
        found: list[int] = []
        for made, places in self._chunks:
            numbers = made.Match(subject)
            if not numbers or 0 not in numbers:
                found += places
            elif len(numbers) > 1:
                found += [places[number - 1] for number in numbers if number]
        if self._overflowing and len(subject) > _LONG:
            return {*found, *self._overflowing}
        return found


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
