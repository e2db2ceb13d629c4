r"""A pattern for RE2 that matches wherever a pattern for PCRE does, and perhaps elsewhere.

RE2 tests many patterns at once and never backtracks, so it can say which patterns are worth a try.
It reads bytes as Latin-1. What RE2 lacks is left out or made wider: a look-around says nothing, a
back reference is any text, `$` may stand before any line feed. Both engines agree on all the rest,
so where nothing was made wider, RE2 knows the answer of PCRE, unless PCRE would give up.
"""

from __future__ import annotations

import re
from math import factorial
from typing import NamedTuple

_TOKEN = re.compile(
    rb"""
      (?P<byte>    \\x[0-9A-Fa-f]{2} | \\[^0-9A-Za-z] | [^\\^$.|?*+()\[{] )
    | (?P<count>   (?: [*+?] | \{ (?P<least>[0-9]{1,9}) (?P<comma>,)? (?P<most>[0-9]{0,9}) \} )
                   [+?]? )
    | \\ (?P<reference> [1-9] (?![0-9]) | g\{[0-9]+\} | k\{\w+\} )
    | \\ (?P<letter> [A-Za-z] )
    | (?P<class>   \[ \^? (?: \[:\^?[a-z]+:\] | \\. | [^\]\\] )+ \] )
    | (?P<around>  \(\? <? [=!] )
    | \(\? (?P<flags> [imsJU]* (?: -[imsJU]* )? ) (?P<scope> [:)] )
    | (?P<opening> \( (?: \? (?: > | \| | P?< (?![=!]) \w+ > | ' \w+ ' ) | (?! [?*] ) ) )
    | (?P<plain>   [|).^{] )
    | (?P<dollar>  \$ )
    """,
    re.VERBOSE | re.DOTALL,
)
_NOT_ASCII = re.compile(rb"[\x80-\xff]|\\x[89A-Fa-f]")
_CLASS_ITEM = re.compile(rb"\[:\^?[a-z]+:\]|\\x[0-9A-Fa-f]{2}|\\.|.", re.DOTALL)

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
_ANYTHING = rb"(?s:.*)"
_LETTERS: dict[bytes, bytes] = {
    **{letter: b"[" + text + b"]" for letter, text in _SETS.items()},
    b"n": rb"\n",
    b"r": rb"\r",
    b"t": rb"\t",
    b"f": rb"\f",
    b"e": rb"\x1b",
    b"a": rb"\x07",
    b"N": b".",
    b"R": rb"(?:\r\n|[\n-\r\x85])",
    b"b": rb"\b",
    b"B": rb"\B",
    b"A": rb"\A",
    b"z": rb"\z",
    b"Z": rb"(?m:$)",
    b"G": b"(?:)",
    b"K": b"(?:)",
}
_MOST = 1000
"""RE2 repeats nothing more often."""

_STEPS = 5_000_000
"""Steps that PCRE takes without giving up: half of what it allows."""

_LONGEST_EXACT = 1_000


class Wider(NamedTuple):
    """A pattern for RE2 with bytes as Latin-1.

    Shape: in a text of less than `exact_below` bytes without a line feed it matches where PCRE
    does; 0 if it is wider than PCRE's.
    """

    text: bytes
    exact_below: int


def widened(text: bytes, *, caseless: bool) -> Wider | None:
    """Return a pattern for RE2, or None where that is not worth the trouble.

    Shape: `text` is what PCRE2 was given, without comments, quoting and white space to skip.
    """
    at = tokens = 0
    out = [b"(?i)" if caseless else b""]
    openings: list[tuple[int, bool]] = []
    cost = _Cost()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            return None
        at = found.end()
        tokens += 1
        cost.add(found)
        if found["around"] or found["opening"] or found["scope"] == b":":
            openings.append((len(out), found["around"] is not None))
            out.append(_group(found))
        elif found[0] == b")":
            if not openings:
                return None
            start, is_around = openings.pop()
            if is_around:
                out[start:] = [b"(?:)"]
            else:
                out.append(b")")
        else:
            piece = _piece(found, caseless=caseless)
            if piece is None:
                return None
            out.append(piece)
    exact = 0 if _NOT_ASCII.search(text) else cost.longest(tokens)
    return Wider(b"".join(out), exact)


class _Cost:
    """How many steps PCRE may take, and whether RE2 is told all there is to the pattern."""

    def __init__(self) -> None:
        self._repeats = self._options = 0
        self._is_exact = True
        self._behind_group = False

    def add(self, found: re.Match[bytes]) -> None:
        """Count one token."""
        count = found["count"]
        if count:
            self._count(found, count)
        elif (
            found["around"]
            or found["reference"]
            or found["opening"] == b"(?>"
            or (found["letter"] is not None and found["letter"] in b"GKR")
        ):
            self._is_exact = False
        self._behind_group = found[0] == b")"

    def _count(self, found: re.Match[bytes], count: bytes) -> None:
        if count[:1] == b"?":
            self._options += 1
        else:
            self._repeats += 1
            if self._behind_group:
                self._is_exact = False
        is_possessive = len(count) > 1 and count.endswith(b"+")
        if is_possessive or any(len(found[name] or b"") > 3 for name in ("least", "most")):
            self._is_exact = False

    def longest(self, tokens: int) -> int:
        """Return for how long a text PCRE takes few enough steps to be sure."""
        if not self._is_exact or self._repeats > 6 or self._options > 12:
            return 0
        if not self._repeats:
            return _LONGEST_EXACT
        ways = _STEPS * factorial(self._repeats) / (max(tokens, 1) << self._options)
        return min(_LONGEST_EXACT, int(ways ** (1 / self._repeats)))


def _group(found: re.Match[bytes]) -> bytes:
    flags = found["flags"]
    return b"(?:" if flags is None else b"(?" + _flags(flags) + b":"


def _flags(flags: bytes) -> bytes:
    on, _, off = flags.replace(b"J", b"").partition(b"-")
    return on + (b"-" + off if off else b"")


def _piece(found: re.Match[bytes], *, caseless: bool) -> bytes | None:
    if found["byte"]:
        return _literal(found["byte"])
    if found["count"]:
        return _count(found)
    if found["letter"]:
        return _LETTERS.get(found["letter"])
    if found["class"]:
        return _class(found["class"], caseless=caseless)
    if found["reference"]:
        return _ANYTHING
    if found["scope"]:
        return b"(?" + _flags(found["flags"]) + b")" if _flags(found["flags"]) else b""
    if found["dollar"]:
        return b"(?m:$)"
    return rb"\{" if found[0] == b"{" else found[0]


def _literal(token: bytes) -> bytes:
    if token.startswith(b"\\x"):
        return token
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
    for item in _CLASS_ITEM.findall(text[1 + is_negated : -1]):
        if item.startswith(b"[:") or item == b"-":
            out.append(item)
        elif len(item) == 2 and item[1:].isalnum():
            if item[1:] not in _SETS:
                return None
            out.append(_SETS[item[1:]])
        else:
            out.append(_literal(item))
    return b"".join(out) + b"]"
