r"""Read a pattern into a tree: what it matches, without matching it.

A tree matches at least what the pattern matches: look-around and `\b` hold everywhere, and a text
of any case counts as the same where a part of the pattern ignores case. So what no text of the tree
has, no match of the pattern has. Rare syntax, such as back references, has no tree.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

NOT_ASCII = 128
"""The bit of `Chars.accepts` for every character beyond ASCII, and for every byte of one."""
_EVERYTHING = (1 << (NOT_ASCII + 1)) - 1

_PLAIN = re.compile(r"[^\\^$.|?*+()\[{]+(?![*+?{])")
_COUNT = re.compile(r"(?:[*+?]|\{(\d+)(,?)(\d*)\})[+?]?")
_OPENING = re.compile(r"\((?:\?(?::|>|\||(?P<flags>[imsJUX-]+):|P?<\w+>|'\w+'))?")
_LOOKING = re.compile(r"\(\?<?[=!]")
_FLAGS = re.compile(r"\(\?([imsJUX-]+)\)")
_CLASS = re.compile(r"\[(\^?)(\]?(?:\[:\w+:\]|\\.|[^\]\\])*)\]", re.DOTALL)
_NO_NAME = re.compile(r"\[(?:[.=]|:(?!\w+:\]))")
_CLASS_ITEM = re.compile(r"\[:(\w+):\]|(\\x[0-9A-Fa-f]{2}|\\?.)(?:-(\\?[^\]]))?", re.DOTALL)
_BYTE = re.compile(r"\\x([0-9A-Fa-f]{2})")

_DIGITS = "0123456789"
_WORDS = "cabdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_" + _DIGITS
_PUNCTUATION = ";" + string.punctuation
_SETS = {
    "d": "1" + _DIGITS,
    "w": _WORDS,
    "s": " \t\n\v\f\r",
    "h": " \t",
    "v": "\n\v\f\r",
    "R": "\n\v\f\r",
}
_NEGATED_SETS = {"D": "d", "W": "w", "S": "s", "H": "h", "V": "v", "N": ""}
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_NAMED = {
    "digit": "1" + _DIGITS,
    "space": " \t\n\v\f\r",
    "blank": " \t",
    "punct": _PUNCTUATION,
    "xdigit": "1" + _DIGITS + "abcdefABCDEF",
    "cntrl": "\t" + "".join(map(chr, (*range(32), 127))),
    "alpha": _WORDS[:52],
    "alnum": _WORDS[:52] + _DIGITS,
    "word": _WORDS,
    "lower": _WORDS[:26],
    "upper": "C" + _WORDS[26:52],
}
_NOT_ASCII_TOO = frozenset("hv")
"""Sets that also hold bytes beyond ASCII."""
_NOTHING = frozenset("bBG")
_ENDS = {"A": False, "z": True, "Z": True}
_WHATEVER = " c;1.A_\n`"
"""Characters to show for a class such as `[^a]`; the first that fits stands for it."""
_MOST_OF_A_CLASS = 100


class LiteralText(NamedTuple):
    """These characters, one after the other; none for what matches no character."""

    text: str
    is_caseless: bool = False


class Chars(NamedTuple):
    """One character."""

    letters: str
    """Characters that show it, in the order of the pattern."""
    accepts: int
    """A bit for each character of ASCII, and NOT_ASCII."""


class End(NamedTuple):
    """The beginning of the text, or its end."""

    is_last: bool


class Concatenation(NamedTuple):
    """The items in sequence."""

    items: tuple[RegexNode, ...]


class Choice(NamedTuple):
    """One of the rows."""

    rows: tuple[RegexNode, ...]


class Repeat(NamedTuple):
    """The item some times."""

    item: RegexNode
    """The item."""
    least: int
    """The smallest number of times."""
    most: int | None
    """The largest number of times; None without a bound."""


RegexNode = LiteralText | Chars | End | Concatenation | Choice | Repeat

NOTHING = LiteralText("")
DOT = Chars("c", _EVERYTHING)


class NoTree(Exception):  # noqa: N818 - it is an answer
    """The pattern has syntax that no tree shows."""


def tree_of(pattern: str, *, is_caseless: bool = False) -> RegexNode:
    """Return the tree of a pattern that compiles. Raises: NoTree."""
    try:
        reader = _PatternReader(pattern, is_caseless=is_caseless)
        tree, end = reader.choice(0)
    except RecursionError:
        raise NoTree from None
    if end < len(pattern):
        raise NoTree
    return tree


class _PatternReader:
    """Reads a pattern; returns each part with the place after it."""

    def __init__(self, pattern: str, *, is_caseless: bool) -> None:
        flags = [match[1] for match in _FLAGS.finditer(pattern)]
        flags += [match["flags"] or "" for match in _OPENING.finditer(pattern)]
        switched_on = any("i" in text.partition("-")[0] for text in flags)
        switched_off = any("i" in text.partition("-")[2] for text in flags)
        self._has_lines = any("m" in text for text in flags)
        self._pattern = pattern
        self._may_be_caseless = is_caseless or switched_on
        self._is_caseless = is_caseless and not switched_off

    def choice(self, at: int) -> tuple[RegexNode, int]:
        """Read alternatives, up to the end of the pattern or of a group."""
        rows: list[RegexNode] = []
        while True:
            row, at = self._row(at)
            rows.append(row)
            if self._pattern[at : at + 1] != "|":
                break
            at += 1
        return (rows[0] if len(rows) == 1 else Choice(tuple(rows))), at

    def _row(self, at: int) -> tuple[RegexNode, int]:
        items: list[RegexNode] = []
        item: RegexNode
        while at < len(self._pattern) and self._pattern[at] not in "|)":
            if plain := _PLAIN.match(self._pattern, at):
                item, at = self._text(plain[0]), plain.end()
            else:
                item, at = self._item(at)
            if count := _COUNT.match(self._pattern, at):
                item, at = _repeated(item, count), count.end()
            if (
                isinstance(item, LiteralText)
                and items
                and isinstance(last := items[-1], LiteralText)
            ):
                items[-1] = LiteralText(last.text + item.text, self._may_be_caseless)
            else:
                items.append(item)
        return (items[0] if len(items) == 1 else Concatenation(tuple(items))), at

    def _item(self, at: int) -> tuple[RegexNode, int]:
        letter = self._pattern[at]
        if letter == "(":
            return self._group(at)
        if letter == "[":
            match = _CLASS.match(self._pattern, at)
            if match is None:
                raise NoTree
            return self._class(match), match.end()
        if letter == "\\":
            return self._escaped(at)
        if letter == ".":
            return DOT, at + 1
        if letter in "^$":
            return NOTHING if self._has_lines else End(letter == "$"), at + 1
        if self._pattern.startswith("{,", at):
            raise NoTree
        return self._text(letter), at + 1

    def _text(self, text: str) -> LiteralText:
        return LiteralText(text, self._may_be_caseless)

    def _group(self, at: int) -> tuple[RegexNode, int]:
        pattern = self._pattern
        if flags := _FLAGS.match(pattern, at):
            return NOTHING, flags.end()
        looking = _LOOKING.match(pattern, at)
        opening = looking or _OPENING.match(pattern, at)
        if opening is None or pattern[opening.end() : opening.end() + 1] in ("?", "*"):
            raise NoTree
        inside, end = self.choice(opening.end())
        if pattern[end : end + 1] != ")":
            raise NoTree
        return (NOTHING if looking else inside), end + 1

    def _escaped(self, at: int) -> tuple[RegexNode, int]:
        letter = self._pattern[at + 1 : at + 2]
        if byte := _BYTE.match(self._pattern, at):
            return self._text(chr(int(byte[1], 16))), byte.end()
        if letter in _ENDS:
            return End(_ENDS[letter]), at + 2
        if letter in _NOTHING:
            return NOTHING, at + 2
        if letter in _SETS or letter in _NEGATED_SETS:
            letters, accepts = _of_set(letter)
            return Chars(letters, accepts), at + 2
        return self._text(_escaped_letter(letter)), at + 2

    def _class(self, match: re.Match[str]) -> Chars:
        if _NO_NAME.search(match[2]):
            raise NoTree
        letters: list[str] = []
        accepts = 0
        for part in _CLASS_ITEM.finditer(match[2]):
            some, bits = _of_class_item(part)
            letters.append(some)
            accepts |= bits
        is_negated = bool(match[1])
        # A negated class accepts less if case is ignored; so it counts only if that is sure.
        if self._is_caseless or (self._may_be_caseless and not is_negated):
            accepts |= bits_of("".join(_listed(accepts)), is_caseless=True)
        if not is_negated:
            return Chars("".join(dict.fromkeys("".join(letters))), accepts)
        # Some characters beyond ASCII may be listed, never all of them.
        accepts = ~accepts & _EVERYTHING | 1 << NOT_ASCII
        return Chars(_shown(accepts), accepts)


def _repeated(item: RegexNode, count: re.Match[str]) -> RegexNode:
    if count[1] is None:
        least, most = int(count[0][0] == "+"), 1 if count[0][0] == "?" else None
    else:
        least = int(count[1])
        most = None if count[2] and not count[3] else int(count[3] or count[1])
    return Repeat(item, least, most)


def _escaped_letter(letter: str) -> str:
    if letter in _LETTERS:
        return _LETTERS[letter]
    if not letter or letter.isalnum():
        raise NoTree
    return letter


@cache
def bits_of(letters: str, *, is_caseless: bool = False) -> int:
    """Return the bits of `Chars.accepts` for some characters."""
    if is_caseless:
        letters += "".join(map(str.swapcase, filter(str.isascii, letters)))
    return sum(1 << min(ord(letter), NOT_ASCII) for letter in set(letters))


def _listed(accepts: int) -> Sequence[str]:
    return [chr(code) for code in range(NOT_ASCII) if accepts >> code & 1]


def _shown(accepts: int) -> str:
    return next((letter for letter in _WHATEVER if accepts >> ord(letter) & 1), "")


def _of_set(letter: str) -> tuple[str, int]:
    r"""Return the letters to show for a set such as `\w`, and what it accepts."""
    if letter in _NEGATED_SETS:
        name = _NEGATED_SETS[letter]
        accepts = ~bits_of(_SETS[name] if name else "\n") & _EVERYTHING
        return "c" if accepts >> ord("c") & 1 else " ", accepts
    accepts = bits_of(_SETS[letter]) | (letter in _NOT_ASCII_TOO) << NOT_ASCII
    return _SETS[letter][0], accepts


def _of_class_item(part: re.Match[str]) -> tuple[str, int]:
    name, low, high = part.groups()
    if name:
        if name not in _NAMED:
            raise NoTree
        return _NAMED[name][0], bits_of(_NAMED[name])
    if len(low) == 2 and (low[1] in _SETS or low[1] in _NEGATED_SETS):
        letters, bits = _of_set(low[1])
        return letters, bits | (bits_of("-" + _class_letter(high)) if high else 0)
    first = _class_letter(low)
    if not high:
        return first, bits_of(first)
    last = _class_letter(high)
    codes = range(ord(first), ord(last) + 1)
    shown = "".join(map(chr, codes[:_MOST_OF_A_CLASS]))
    bits = bits_of("".join(map(chr, range(ord(first), min(ord(last), NOT_ASCII) + 1))))
    return shown, bits


def _class_letter(text: str) -> str:
    if byte := _BYTE.match(text):
        return chr(int(byte[1], 16))
    if len(text) == 1:
        return text
    return "\b" if text[1] == "b" else _escaped_letter(text[1])
