"""The pass that removes blanks and signs that say nothing: `a = ?, + ?` becomes `a = ?,?`.

Runs of white space are one blank already: that is done while the query is read, in `reading.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from proxyctl.routing.digest.draft import VALUE, move
from proxyctl.routing.digest.spelling import WORD

_BLANK, _CLOSE, _STAR, _SLASH = b" )*/"
_SIGNS: Final = frozenset(b"+-")
_AFTER_SIGN: Final = frozenset(b"? ")
_BEFORE_OPERATOR: Final = frozenset(b"?)")

# Blanks next to a bracket or a comma, or between an operator and a value; and signs.
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
    """Return a search that finds nothing in a text that no pass shortens, here or in `lists.py`."""
    return _FOLDABLE[no_digits]


class Tightener:
    """Removes blanks that say nothing and the signs of values; with no_digits, digits as well."""

    back: Final = len("? + d") + 1
    from_end: Final = True

    def __init__(self, *, no_digits: bool, keep_comment: bool) -> None:
        self._search = _TIGHTER[no_digits]
        self._keep_comment = keep_comment

    def fold(self, text: bytearray, start: int, last: int, *, is_open: bool) -> int:  # noqa: ARG002
        """Shorten the text as the module says."""
        search = self._search
        read = write = start
        # What follows the last byte counts as well, but is not removed.
        while found := search(text, read, last + 2):
            at = found.start()
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
                read = min(found.end(), last + 1)
                # One mark for a run of digits; none at the very start, none after another mark.
                keep = write > 0 and text[write - 1] != VALUE
                byte = VALUE
            if keep:
                text[write] = byte
                write += 1
        return move(text, read, last + 1, write)


def _ends_comment(text: bytearray, at: int) -> bool:
    """Return whether the blank stays since a kept comment ends before it.

    Neither a comma behind it removes it then, nor a value, as if `*/` ended in a division sign.
    """
    if text[at + 1] == _CLOSE or at < 2 or text[at - 1] != _SLASH:
        return False
    return text[at - 2] == _STAR


def _is_sign(text: bytearray, at: int) -> bool:
    """Return whether + or - is the sign of the value behind it, or taken for one."""
    before = text[at - 1] if at > 0 else 0x30
    if before == _BLANK:
        before = text[at - 2] if at > 1 else 0x30
        if before in WORD:
            return True
    elif before in WORD:
        return False
    return before not in _BEFORE_OPERATOR and text[at + 1] in _AFTER_SIGN
