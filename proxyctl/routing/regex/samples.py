r"""Texts that a pattern matches, written from the pattern itself.

They are guesses: look-around is passed over and back references are not understood, so whoever asks
lets the real engine have the last word. `sbtest(1[02]|7)` gives sbtest10, sbtest12 and sbtest7.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

_COUNT = re.compile(r"(?:[*+?]|\{(\d+)(,?)(\d*)\})[+?]?")
_OPENING = re.compile(r"\((?:\?(?::|>|\||[imsxJUX-]+:|P?<\w+>|'\w+'))?")
_LOOKING = re.compile(r"\(\?<?[=!]")
_FLAGS = re.compile(r"\(\?[imsxJUX-]+\)")
_CLASS = re.compile(r"\[(\^?)(\]?(?:\[:\w+:\]|\\.|[^\]\\])*)\]", re.DOTALL)
_RANGE = re.compile(r"\[:(\w+):\]|(\\?.)(?:-(\\?[^\]]))?", re.DOTALL)
_SETS = {
    "d": "1", "D": "c", "w": "c", "W": " ", "s": " ", "S": "c", "h": " ", "H": "c", "v": "\n",
    "V": "c", "n": "\n", "t": "\t", "r": "\r", "f": "\f", "N": "c", "R": "\n",
}  # fmt: skip
_NAMED = {"digit": "1", "space": " ", "blank": " ", "punct": ";", "xdigit": "1", "cntrl": "\t"}
_NOTHING = frozenset("bBAzZGKQE")
_WHATEVER = " c;1.A_\n`"
_MOST_OF_A_CLASS = 100
_MOST_STEPS = 100_000


class _LackingError(Exception):
    """The pattern has something that no text can be guessed for."""


class _Dot(NamedTuple):
    """Any character."""


class _Letters(NamedTuple):
    """One of some characters."""

    letters: str


class _Row(NamedTuple):
    """One thing behind the other."""

    items: Sequence[_Node]


class _Choice(NamedTuple):
    """One thing or the other."""

    items: Sequence[_Node]


class _Repeat(NamedTuple):
    """A thing so often."""

    item: _Node
    least: int
    has_more: bool


_Node = str | _Dot | _Letters | _Row | _Choice | _Repeat


def samples(pattern: str, *, limit: int = 1, fill: str = "") -> list[str]:
    """Return up to `limit` texts that the pattern seems to match; none if it is not understood.

    `fill` stands where the pattern has `.*`.
    """
    try:
        tree, end = _choice(pattern, 0)
        if end < len(pattern) or _effort(tree) > _MOST_STEPS:
            return []
        return list(dict.fromkeys(islice(_texts(tree, fill), limit)))
    except (_LackingError, RecursionError):
        return []


def _choice(pattern: str, at: int) -> tuple[_Node, int]:
    rows: list[_Node] = []
    while True:
        row, at = _row(pattern, at)
        rows.append(row)
        if pattern[at : at + 1] != "|":
            return (rows[0] if len(rows) == 1 else _Choice(rows)), at
        at += 1


def _row(pattern: str, at: int) -> tuple[_Node, int]:
    items: list[_Node] = []
    while at < len(pattern) and pattern[at] not in "|)":
        item, at = _item(pattern, at)
        count = _COUNT.match(pattern, at)
        if count:
            at = count.end()
            least = int(count[1]) if count[1] else int(count[0][0] == "+")
            has_more = count[1] is None or bool(count[2] and count[3] != count[1])
            item = _Repeat(item, least, has_more)
        if isinstance(item, str) and items and isinstance(before := items[-1], str):
            items[-1] = before + item
        else:
            items.append(item)
    return (items[0] if len(items) == 1 else _Row(items)), at


def _item(pattern: str, at: int) -> tuple[_Node, int]:
    letter = pattern[at]
    if letter == "(":
        return _group(pattern, at)
    if letter == "[" and (found := _CLASS.match(pattern, at)):
        return _Letters(_class(found[2], is_negated=bool(found[1]))), found.end()
    if letter == "\\":
        return _escape(pattern, at)
    if letter in "^$":
        return "", at + 1
    return (_Dot() if letter == "." else letter), at + 1


def _group(pattern: str, at: int) -> tuple[_Node, int]:
    if flags := _FLAGS.match(pattern, at):
        return "", flags.end()
    looking = _LOOKING.match(pattern, at)
    opening = looking or _OPENING.match(pattern, at)
    if opening is None or pattern[opening.end() : opening.end() + 1] in ("?", "*"):
        raise _LackingError
    inside, end = _choice(pattern, opening.end())
    if pattern[end : end + 1] != ")":
        raise _LackingError
    return ("" if looking else inside), end + 1


def _escape(pattern: str, at: int) -> tuple[_Node, int]:
    letter = pattern[at + 1 : at + 2]
    if letter in _SETS:
        return _SETS[letter], at + 2
    if letter in _NOTHING:
        return "", at + 2
    if not letter or letter.isalnum():
        raise _LackingError
    return letter, at + 2


def _class(inside: str, *, is_negated: bool) -> str:
    found: list[str] = []
    for part in _RANGE.finditer(inside):
        if part[1]:
            found.append(_NAMED.get(part[1], "c"))
        elif part[3]:
            low, high = ord(part[2][-1]), ord(part[3][-1])
            found += map(chr, range(low, min(high + 1, low + _MOST_OF_A_CLASS)))
        else:
            text = part[2]
            found.append(_SETS.get(text[1], text[1]) if len(text) > 1 else text)
    if not is_negated:
        return "".join(found)
    left = [letter for letter in _WHATEVER if letter not in found]
    # What stands for digits and letters above is one of them.
    words = "1c" if "\\w" in inside else ""
    return "".join(letter for letter in left if letter not in words)[:1]


def _texts(node: _Node, fill: str) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, _Letters):
        yield from node.letters
    elif isinstance(node, _Dot):
        yield "c"
    elif isinstance(node, _Choice):
        for item in node.items:
            yield from _texts(item, fill)
    elif isinstance(node, _Row):
        yield from _rows(node.items, fill)
    elif isinstance(node.item, _Dot) and node.has_more:
        yield fill or "c" * node.least
    else:
        yield from _rows([node.item] * node.least, fill)
        if node.has_more:
            yield from _rows([node.item] * (node.least + 1), fill)


def _effort(node: _Node) -> int:
    """Return how many steps the shortest text takes; no less than its length."""
    if isinstance(node, str):
        return len(node) or 1
    if isinstance(node, _Choice):
        return min(map(_effort, node.items))
    if isinstance(node, _Row):
        return sum(map(_effort, node.items))
    return (node.least * _effort(node.item) or 1) if isinstance(node, _Repeat) else 1


def _rows(items: Sequence[_Node], fill: str) -> Iterator[str]:
    if not items:
        yield ""
        return
    for first in _texts(items[0], fill):
        for rest in _rows(items[1:], fill):
            yield first + rest
