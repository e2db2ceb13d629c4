r"""Patterns as trees, for reasoning about every text that they match.

A tree is made from what `Compiled.wider` gives, which has few forms: for PCRE the pattern is
rewritten there already. A pattern that has anything else gives no tree, and nothing is said of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from proxyctl.regex import Compiled

EVERY = (1 << 256) - 1
"""The set of all bytes: a set of bytes is an integer with a bit for each."""

MAX_SIZE = 6_000
"""Patterns longer than this, in bytes with repeats written out, give no tree."""


def byte_set(members: bytes) -> int:
    """Return the set of these bytes."""
    made = 0
    for byte in members:
        made |= 1 << byte
    return made


def _between(low: int, high: int) -> int:
    return ((1 << (high - low + 1)) - 1) << low


DIGITS = _between(0x30, 0x39)
_UPPER, _LOWER = _between(0x41, 0x5A), _between(0x61, 0x7A)
WORD = DIGITS | _UPPER | _LOWER | byte_set(b"_")
LINE_FEED = byte_set(b"\n")
_NOT_LINE_FEED = EVERY & ~LINE_FEED
_SPACE = byte_set(b"\t\n\f\r ")
_PUNCTUATION = _between(0x21, 0x7E) & ~(DIGITS | _UPPER | _LOWER)
_POSIX = {
    b"alnum": DIGITS | _UPPER | _LOWER,
    b"alpha": _UPPER | _LOWER,
    b"blank": byte_set(b"\t "),
    b"digit": DIGITS,
    b"graph": _between(0x21, 0x7E),
    b"lower": _LOWER,
    b"print": _between(0x20, 0x7E),
    b"punct": _PUNCTUATION,
    b"space": _between(0x09, 0x0D) | byte_set(b" "),
    b"upper": _UPPER,
    b"word": WORD,
    b"xdigit": DIGITS | byte_set(b"abcdefABCDEF"),
}
_SETS = {b"d": DIGITS, b"w": WORD, b"s": _SPACE}
_SETS |= {letter.upper(): EVERY & ~members for letter, members in _SETS.items()}
_CONTROLS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"f": b"\f", b"e": b"\x1b", b"a": b"\x07"}


class Anchor(Enum):
    """What holds between two bytes. END is the very end of the text."""

    START = "^"
    END = "$"
    LAST = "\\z"
    BOUNDARY = "\\b"
    INSIDE = "\\B"


@dataclass(frozen=True, slots=True)
class Chars:
    """One byte of a set."""

    members: int


@dataclass(frozen=True, slots=True)
class Joined:
    """One after the other."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """One of several."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeated:
    """`least` to `most` times; None is without end."""

    item: Node
    least: int
    most: int | None


Node = Chars | Joined | Either | Repeated | Anchor


@dataclass(frozen=True, slots=True)
class Tree:
    """A pattern. `is_exact`: it matches what the tree says, else the tree may match more."""

    root: Node
    is_exact: bool


def tree_of(pattern: Compiled) -> Tree | None:
    """Return the pattern as a tree, or None where there is none."""
    wider = pattern.wider()
    if wider is None or len(wider.text) > 4 * MAX_SIZE:
        return None
    try:
        root = _Parser(wider.text).parsed()
    except _UnknownForm:
        return None
    if _size(root) > MAX_SIZE:
        return None
    return Tree(root, wider.exact_below > 0)


class _UnknownForm(Exception):  # noqa: N818 - it is an answer
    pass


_TOKEN = re.compile(
    rb"""
      (?P<dollar>   \(\?m:\$\) | \$ )
    | (?P<anything> \(\?s:\.\*\) )
    | \(\? (?P<flags> [is]* (?: -[is]* )? ) (?P<scope> [:)] )
    | (?P<opening>  \( (?: \?P?<\w+> | (?!\?) ) )
    | (?P<closing>  \) )
    | (?P<bar>      \| )
    | (?P<count>    (?: [*+?] | \{ (?P<least>[0-9]+) (?P<comma>,)? (?P<most>[0-9]*) \} ) \?? )
    | (?P<class>    \[ \^? \]? (?: \[:\^?[a-z]+:\] | \\. | [^\]\\] )* \] )
    | \\x (?P<hex>  [0-9A-Fa-f]{2} )
    | \\ (?P<letter> [A-Za-z] )
    | \\ (?P<literal> [^0-9A-Za-z] )
    | (?P<start>    \^ )
    | (?P<dot>      \. )
    | (?P<byte>     [^\\] )
    """,
    re.VERBOSE | re.DOTALL,
)
_ANCHORS = {b"b": Anchor.BOUNDARY, b"B": Anchor.INSIDE, b"A": Anchor.START, b"z": Anchor.LAST}


