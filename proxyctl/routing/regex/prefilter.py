"""Many patterns, one text: which of them are worth a try.

RE2 tests hundreds of patterns in the time of one, and in time linear in the text. Each pattern is
put into words for RE2 that match wherever the pattern does, and perhaps elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import re2

if TYPE_CHECKING:
    from proxyctl.routing.regex.pattern import Compiled

_MAX_PATTERNS = 1_000
_MAX_BYTES = 100_000
_MEMORY = 64 << 20


class Prefilter:
    """Patterns of one engine, by their place in a sequence."""

    def __init__(self, patterns: Sequence[Compiled], *, latin1: bool) -> None:
        texts = [pattern.for_re2 for pattern in patterns]
        self.unfiltered: list[int] = [place for place, text in enumerate(texts) if text is None]
        """Patterns that are always worth a try."""
        self._chunks: list[tuple[Any, list[int]]] = []
        for chunk in _chunks([(n, text) for n, text in enumerate(texts) if text is not None]):
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


# From PCRE's words to RE2's --------------------------------------------------------------------

_TOKEN = re.compile(
    rb"""
      \\ (?P<letter> [A-Za-z] )
    | (?P<reference> \\[1-9] (?![0-9]) )
    | (?P<byte>   \\[^0-9A-Za-z] | [^\\^$.|?*+()\[{] )
    | (?P<class>  \[ \^? (?: \[:\^?\w+:\] | \\. | (?! \[: ) [^]\\] )+ \] )
    | (?P<count>  (?: [*+?] | \{ (?P<least>[0-9]+) (?P<comma>,)? (?P<most>[0-9]*) \} ) [+?]? )
    | (?P<around> \(\? <? [=!] )
    | (?P<flag>   \(\?[ims]+\) )
    | (?P<group>  \( (?: \?[:>] )? )
    | (?P<end>    \$ | \\Z )
    | (?P<same>   [|).^] )
    """,
    re.VERBOSE | re.DOTALL,
)
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_SETS = {
    b"d": rb"0-9",
    b"D": rb"\x00-/:-\xff",
    b"w": rb"0-9A-Za-z_",
    b"W": rb"\x00-/:-@\[-\^`{-\xff",
    b"s": rb"\x09-\x0d\x20",
    b"S": rb"\x00-\x08\x0e-\x1f\x21-\xff",
    b"h": rb"\x09\x20\xa0",
    b"H": rb"\x00-\x08\x0a-\x1f\x21-\x9f\xa1-\xff",
    b"v": rb"\x0a-\x0d\x85",
    b"V": rb"\x00-\x09\x0e-\x84\x86-\xff",
}
_LETTERS = {
    **{letter: b"[" + text + b"]" for letter, text in _SETS.items()},
    **{letter: b"\\" + letter for letter in (b"n", b"r", b"t", b"f", b"b", b"B", b"A", b"z")},
    b"e": rb"\x1b",
    b"a": rb"\x07",
    b"Z": rb"(?m:$)",
}
_MOST = 1000
"""RE2 repeats nothing more often."""


def for_re2(pattern: bytes, *, caseless: bool) -> bytes | None:
    """Return a pattern for RE2 that matches wherever this one does; None if a part is not known.

    Shape: `pattern` is one for PCRE2; both read bytes as Latin-1. A look-around always holds, a
    back reference is any text, an atomic group is any group, and `$` may stand before any line
    feed.
    """
    out = [b"(?i)" if caseless else b""]
    openings: list[tuple[int, bool]] = []
    at = 0
    while at < len(pattern):
        found = _TOKEN.match(pattern, at)
        if found is None:
            return None
        at = found.end()
        if found["around"] or found["group"]:
            openings.append((len(out), found["around"] is not None))
            out.append(b"(?:")
        elif found[0] == b")":
            start, is_around = openings.pop()
            out.append(b")")
            if is_around:
                out[start:] = [b"(?:)"]
        elif found["class"]:
            text = _class(found["class"], caseless=caseless or b"(?" in pattern)
            if text is None:
                return None
            out.append(text)
        else:
            piece = _piece(found)
            if piece is None:
                return None
            out.append(piece)
    return b"".join(out)


def _piece(found: re.Match[bytes]) -> bytes | None:
    if found["letter"]:
        return _LETTERS.get(found["letter"])
    if found["reference"]:
        return b"(?s:.*)"
    if found["byte"]:
        return _literal(found["byte"])
    if found["count"]:
        return _count(found)
    return b"(?m:$)" if found["end"] else found[0]


def _literal(token: bytes) -> bytes:
    byte = token[-1]
    return token if token.isalnum() and byte < 0x80 else b"\\x%02x" % byte


def _count(found: re.Match[bytes]) -> bytes:
    """Return a quantifier, greedy: being lazy or possessive does not widen what may match."""
    if found["least"] is None:
        return found["count"][:1]
    least = int(found["least"])
    most = least if not found["comma"] else int(found["most"]) if found["most"] else None
    if most is None or most > _MOST:
        return b"{%d,}" % min(least, _MOST)
    return b"{%d,%d}" % (least, most)


def _class(text: bytes, *, caseless: bool) -> bytes | None:
    is_negated = text.startswith(b"[^")
    if is_negated and caseless and _NOT_ASCII.search(text):
        return None  # RE2 folds the case of Latin-1, PCRE of ASCII only: this would be narrower
    out = [b"[^" if is_negated else b"["]
    for item in re.findall(rb"\[:\^?\w+:\]|\\.|.", text[1 + is_negated : -1], re.DOTALL):
        if item == b"-" or item.startswith(b"[:"):
            out.append(item)
        elif len(item) == 2 and item[1:] in _SETS:
            out.append(_SETS[item[1:]])
        elif len(item) == 2 and item[1:].isalnum():
            return None  # an escape of its own, such as that of a byte
        else:
            out.append(_literal(item))
    return b"".join(out) + b"]"
