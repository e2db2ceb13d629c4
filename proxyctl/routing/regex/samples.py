r"""Generate texts that a pattern matches: `sbtest(1[02]|7)` gives sbtest10, sbtest12 and sbtest7.

The texts are guesses: look-around is ignored, and back references are not understood. So the caller
must match them with the real engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
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
    """The pattern has syntax that no text can be guessed for."""


class _Node(NamedTuple):
    """A part of a pattern.

    Shape: `effort`: the number of steps for its shortest text, at least the text's length.
    `plain`: its text if it has only one; `is_dot`: any character.
    """

    effort: int
    texts: Callable[[], Iterator[str]]
    plain: str | None = None
    is_dot: bool = False


def _plain(text: str) -> _Node:
    return _Node(len(text) or 1, lambda: iter((text,)), plain=text)


def _row(items: Sequence[_Node]) -> _Node:
    """Return the items in sequence."""
    return _Node(sum(item.effort for item in items), lambda: _rows(items))


def _rows(items: Sequence[_Node]) -> Iterator[str]:
    if not items:
        yield ""
        return
    for first in items[0].texts():
        for tail in _rows(items[1:]):
            yield first + tail


def samples(pattern: str, *, limit: int = 1, fill: str = "") -> list[str]:
    """Return up to `limit` texts that the pattern seems to match; none if it is not understood.

    `fill` is the text for `.*`.
    """
    try:
        reader = _Reader(pattern, fill)
        tree, end = reader.choice(0)
        if end < len(pattern) or tree.effort > _MOST_STEPS:
            return []
        return list(dict.fromkeys(islice(tree.texts(), limit)))
    except (_LackingError, RecursionError):
        return []


class _Reader:
    """Reads a pattern; returns each part with the place after it."""

    def __init__(self, pattern: str, fill: str) -> None:
        self._pattern = pattern
        self._fill = fill

    def choice(self, at: int) -> tuple[_Node, int]:
        """Read alternatives, up to the end of the pattern or of a group."""
        rows: list[_Node] = []
        while True:
            row, at = self._row(at)
            rows.append(row)
            if self._pattern[at : at + 1] != "|":
                break
            at += 1
        if len(rows) == 1:
            return row, at
        least = min(item.effort for item in rows)
        return _Node(least, lambda: chain.from_iterable(item.texts() for item in rows)), at

    def _row(self, at: int) -> tuple[_Node, int]:
        items: list[_Node] = []
        while at < len(self._pattern) and self._pattern[at] not in "|)":
            item, at = self._item(at)
            if count := _COUNT.match(self._pattern, at):
                item, at = self._repeated(item, count), count.end()
            if item.plain is not None and items and items[-1].plain is not None:
                items[-1] = _plain(items[-1].plain + item.plain)
            else:
                items.append(item)
        return (items[0] if len(items) == 1 else _row(items)), at

    def _repeated(self, item: _Node, count: re.Match[str]) -> _Node:
        least = int(count[1]) if count[1] else int(count[0][0] == "+")
        has_more = count[1] is None or bool(count[2] and count[3] != count[1])
        if item.is_dot and has_more:
            return _Node(least or 1, lambda: iter((self._fill or "c" * least,)))
        effort = least * item.effort or 1
        if not has_more:
            return _Node(effort, lambda: _rows([item] * least))
        return _Node(effort, lambda: chain(_rows([item] * least), _rows([item] * (least + 1))))

    def _item(self, at: int) -> tuple[_Node, int]:
        letter = self._pattern[at]
        if letter == "(":
            return self._group(at)
        if letter == "[" and (match := _CLASS.match(self._pattern, at)):
            letters = _class(match[2], is_negated=bool(match[1]))
            return _Node(1, lambda: iter(letters)), match.end()
        if letter == "\\":
            return _plain(_escaped(self._pattern[at + 1 : at + 2])), at + 2
        if letter == ".":
            return _Node(1, lambda: iter("c"), is_dot=True), at + 1
        return _plain("" if letter in "^$" else letter), at + 1

    def _group(self, at: int) -> tuple[_Node, int]:
        pattern = self._pattern
        if flags := _FLAGS.match(pattern, at):
            return _plain(""), flags.end()
        looking = _LOOKING.match(pattern, at)
        opening = looking or _OPENING.match(pattern, at)
        if opening is None or pattern[opening.end() : opening.end() + 1] in ("?", "*"):
            raise _LackingError
        inside, end = self.choice(opening.end())
        if pattern[end : end + 1] != ")":
            raise _LackingError
        return (_plain("") if looking else inside), end + 1


def _escaped(letter: str) -> str:
    if letter in _SETS:
        return _SETS[letter]
    if letter in _NOTHING:
        return ""
    if not letter or letter.isalnum():
        raise _LackingError
    return letter


def _class(inside: str, *, is_negated: bool) -> str:
    letters: list[str] = []
    for part in _RANGE.finditer(inside):
        if part[1]:
            letters.append(_NAMED.get(part[1], "c"))
        elif part[3]:
            low, high = ord(part[2][-1]), ord(part[3][-1])
            letters += map(chr, range(low, min(high + 1, low + _MOST_OF_A_CLASS)))
        else:
            text = part[2]
            letters.append(_SETS.get(text[1], text[1]) if len(text) > 1 else text)
    if not is_negated:
        return "".join(letters)
    remaining = [letter for letter in _WHATEVER if letter not in letters]
    # _SETS writes one letter for \w, but it matches digits as well.
    words = "1c" if "\\w" in inside else ""
    return "".join(letter for letter in remaining if letter not in words)[:1]
