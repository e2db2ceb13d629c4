"""Passes that shorten a digest text: they fold blanks, signs, lists of values and rows of lists.

Each pass reads the text from `start` to `last`, both included, moves the bytes that stay to the
front and returns their end. Text before `start` was read in an earlier round. Since text moves to
the front while it is read, the bytes before the current byte may be overwritten. ProxySQL reads
them nevertheless; so do the passes, in the same order, or digests would differ. So no pass is a
plain replacement.

Each pass has `back`: the distance before its last stop at which the next round starts; `from_end`:
whether the bytes that later passes save move that stop; and `fold`, which shortens a text.
`is_open`: after `last` is a number that may still grow.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from proxyctl.routing.digest.draft import DIGITS, VALUE, WORD


def move(text: bytearray, read: int, stop: int, write: int) -> int:
    """Move text[read:stop] to `write` and return its new end."""
    if read != write:
        text[write : write + stop - read] = text[read:stop]
    return write + stop - read


# Blanks and signs: `a = ?, + ?` becomes `a = ?,?` -------------------------------------------------

_BLANK, _CLOSE, _COMMA, _STAR, _SLASH = b" ),*/"
_SIGNS: Final = frozenset(b"+-")
_AFTER_SIGN: Final = frozenset(b"? ")
_BEFORE_OPERATOR: Final = frozenset(b"?)")

# Blanks beside a bracket or a comma, or between an operator and a value; and signs.
_TIGHT = (
    rb"[ ](?:(?=[),])|(?<=[(,][ ])|(?=\?)(?<=[-+*/%][ ])|(?=[-+*/%])(?<=\?[ ]))"
    rb"|[-+]"
)
_TIGHTER = {
    False: re.compile(_TIGHT).search,
    True: re.compile(_TIGHT + rb"|[0-9]+").search,
}
_FOLDABLE = {
    False: re.compile(_TIGHT + rb"|\?,\?|\.\.\.").search,
    True: re.compile(_TIGHT + rb"|\?,\?|\.\.\.|[0-9]").search,
}


def needs_folding(*, no_digits: bool) -> Callable[[bytes], re.Match[bytes] | None]:
    """Return a search that finds nothing in a text that no pass would shorten."""
    return _FOLDABLE[no_digits]


class Tightener:
    """Removes redundant blanks and the signs of values; with no_digits, digits as well."""

    back: Final = len("? + d") + 1
    from_end: Final = True

    def __init__(self, *, no_digits: bool, keep_comment: bool) -> None:
        self._search = _TIGHTER[no_digits]
        self._keep_comment = keep_comment

    def fold(self, text: bytearray, start: int, last: int, *, is_open: bool) -> int:  # noqa: ARG002
        """Shorten the text as the class says."""
        search = self._search
        read = write = start
        # The byte after the last one counts as well, but is not removed.
        while match := search(text, read, last + 2):
            at = match.start()
            if at > last:
                break
            write = move(text, read, at, write)
            read = at + 1
            byte = text[at]
            if byte == _BLANK:
                keep = self._keep_comment and _ends_comment(text, at)
            elif byte in _SIGNS:
                keep = not _is_sign(text, at)
            else:
                read = min(match.end(), last + 1)
                # One `?` for a run of digits; none at the very start, none after another `?`.
                keep = write > 0 and text[write - 1] != VALUE
                byte = VALUE
            if keep:
                text[write] = byte
                write += 1
        return move(text, read, last + 1, write)


def _ends_comment(text: bytearray, at: int) -> bool:
    """Return whether the blank stays because a kept comment ends before it.

    Then neither a comma nor a value after the blank removes it, although `*/` ends like a division.
    """
    if text[at + 1] == _CLOSE or at < 2 or text[at - 1] != _SLASH:
        return False
    return text[at - 2] == _STAR


def _is_sign(text: bytearray, at: int) -> bool:
    """Return whether ProxySQL reads + or - as the sign of the value after it."""
    before = text[at - 1] if at > 0 else 0x30
    if before == _BLANK:
        before = text[at - 2] if at > 1 else 0x30
        if before in WORD:
            return True
    elif before in WORD:
        return False
    return before not in _BEFORE_OPERATOR and text[at + 1] in _AFTER_SIGN


# Lists, `(?,?,?,...)`, and rows of lists, `(?,...),...` -------------------------------------------

_OPERATORS: Final = frozenset(b"+-*/%")

_DOTS = b"..."
_IN_BRACKETS = re.compile(rb"\)|\.\.\.|\?,\?[,)]").search
_IN_LAST_BRACKETS = re.compile(rb"\)|\.\.\.").search
_LIST = re.compile(rb"\?,\?[,)]").match
_PAIRS = re.compile(rb"(?:\?,)*").match


class ListFolder:
    """Keeps the first `limit` values of a list in brackets and writes `...` for the others."""

    from_end: Final = True

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._folded = b"?," * limit + _DOTS
        self.back = len(b"(" + self._folded + b"+ d") + 1

    def fold(self, text: bytearray, start: int, last: int, *, is_open: bool) -> int:
        """Shorten the text as the class says."""
        if text.find(b"?,?", start, last + 1) < 0 and text.find(b",...", start, last + 1) < 0:
            return last + 1
        last_list = last - 2 * self._limit
        read = write = start
        inside = False
        while read <= last:
            if not inside:
                at = text.find(b"(", read, last + 1)
                inside = at >= 0
                stop = at + 1 if inside else last + 1
                write = move(text, read, stop, write)
                read = stop
                continue
            if read < last and write > 4 and text[write - 4 : write] == b",...":
                ahead, closes = _more_values(text, read, last)
                if closes or ahead > read + 1:
                    read = ahead
                if is_open and ahead >= last and text[ahead] in DIGITS:
                    break
            if (
                read < last_list
                and text[read - 1] not in _OPERATORS
                and _LIST(text, read, last + 1)
            ):
                read, write = self._list(text, read, last, write)
                continue
            stop, inside = _next_in_brackets(text, read, last, last_list)
            write = move(text, read, stop, write)
            read = stop
        return write

    def _list(self, text: bytearray, read: int, last: int, write: int) -> tuple[int, int]:
        """Fold a list if it is long enough; return the next positions to read and to write."""
        folded = self._folded
        stop = _end_of_pairs(text, read, last)
        closes = stop < last and text[stop + 1] == _CLOSE
        if stop - read + closes < len(folded):
            return stop, move(text, read, stop, write)
        text[write : write + len(folded)] = folded
        # The byte before the bracket goes with the values, whatever it is.
        return (stop + 1 if closes else stop - 1), write + len(folded)


def _next_in_brackets(text: bytearray, read: int, last: int, last_list: int) -> tuple[int, bool]:
    """Return the end of the bytes to copy, at least one, and whether it is still in brackets."""
    if read > last:
        return read + 1, True
    search = _IN_BRACKETS if read < last_list else _IN_LAST_BRACKETS
    match = search(text, read, last + 1)
    if match and match.start() == read and text[read] == VALUE:
        match = search(text, read + 1, last + 1)
    if match is None:
        return last + 1, True
    byte = text[match.start()]
    if byte == VALUE:
        return match.start(), True
    return match.end(), byte != _CLOSE


def _end_of_pairs(text: bytearray, start: int, last: int) -> int:
    match = _PAIRS(text, start, last + 1)
    return match.end() if match else start


def _more_values(text: bytearray, read: int, last: int) -> tuple[int, bool]:
    """Return the end of the values after a `...`, and whether a bracket closes there."""
    ahead = _end_of_pairs(text, read + (text[read] == _COMMA), last)
    closes = ahead < last and text[ahead] == VALUE and text[ahead + 1] == _CLOSE
    return ahead + closes, closes


class GroupFolder:
    """Keeps the first `groups` folded lists of a row and writes `...` for the others."""

    from_end: Final = False

    def __init__(self, values: int, groups: int) -> None:
        self._group = b"(" + b"?," * values + b"...)"
        self._groups = groups
        self._size = len(self._group) + 1
        self.back = self._size * (groups + 2)
        self._search = re.compile(re.escape(self._group) + rb"|\),\.\.\.").search

    def fold(self, text: bytearray, start: int, last: int, *, is_open: bool) -> int:  # noqa: ARG002
        """Shorten the text as the class says."""
        if text.find(_DOTS, max(start - 5, 0), last + 1) < 0:
            return last + 1
        group, size = self._group, self._size
        last_row = last - size * (self._groups + 1) + 2
        read = write = start
        while read <= last:
            if write > 5 and text[write - 5 : write] == b"),...":
                ahead = self._more_groups(text, read, last)
                if ahead > read + 1:
                    read = ahead - 1
                    continue
                if ahead >= last:
                    break
            if read <= last_row and text.startswith(group, read):
                ahead, count = self._row(text, read, last)
                if count > self._groups:
                    write = move(text, read, read + size * self._groups, write)
                    text[write : write + 3] = _DOTS
                    write += 3
                    read = ahead
                    if read > last:
                        break
                else:
                    # No shorter part of the row is long enough. Dots may follow the last bracket.
                    bracket = text.rfind(b")", read, ahead)
                    write = move(text, read, bracket, write)
                    read = bracket
            stop = self._next(text, read, last, first=read == start)
            write = move(text, read, stop, write)
            read = stop
        return write

    def _row(self, text: bytearray, read: int, last: int) -> tuple[int, int]:
        """Return the end of a row of groups, and the number of its groups."""
        ahead, count = read, 0
        while text.startswith(self._group, ahead) and ahead + self._size - 2 <= last:
            ahead += self._size - 1
            ahead += text[ahead] == _COMMA
            count += 1
        return ahead, count

    def _more_groups(self, text: bytearray, read: int, last: int) -> int:
        """Return the end of the groups after a `...`."""
        ahead = read + (text[read] in b", ")
        while text.startswith(self._group, ahead) and ahead + self._size - 2 <= last:
            ahead += self._size
            if ahead - 1 == last:
                return last
        return ahead

    def _next(self, text: bytearray, read: int, last: int, *, first: bool) -> int:
        """Return the end of the bytes to copy, at least one."""
        begin = read + (text[read] != _CLOSE)
        if first:
            # The row and its dots may come in two rounds.
            dots = text.find(b"),...", max(read - 4, 0), min(read + 5, last + 1))
            if 0 <= dots < read:
                return dots + 5
        match = self._search(text, begin, last + 1)
        if match is None:
            return last + 1
        return match.end() if text[match.start()] == _CLOSE else match.start()


Folder = Tightener | ListFolder | GroupFolder