class _Parser:
    """One run over a pattern. `i` and `s` as ProxySQL's engines scope them: to their group."""

    def __init__(self, text: bytes) -> None:
        if max(text, default=0) > 0x7F:
            raise _UnknownForm
        self._text = text
        self._at = 0

    def parsed(self) -> Node:
        root = self._alternatives(frozenset())
        if self._at < len(self._text):
            raise _UnknownForm
        return root

    def _alternatives(self, flags: frozenset[int]) -> Node:
        options: list[Node] = []
        items: list[Node] = []
        while self._at < len(self._text):
            found = _TOKEN.match(self._text, self._at)
            if found is None:
                raise _UnknownForm
            if found["closing"]:
                break
            self._at = found.end()
            if found["bar"]:
                options.append(Joined(tuple(items)))
                items = []
            elif found["scope"] == b")":
                flags = _changed(flags, found["flags"])
            elif found["scope"] or found["opening"]:
                inner = _changed(flags, found["flags"] or b"")
                items.append(self._group(inner))
            elif found["count"]:
                if not items:
                    raise _UnknownForm
                items.append(_counted(items.pop(), found))
            else:
                items.append(_single(found, flags))
        options.append(Joined(tuple(items)))
        return options[0] if len(options) == 1 else Either(tuple(options))

    def _group(self, flags: frozenset[int]) -> Node:
        inner = self._alternatives(flags)
        if self._text[self._at : self._at + 1] != b")":
            raise _UnknownForm
        self._at += 1
        return inner


def _changed(flags: frozenset[int], text: bytes) -> frozenset[int]:
    on, _, off = text.partition(b"-")
    return (flags | frozenset(on)) - frozenset(off)


def _counted(item: Node, found: re.Match[bytes]) -> Node:
    if found["least"] is None:
        least, most = {b"*": (0, None), b"+": (1, None), b"?": (0, 1)}[found["count"][:1]]
        return Repeated(item, least, most)
    least = int(found["least"])
    most = least if not found["comma"] else int(found["most"]) if found["most"] else None
    return Repeated(item, least, most)


def _single(found: re.Match[bytes], flags: frozenset[int]) -> Node:
    if found["dollar"]:
        return Anchor.END
    if found["start"]:
        return Anchor.START
    if found["anything"]:
        return Repeated(Chars(EVERY), 0, None)
    if found["letter"] in _ANCHORS:
        return _ANCHORS[found["letter"]]
    if found["dot"]:
        return Chars(EVERY if ord("s") in flags else _NOT_LINE_FEED)
    members = _members(found)
    if ord("i") in flags:
        members = _folded(members)
    if found["class"] and found["class"].startswith(b"[^"):
        members = EVERY & ~members
    return Chars(members)


def _members(found: re.Match[bytes]) -> int:
    """Return the set of a token; that of a negated class without the negation."""
    if found["class"]:
        return _class_members(found["class"])
    if found["hex"]:
        return 1 << int(found["hex"], 16)
    if found["letter"]:
        return _letter_members(found["letter"])
    return byte_set(found["literal"] or found["byte"])


def _letter_members(letter: bytes) -> int:
    if letter in _SETS:
        return _SETS[letter]
    if letter in _CONTROLS:
        return byte_set(_CONTROLS[letter])
    raise _UnknownForm


_CLASS_ITEM = re.compile(
    rb"\[:(?P<not>\^?)(?P<name>[a-z]+):\]|\\x(?P<hex>[0-9A-Fa-f]{2})|\\(?P<letter>[A-Za-z])"
    rb"|\\(?P<literal>[^0-9A-Za-z])|(?P<byte>[^\\])",
    re.DOTALL,
)


def _class_members(text: bytes) -> int:
    """Return what stands between the brackets, a leading ^ left out."""
    body = text[1:-1].removeprefix(b"^")
    members = at = 0
    low: int | None = None
    """The byte before, that a range may begin with."""
    is_range = False
    while at < len(body):
        found = _CLASS_ITEM.match(body, at)
        if found is None:
            raise _UnknownForm
        at = found.end()
        if found["byte"] == b"-" and low is not None and not is_range and at < len(body):
            is_range = True
            continue
        one = _class_item(found)
        byte = one.bit_length() - 1 if one.bit_count() == 1 else None
        if is_range:
            if low is None or byte is None or byte < low:
                raise _UnknownForm
            one, byte, is_range = _between(low, byte), None, False
        members |= one
        low = byte
    return members


def _class_item(found: re.Match[bytes]) -> int:
    if found["name"]:
        if found["name"] not in _POSIX:
            raise _UnknownForm
        members = _POSIX[found["name"]]
        return EVERY & ~members if found["not"] else members
    return _members_of_item(found)


def _members_of_item(found: re.Match[bytes]) -> int:
    if found["hex"]:
        return 1 << int(found["hex"], 16)
    if found["letter"]:
        return _letter_members(found["letter"])
    return byte_set(found["literal"] or found["byte"])


def _folded(members: int) -> int:
    return members | (members & _UPPER) << 32 | (members & _LOWER) >> 32


def _size(node: Node) -> int:
    """Return how many states the pattern needs, about."""
    match node:
        case Joined(items) | Either(items):
            return 1 + sum(map(_size, items))
        case Repeated(item, least, most):
            return _size(item) * max(1, least, most or 0)
        case _:
            return 1
