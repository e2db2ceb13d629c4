r"""The first pass: read a query once and write its text, with values as `?` and without comments.

The meaning of a byte depends on the byte before it, so one regular expression finds the next
special place, and everything before it is copied at once. There are five kinds of special places:

    ' or "       a value, up to its closing quote
    a digit      a value if it begins a word: `12`, `1.5e-3`, `0x1F`; `2col` stays unchanged
    NULL         a value if replace_null is on
    /* # --      comments; the inside of `/*! ... */` stays
    white space  becomes one blank, none at the start

ProxySQL's reader has habits that nobody would design, but digests depend on them. So they are kept,
each with a comment that begins with "Habit:".

The room for the text may end before the query. Then the passes of `folding.py` shorten the text,
and reading goes on where it stopped.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from proxyctl.routing.digest.draft import (
    BLANKS_AND_LOWER,
    BLANKS_ONLY,
    DIGITS,
    FIRST_DIGIT,
    IN_DOUBLE_QUOTES,
    IN_SINGLE_QUOTES,
    NOTHING,
    NULL,
    NUMBER,
    NUMBER_REST,
    SPACES,
    VALUE,
    WORD,
    Draft,
)
from proxyctl.routing.digest.options import DigestOptions

BLANK: Final = ord(" ")
_STAR, _SLASH, _MINUS = b"*/-"
_LINE_ENDS: Final = frozenset(b"\r\n")

LONGEST_COMMENT: Final = 1023
"""Bytes of one block comment that ProxySQL keeps, with the two closing bytes."""

_PLACE = b"|".join(
    (
        rb"""['"#]""",
        FIRST_DIGIT,
        rb"[ \t\r\n](?<=[ \t\r\n][ \t\r\n])",
        rb"/\*",
        rb"--[ \t\r\n](?<!---[ \t\r\n])",
    )
)
_PLACES = {False: re.compile(_PLACE), True: re.compile(_PLACE + b"|" + NULL)}
_LONGEST_PLACE: Final = 5
"""The number of bytes that decide whether a place is special."""

_STRINGS = {
    ord("'"): re.compile(IN_SINGLE_QUOTES).match,
    ord('"'): re.compile(IN_DOUBLE_QUOTES).match,
}
_SPACE_RUN = re.compile(rb"[ \t\r\n]*+").match
_NUMBER_REST = re.compile(NUMBER_REST).match
_NUMBER = re.compile(NUMBER).fullmatch
# Habit: a slash that closes a comment, with a star after it, opens another comment inside.
_IN_BLOCK = re.compile(rb"/\*|\*/(?!\*)").search
_IN_HASH = re.compile(rb"[\r\n#]").search
_IN_DASHES = re.compile(rb"[\r\n]|--[ \t\r\n]").search
_VERSION = re.compile(rb"[/*! 0-9]*+").match


