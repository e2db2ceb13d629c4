"""The text of a digest while it is made: a buffer, its end, and a number that may still grow.

Passes shorten the text in place. Each takes it from `start` to `last`, both included, moves what
stays to the front and returns where it ends. Before `start` is text that the pass has seen in an
earlier round. Since text moves to the front while it is read, the bytes before the one that is
looked at may have been written over. ProxySQL looks at them all the same; so do the passes, in the
same order, or digests would differ. That is why nothing there is a plain replacement.
"""

from __future__ import annotations

from typing import Final, Protocol

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


class Folder(Protocol):
    """One pass."""

    @property
    def back(self) -> int:
        """How far before the place where it stopped it begins again in the next round."""

    @property
    def from_end(self) -> bool:
        """Whether that place moves along with what the later passes saved."""

    def fold(self, text: bytearray, start: int, last: int, *, is_open: bool) -> int:
        """Shorten the text; `is_open`: behind `last` is a number that may grow."""


def move(text: bytearray, read: int, stop: int, write: int) -> int:
    """Move text[read:stop] to `write` and return where it ends."""
    if read != write:
        text[write : write + stop - read] = text[read:stop]
    return write + stop - read
