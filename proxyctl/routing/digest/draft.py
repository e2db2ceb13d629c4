r"""The unfinished text of a digest, and the syntax of its values, words and white space.

A word consists of [\w$]; every other byte separates words, bytes of UTF-8 as well. The expressions
look back only over bytes that they have just matched: a search that begins with plain bytes is many
times faster than one that begins with a look-behind.
"""

from __future__ import annotations

from typing import Final

SPACES: Final = frozenset(b" \t\r\n")
DIGITS: Final = frozenset(b"0123456789")
WORD: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$")

IN_SINGLE_QUOTES: Final = rb"'(?:[^'\\]++|\\[\\']?+|'')*'(?!')"
IN_DOUBLE_QUOTES: Final = rb'"(?:[^"\\]++|\\[\\"]?+|"")*"(?!")'
"""A backslash escapes only a backslash and the quote; a quote in a string is doubled.

No group is possessive here and below: Python before 3.11.5 matches them wrongly.
"""

FIRST_DIGIT: Final = rb"[0-9](?<![\w$][0-9])"
NUMBER_REST: Final = rb"[\w$.]*+(?:(?<=[eE])[-+][\w$.]*+)*"
"""The bytes after a first digit that may belong to a number: `1.5e-3`, but also `2col`."""
NUMBER: Final = rb"0[xX][0-9a-fA-F]*+|[0-9][-+0-9.eE]*+"
"""The numbers among the texts that FIRST_DIGIT and NUMBER_REST match."""

NULL: Final = rb"[nN][uU][lL][lL](?![\w$])(?<![\w$][nN][uU][lL][lL])"

BLANKS_ONLY: Final = bytes.maketrans(b"\t\r\n", b"   ")
BLANKS_AND_LOWER: Final = bytes.maketrans(
    b"\t\r\nABCDEFGHIJKLMNOPQRSTUVWXYZ", b"   abcdefghijklmnopqrstuvwxyz"
)

VALUE: Final = ord("?")
"""The placeholder of a value in a digest."""

NOTHING: Final = -1
"""No position."""


class Draft:
    """A text whose first `end` bytes are valid, then a NUL and room for one more byte.

    `number` is the start of a number whose end is not read yet, else NOTHING.
    """

    __slots__ = ("end", "number", "text")

    def __init__(self, text: bytearray, end: int, number: int = NOTHING) -> None:
        self.text = text
        self.end = end
        self.number = number

    @property
    def is_open(self) -> bool:
        """Whether the text ends with a number that may still grow."""
        return self.number != NOTHING

    @property
    def last(self) -> int:
        """The last byte that may be folded, before a number that may still grow."""
        return (self.number if self.is_open else self.end) - 1

    def cut(self, end: int) -> None:
        """End the text at `end`; a number that may still grow moves there."""
        if self.is_open:
            digits = self.text[self.number : self.end]
            self.text[end : end + len(digits)] = digits
            self.number = end
            end += len(digits)
        self.text[end] = 0
        self.end = end

    def finished(self) -> bytes:
        """Return the finished text."""
        return finished(bytes(self.text[: self.end]))


def finished(text: bytes) -> bytes:
    """Return a text up to its first NUL, without blanks and semicolons at its end.

    ProxySQL reads it as a C string. The first byte stays even if it is a semicolon.
    """
    if text.endswith((b" ", b";")):
        text = text[:1] + text[1:].rstrip(b" ;")
    return text.partition(b"\0")[0]