class Reader(Draft):
    """Reads one query into a draft.

    `certain` is False if ProxySQL's text has a byte that it never wrote, left from another query.
    Our text has a blank there.
    """

    __slots__ = (
        "_before", "_blocks_end", "_comment", "_dashes_end", "_lower", "_number_from", "_options",
        "_places", "_unlike", "_written", "at", "certain", "length", "query", "room",
    )  # fmt: skip

    def __init__(self, query: bytes, options: DigestOptions) -> None:
        self.query = query
        self.length = len(query)
        self.room = min(self.length, options.max_query_length)
        super().__init__(bytearray(b" ") * (self.room + 2), 0)
        self.at = 0
        self._number_from = NOTHING
        self._comment: bytes | None = None
        self.certain = True
        self._options = options
        self._places = _PLACES[options.replace_null]
        # No comment begins from these places on. Habit up to 2.7: places count bytes of the query,
        # the room bytes of the text. In a query longer than the room no comment begins beyond it.
        self._blocks_end, self._dashes_end = self.room - 1, self.room - 2
        if options.drops_last_comment:
            self._blocks_end = self._dashes_end = self.length - 2
        self._lower = BLANKS_AND_LOWER if options.lowercase else BLANKS_ONLY
        self._written = 0
        self._before = 0
        self._unlike = self.length > 0 and query[0] in SPACES

    def read(self) -> None:
        """Read on until the query or the room ends."""
        if self.is_open:
            self._continue_number()
        search = self._places.search
        while self.at < self.length and self.end < self.room:
            if self._unlike:
                self._one_byte()
                continue
            # Not beyond the room: many rounds would search the same bytes many times.
            place = search(self.query, self.at, self.at + self.room - self.end + _LONGEST_PLACE + 1)
            self._copy_to(self.length if place is None else place.start())
            if place is not None and self.end < self.room:
                _HANDLERS[self.query[self.at]](self)
        self._close()

    def read_on(self) -> None:
        """Read on after the text was shortened."""
        if self.end:
            self._before = self.text[self.end - 1]
        self._unlike = True
        self.read()

    def _close(self) -> None:
        self.text[self.end] = 0
        self._written = max(self._written, self.end + 1)

    @property
    def comment(self) -> bytes | None:
        """The first block comment, as a C string; None if there is none."""
        return None if self._comment is None else self._comment.partition(b"\0")[0]

    def finished(self) -> bytes:
        """Return the finished text of the digest."""
        if self.is_open and self.end >= self.room and self.text[self.number] in DIGITS:
            # The room ended within a number.
            self.text[self.number] = VALUE
            self.text[self.number + 1] = 0
        return super().finished()

    def _copy_to(self, stop: int) -> None:
        """Copy plain bytes up to `stop`, as far as there is room."""
        start, end = self.at, self.end
        if stop == start:
            return
        count = min(stop - start, self.room - end)
        self.at = stop = start + count
        self.end = end + count
        self.text[end : self.end] = self.query[start:stop].translate(self._lower)
        self._before = self.query[stop - 1]

    def _one_byte(self) -> None:
        """Read one byte if the byte that ProxySQL remembers is not the byte before it."""
        self._unlike = False
        window = bytes((self._before,)) + self.query[self.at : self.at + _LONGEST_PLACE]
        at_start = self.end == 0 and window[1] in SPACES
        if at_start or self._places.match(window, 1):
            _HANDLERS[window[1]](self)
        else:
            self._copy_to(self.at + 1)

    def _put_value(self) -> None:
        self.text[self.end] = VALUE
        self.end += 1

    def _spaces(self) -> None:
        """Skip white space after white space, or at the start."""
        run = _SPACE_RUN(self.query, self.at)
        stop = run.end() if run else self.at
        if self.end == 0:
            self.at = stop
            return
        text = self.text
        while self.at < stop and self.end < self.room:
            if text[self.end - 1] in SPACES:
                self.at = stop
            else:
                # Habit: after a line comment there may be no blank yet, and ProxySQL writes it one
                # byte too far. The byte between is whatever the buffer held.
                if self.end >= self._written:
                    self.certain = False
                self.end += 1
                self.at += 1
            text[self.end] = BLANK
            self._written = max(self._written, self.end + 1)
        self._before = BLANK

    def _string(self) -> None:
        value = _STRINGS[self.query[self.at]](self.query, self.at)
        if value is None:
            # Without a closing quote the string swallows the rest of the query.
            self.at = self.length
            return
        self._put_value()
        self._before = 0
        self.at = value.end()

    def _null(self) -> None:
        self._put_value()
        self._before = VALUE
        self.at += 4

    def _number_start(self) -> None:
        self.number = self.end
        self._number_from = self.at
        self._continue_number()

    def _continue_number(self) -> None:
        """Copy the bytes of a possible number; at their end, replace a number with `?`.

        Habit: ProxySQL checks the last byte of the query before it copies the byte. After digits it
        is lost, even if it is a letter, and the number stays open.
        """
        query = self.query
        run = _NUMBER_REST(query, self.at)
        stop = run.end() if run else self.at
        is_last = stop == self.length
        if is_last:
            stop -= 1
        self._copy_to(stop)
        if self.end >= self.room:
            return
        self._written = max(self._written, self.end)
        start = self._number_from
        if start != stop and not _NUMBER(query, start, stop):
            self.number = NOTHING
            return
        self.end = self.number
        self._put_value()
        self._before = VALUE
        if is_last and query[stop] in WORD:
            self.at = self.length
        else:
            self.number = NOTHING
            self._unlike = query[stop] == _MINUS

    def _block_comment(self) -> None:
        if self.at >= self._blocks_end:
            self._copy_to(self.at + 1)
            return
        query, start, before = self.query, self.at, self._before
        is_command, earlier = False, b""
        while True:
            is_command = is_command or query[start + 2 : start + 3] == b"!"
            start += 2 + is_command
            if start >= self.length - 1:
                # Habit: with at most one byte after the mark there is no comment.
                self._note_comment(earlier)
                self.at, self._before, self._unlike = start, before, True
                return
            stop, closes = self._comment_part(start, before)
            if closes or stop == self.length:
                break
            earlier += query[start : min(stop, start + LONGEST_COMMENT)]
            earlier = earlier[:LONGEST_COMMENT]
            start, before = stop, query[stop - 1]
        inside = query[start:stop]
        self._note_comment(earlier + inside, closes=closes)
        if closes and (is_command or self._options.keep_comment):
            self._paste_comment(inside)
        self.at = stop
        if closes:
            self._end_comment()

    def _comment_part(self, start: int, before: int) -> tuple[int, bool]:
        """Return the end of a part of a block comment, and whether the comment ends there.

        After a part that does not end the comment comes another `/*`, or nothing.
        """
        query = self.query
        # Habit: the byte before the mark counts, so `*/*/` is a complete comment.
        if before == _STAR and query[start] == _SLASH:
            return start + 1, True
        match = _IN_BLOCK(query, start + (query[start] == _SLASH))
        if match is None:
            return self.length, False
        if query[match.start()] == _STAR:
            return match.end(), True
        return match.start(), False

    def _note_comment(self, comment: bytes, *, closes: bool = False) -> None:
        """Keep the first comment for its hints."""
        if self._comment is None and comment:
            comment = comment[:LONGEST_COMMENT].translate(BLANKS_ONLY)
            self._comment = _without_mark(comment) if closes else comment

    def _paste_comment(self, inside: bytes) -> None:
        """Copy a comment unchanged, or the text of a `/*!` comment after its version."""
        keep = self._options.keep_comment
        comment = (b"/*" + inside if keep else inside)[:LONGEST_COMMENT]
        if not keep:
            comment = _without_mark(comment) if len(comment) > 1 else b""
        version = _VERSION(comment)
        skipped = version.end() if version else 0
        if skipped == len(comment):
            return
        pasted = comment[0 if keep else skipped :][: self.room - self.end]
        self.text[self.end : self.end + len(pasted)] = pasted
        self.end += len(pasted)

    def _end_comment(self) -> None:
        """Write one blank for a block comment, except at the start and at the end of the room."""
        self._before = BLANK
        if 0 < self.end < self.room and self.text[self.end - 1] != BLANK:
            self.text[self.end] = BLANK
            self.end += 1
        if self.at < self.length and self.query[self.at] in SPACES:
            self._spaces()

    def _hash_comment(self) -> None:
        self._line_comment(1, _IN_HASH)

    def _dashes_comment(self) -> None:
        if self.at >= self._dashes_end:
            self._copy_to(self.at + 1)
            return
        self._line_comment(3, _IN_DASHES)

    def _line_comment(
        self, mark: int, search: Callable[[bytes, int], re.Match[bytes] | None]
    ) -> None:
        """Skip to the end of the line; `mark` is the length of the mark that opens the comment."""
        query, length = self.query, self.length
        while True:
            if self.at < length - mark:
                self.at += mark
                # Habit up to 2.7: with exactly one byte more than a mark left, this is no comment.
                if self.at == length - mark - 1 and not self._options.drops_last_comment:
                    self._unlike = True
                    return
            # Habit: another mark cannot begin at the byte after the mark.
            if query[self.at] in _LINE_ENDS:
                break
            match = search(query, self.at + 1)
            if match is None:
                self.at = length
                return
            self.at = match.start()
            if query[self.at] in _LINE_ENDS:
                break
            self._before = query[self.at - 1]
        self.at += 1
        self._before = BLANK


def _without_mark(comment: bytes) -> bytes:
    """Return a comment without its last two bytes, which close it unless it was truncated."""
    return comment[:-2] if len(comment) > 1 else comment


_HANDLERS: Final[dict[int, Callable[[Reader], None]]] = {
    **dict.fromkeys(b"'\"", Reader._string),
    **dict.fromkeys(b"0123456789", Reader._number_start),
    **dict.fromkeys(b" \t\r\n", Reader._spaces),
    **dict.fromkeys(b"nN", Reader._null),
    _SLASH: Reader._block_comment,
    ord("#"): Reader._hash_comment,
    _MINUS: Reader._dashes_comment,
}
