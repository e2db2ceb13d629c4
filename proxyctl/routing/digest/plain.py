r"""The first pass for plain queries: the same text as `reading.py` makes, several times faster.

Plain is what has room and is without comments, without quotes that do not close, and without words
that begin with a digit. That is nearly every query that a program sends. Values are then whatever
one regular expression finds, and the habits of ProxySQL's reader do not show.
"""

from __future__ import annotations

import re

from proxyctl.routing.digest.draft import NOTHING, Draft
from proxyctl.routing.digest.spelling import (
    BLANKS_AND_LOWER,
    BLANKS_ONLY,
    FIRST_DIGIT,
    IN_DOUBLE_QUOTES,
    IN_SINGLE_QUOTES,
    NULL,
    NUMBER_REST,
)

# The first half of NUMBER is the one that NUMBER_REST may go on behind: `0x1e+5` is no number.
_WHOLE_NUMBER = (
    FIRST_DIGIT
    + rb"(?:(?<=0)[xX][0-9a-fA-F]*+|[0-9.eE]*+(?:(?<=[eE])[-+][0-9.eE]*+)*)"
    + rb"(?!(?<=[eE])[-+])(?![\w$.])"
)
_VALUES = b"|".join((IN_SINGLE_QUOTES, IN_DOUBLE_QUOTES, _WHOLE_NUMBER))
# Taken whole, or a megabyte of it would be looked at from each of its bytes.
_NO_VALUE = rb"""|(['"].*+|""" + FIRST_DIGIT + NUMBER_REST + rb")"
_SPLIT = {
    False: re.compile(_VALUES + _NO_VALUE, re.DOTALL).split,
    True: re.compile(_VALUES + b"|" + NULL + _NO_VALUE, re.DOTALL).split,
}
_COMMENT = re.compile(rb"#|/\*|--[ \t\r\n]").search
_BLANKS = re.compile(rb" {2,}").sub

# At the end of the query the reader does not take these into a number.
_DOUBTFUL_ENDS = (b".", b"+", b"-")
# How values end that are no numbers: strings and NULL.
_NO_NUMBER_ENDS = (b"'", b'"', b"l", b"L")


class PlainReader:
    """Reads plain queries under some options."""

    def __init__(self, *, lowercase: bool, replace_null: bool) -> None:
        self._split = _SPLIT[replace_null]
        self._table = BLANKS_AND_LOWER if lowercase else BLANKS_ONLY

    def read(self, query: bytes) -> tuple[bytes, bool] | None:
        """Return the text and whether it ends with a number; None if the query is not plain."""
        if query.endswith(_DOUBTFUL_ENDS):
            return None
        pieces = self._split(query)
        if any(pieces[1::2]):
            return None
        text = b"?".join(pieces[::2])
        if _COMMENT(text):
            return None
        text = text.translate(self._table)
        if b"  " in text:
            text = _BLANKS(b" ", text)
        if text.startswith(b" "):
            text = text[1:]
        ends_open = len(pieces) > 1 and not pieces[-1] and not query.endswith(_NO_NUMBER_ENDS)
        return text, ends_open


def draft_of(text: bytes, *, ends_open: bool) -> Draft:
    """Return a text as a draft that can be folded."""
    end = len(text)
    return Draft(bytearray(text) + b"\0\0", end, end - 1 if ends_open else NOTHING)
