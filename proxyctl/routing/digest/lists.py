"""The passes that fold lists of values, `(?,?,?,...)`, and rows of such lists, `(?,...),...`."""

from __future__ import annotations

import re
from typing import Final

from proxyctl.routing.digest.draft import VALUE, move
from proxyctl.routing.digest.spelling import DIGITS

_COMMA, _CLOSE = b",)"
_OPERATORS: Final = frozenset(b"+-*/%")

_DOTS = b"..."
_IN_BRACKETS = re.compile(rb"\)|\.\.\.|\?,\?[,)]").search
_IN_LAST_BRACKETS = re.compile(rb"\)|\.\.\.").search
_LIST = re.compile(rb"\?,\?[,)]").match
_PAIRS = re.compile(rb"(?:\?,)*").match


class ListFolder:
    """Within brackets, keeps the first `limit` of many values and writes `...` for the others."""

    from_end: Final = True

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._folded = b"?," * limit + _DOTS
        self.back = len(b"(" + self._folded + b"+ d") + 1

    def fold(self, text: bytearray, start: int, last: int, *, is_open: bool) -> int:
        """Shorten the text as the module says."""
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
        """Fold a list if it is long enough, and return where reading and writing go on."""
        folded = self._folded
        stop = _end_of_pairs(text, read, last)
        closes = stop < last and text[stop + 1] == _CLOSE
        if stop - read + closes < len(folded):
            return stop, move(text, read, stop, write)
        text[write : write + len(folded)] = folded
        # What stands before the bracket goes with the values, whatever it is.
        return (stop + 1 if closes else stop - 1), write + len(folded)


def _next_in_brackets(text: bytearray, read: int, last: int, last_list: int) -> tuple[int, bool]:
    """Return up to where to copy at least one byte, and whether that is still in brackets."""
    if read > last:
        return read + 1, True
    search = _IN_BRACKETS if read < last_list else _IN_LAST_BRACKETS
    found = search(text, read, last + 1)
    if found and found.start() == read and text[read] == VALUE:
        found = search(text, read + 1, last + 1)
    if found is None:
        return last + 1, True
    byte = text[found.start()]
    if byte == VALUE:
        return found.start(), True
    return found.end(), byte != _CLOSE


def _end_of_pairs(text: bytearray, start: int, last: int) -> int:
    found = _PAIRS(text, start, last + 1)
    return found.end() if found else start


def _more_values(text: bytearray, read: int, last: int) -> tuple[int, bool]:
    """Return where the values after a `...` end, and whether a bracket closes there."""
    ahead = _end_of_pairs(text, read + (text[read] == _COMMA), last)
    closes = ahead < last and text[ahead] == VALUE and text[ahead + 1] == _CLOSE
    return ahead + closes, closes


class GroupFolder:
    """Keeps the first `groups` of many folded lists in a row and writes `...` for the others."""

    from_end: Final = False

    def __init__(self, values: int, groups: int) -> None:
        self._group = b"(" + b"?," * values + b"...)"
        self._groups = groups
        self._size = len(self._group) + 1
        self.back = self._size * (groups + 2)
        self._search = re.compile(re.escape(self._group) + rb"|\),\.\.\.").search

    def fold(self, text: bytearray, start: int, last: int, *, is_open: bool) -> int:  # noqa: ARG002
        """Shorten the text as the module says."""
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
                    # No shorter row is long enough either. Dots may follow the last bracket.
                    bracket = text.rfind(b")", read, ahead)
                    write = move(text, read, bracket, write)
                    read = bracket
            stop = self._next(text, read, last, first=read == start)
            write = move(text, read, stop, write)
            read = stop
        return write

    def _row(self, text: bytearray, read: int, last: int) -> tuple[int, int]:
        """Return where a row of groups ends and how many there are."""
        ahead, count = read, 0
        while text.startswith(self._group, ahead) and ahead + self._size - 2 <= last:
            ahead += self._size - 1
            ahead += text[ahead] == _COMMA
            count += 1
        return ahead, count

    def _more_groups(self, text: bytearray, read: int, last: int) -> int:
        """Return where the groups after a `...` end."""
        ahead = read + (text[read] in b", ")
        while text.startswith(self._group, ahead) and ahead + self._size - 2 <= last:
            ahead += self._size
            if ahead - 1 == last:
                return last
        return ahead

    def _next(self, text: bytearray, read: int, last: int, *, first: bool) -> int:
        """Return up to where to copy at least one byte."""
        begin = read + (text[read] != _CLOSE)
        if first:
            # The row and its dots may have come in two rounds.
            dots = text.find(b"),...", max(read - 4, 0), min(read + 5, last + 1))
            if 0 <= dots < read:
                return dots + 5
        found = self._search(text, begin, last + 1)
        if found is None:
            return last + 1
        return found.end() if text[found.start()] == _CLOSE else found.start()
