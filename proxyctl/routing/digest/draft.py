r"""The text of a digest while it is made, and how values, words and white space are spelt in it.

A word is made of [\w$]; every other byte divides, those of UTF-8 as well. The expressions look back
only over what they have just matched: one that begins with plain bytes is searched for many times
faster than one that begins by looking back.
"""

from __future__ import annotations

from typing import Final

SPACES: Final = frozenset(b" \t\r\n")
DIGITS: Final = frozenset(b"0123456789")
WORD: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$")

IN_SINGLE_QUOTES: Final = rb"'(?:[^'\\]++|\\[\\']?+|'')*'(?!')"
IN_DOUBLE_QUOTES: Final = rb'"(?:[^"\\]++|\\[\\"]?+|"")*"(?!")'
"""A backslash escapes a backslash and the quote, nothing else; a quote in a string is doubled.

No group is possessive here and below: Python before 3.11.5 goes wrong with those.
"""

FIRST_DIGIT: Final = rb"[0-9](?<![\w$][0-9])"
NUMBER_REST: Final = rb"[\w$.]*+(?:(?<=[eE])[-+][\w$.]*+)*"
"""What goes on after a first digit and may turn out to be a number: `1.5e-3`, but also `2col`."""
NUMBER: Final = rb"0[xX][0-9a-fA-F]*+|[0-9][-+0-9.eE]*+"
"""What is a number, of all that FIRST_DIGIT and NUMBER_REST take together."""

NULL: Final = rb"[nN][uU][lL][lL](?![\w$])(?<![\w$][nN][uU][lL][lL])"

BLANKS_ONLY: Final = bytes.maketrans(b"\t\r\n", b"   ")
BLANKS_AND_LOWER: Final = bytes.maketrans(
    b"\t\r\nABCDEFGHIJKLMNOPQRSTUVWXYZ", b"   abcdefghijklmnopqrstuvwxyz"
)

VALUE: Final = ord("?")
"""What stands for a value in a digest."""

NOTHING: Final = -1
"""Stands for a position where there is none."""


class Draft:
    """A text of which the first `end` bytes are valid. Behind them is a NUL, and room for one more.

    `number` is where a number begins whose end is not read yet, else NOTHING.
    """

    __slots__ = ("end", "number", "text")

    def __init__(self, text: bytearray, end: int, number: int = NOTHING) -> None:
        self.text = text
        self.end = end
        self.number = number

    @property
    def is_open(self) -> bool:
        """Whether the text ends with a number that may grow."""
        return self.number != NOTHING

    @property
    def last(self) -> int:
        """The last byte that may be folded: a number that may grow is left alone."""
        return (self.number if self.is_open else self.end) - 1

    def cut(self, end: int) -> None:
        """Let the text end at `end`, but for a number that may grow: that moves there."""
        if self.is_open:
            digits = self.text[self.number : self.end]
            self.text[end : end + len(digits)] = digits
            self.number = end
            end += len(digits)
        self.text[end] = 0
        self.end = end

    def finished(self) -> bytes:
        """Return the text as it is shown."""
        return finished(bytes(self.text[: self.end]))


def finished(text: bytes) -> bytes:
    """Return a text up to its first NUL, without blanks and semicolons at its end.

    To ProxySQL it is a C string. The first byte stays even if it is a semicolon.
    """
    if text.endswith((b" ", b";")):
        text = text[:1] + text[1:].rstrip(b" ;")
    return text.partition(b"\0")[0]
