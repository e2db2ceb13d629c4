"""Turn a query into its digest.

A plain query needs one round of reading and folding. Any other query is read with care, in as many
rounds as folding makes room for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from spookyhash import hash64

from proxyctl.routing.digest.draft import (
    BLANKS_AND_LOWER,
    BLANKS_ONLY,
    FIRST_DIGIT,
    IN_DOUBLE_QUOTES,
    IN_SINGLE_QUOTES,
    NOTHING,
    NULL,
    NUMBER_REST,
    Draft,
    finished,
)
from proxyctl.routing.digest.folding import (
    Folder,
    GroupFolder,
    ListFolder,
    Tightener,
    needs_folding,
)
from proxyctl.routing.digest.options import DigestOptions
from proxyctl.routing.digest.reading import Reader


class Digest(NamedTuple):
    """The digest that ProxySQL makes of a query before it tries rules."""

    text: bytes
    """The text that match_digest sees. stats_mysql_query_digest shows max_digest_length bytes."""
    number: int
    """The number that a rule's `digest` is compared with: 64 bits, unsigned."""
    comment: bytes | None
    """The first block comment, which may have hints, without its marks and up to 1,021 bytes.

    A comment without an end counts too; ProxySQL then reads on in memory that it never wrote.
    """
    certain: bool
    """False if a byte of ProxySQL's text is left over in its buffer from an earlier query.

    That happens after a line comment directly behind text, when the next line begins with white
    space: `a,-- name` and then an indented `b`. Each query may then have another digest. Our text
    has a blank there.
    """

    @property
    def hexadecimal(self) -> str:
        """The number as ProxySQL shows it: `0x` and 16 digits."""
        return f"0x{self.number:016X}"


class Digester:
    """Makes the digests of queries under one set of options."""

    def __init__(self, options: DigestOptions | None = None) -> None:
        self.options = options = options or DigestOptions()
        self._plain = PlainReader(lowercase=options.lowercase, replace_null=options.replace_null)
        self._needs_folding = needs_folding(no_digits=options.no_digits)
        self._folders = _folders(options)

    def digest(self, query: bytes | str) -> Digest:
        """Return the digest of one query, given as bytes or as text (encoded as UTF-8)."""
        if isinstance(query, str):
            query = query.encode("utf-8", "surrogateescape")
        return self._digest_plainly(query) or self.digest_with_care(query)

    def digest_with_care(self, query: bytes) -> Digest:
        """Return the same as `digest`, without the shortcut for plain queries."""
        reader = Reader(query, self.options)
        read_in_rounds(reader, self._folders)
        text = reader.finished()
        return Digest(text, digest_number(text, self.options), reader.comment, reader.certain)

    def _digest_plainly(self, query: bytes) -> Digest | None:
        """Return the digest of a plain query, else None."""
        if len(query) > self.options.max_query_length:
            return None
        plain = self._plain.read(query)
        if plain is None:
            return None
        text, ends_open = plain
        if self._needs_folding(text):
            end = len(text)
            draft = Draft(bytearray(text) + b"\0\0", end, end - 1 if ends_open else NOTHING)
            for folder in self._folders:
                draft.cut(folder.fold(draft.text, 0, draft.last, is_open=ends_open))
            text = draft.finished()
        else:
            text = finished(text)
        return Digest(text, digest_number(text, self.options), None, certain=True)


def digest_number(text: bytes, options: DigestOptions) -> int:
    """Return the number of a digest: SpookyHash V2, 64 bits, seed 0, of the stored text."""
    return int(hash64(text[: options.max_digest_length]))


@dataclass(slots=True)
class _Pass:
    """One pass over a draft, with its state from the previous round."""

    folder: Folder
    start: int = 0
    stopped: int = 0
    saved: int = 0

    def run(self, draft: Draft) -> None:
        last = draft.last
        start = self.start if self.start < last else 0
        end = self.folder.fold(draft.text, start, last, is_open=draft.is_open)
        self.saved = max(last + 1 - end, 0)
        self.stopped = end
        draft.cut(end)

    def plan_next(self, saved: int) -> None:
        """Set the start of the next round, after a round that saved `saved` bytes."""
        moved = saved - self.saved if self.folder.from_end else 0
        self.start = max(self.stopped - moved - self.folder.back, 0)


def read_in_rounds(reader: Reader, folders: Sequence[Folder]) -> None:
    """Read and fold until the query ends or folding frees no more room."""
    passes = [_Pass(folder) for folder in folders]
    reader.read()
    while True:
        full = reader.end
        for step in passes:
            step.run(reader)
        saved = full - reader.end
        if reader.at >= reader.length or reader.end >= reader.room or saved == 0:
            return
        if reader.end:
            for step in passes:
                step.plan_next(saved)
        reader.read_on()


def _folders(options: DigestOptions) -> list[Folder]:
    folders: list[Folder] = [
        Tightener(no_digits=options.no_digits, keep_comment=options.keep_comment)
    ]
    if options.values:
        folders.append(ListFolder(options.values))
    if options.values and options.groups:
        folders.append(GroupFolder(options.values, options.groups))
    return folders


# Plain queries -----------------------------------------------------------------------------------

# NUMBER_REST may continue after the first half of NUMBER: `0x1e+5` is no number.
_WHOLE_NUMBER = (
    FIRST_DIGIT
    + rb"(?:(?<=0)[xX][0-9a-fA-F]*+|[0-9.eE]*+(?:(?<=[eE])[-+][0-9.eE]*+)*)"
    + rb"(?!(?<=[eE])[-+])(?![\w$.])"
)
_PLAIN_VALUES = b"|".join((IN_SINGLE_QUOTES, IN_DOUBLE_QUOTES, _WHOLE_NUMBER))
# Matched as a whole; otherwise a megabyte of it would be searched from each of its bytes.
_NO_VALUE = rb"""|(['"].*+|""" + FIRST_DIGIT + NUMBER_REST + rb")"
_SPLIT = {
    False: re.compile(_PLAIN_VALUES + _NO_VALUE, re.DOTALL).split,
    True: re.compile(_PLAIN_VALUES + b"|" + NULL + _NO_VALUE, re.DOTALL).split,
}
_COMMENT = re.compile(rb"#|/\*|--[ \t\r\n]").search
_BLANKS = re.compile(rb" {2,}").sub

# At the end of the query the reader does not count these as part of a number.
_DOUBTFUL_ENDS = (b".", b"+", b"-")
# The last bytes of values that are no numbers: strings and NULL.
_NO_NUMBER_ENDS = (b"'", b'"', b"l", b"L")


class PlainReader:
    """Reads plain queries: makes the same text as a `Reader`, several times faster.

    A plain query fits the room, and has no comments, no unclosed quotes and no words that begin
    with a digit. Nearly every query that a program sends is plain. One regular expression then
    finds the values, and the habits of ProxySQL's reader have no effect.
    """

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
