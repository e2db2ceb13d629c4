"""A query in, its digest out.

A plain query takes one round of reading and folding. Another one is read with care, and in as many
rounds as folding makes room for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from spookyhash import hash64

from proxyctl.routing.digest.blanks import Tightener, needs_folding
from proxyctl.routing.digest.draft import Draft, Folder, finished
from proxyctl.routing.digest.lists import GroupFolder, ListFolder
from proxyctl.routing.digest.options import DigestOptions
from proxyctl.routing.digest.plain import PlainReader, draft_of
from proxyctl.routing.digest.reading import Reader


class Digest(NamedTuple):
    """What ProxySQL makes of a query before it looks at rules."""

    text: bytes
    """What match_digest sees. stats_mysql_query_digest has its first max_digest_length bytes."""
    number: int
    """What the column `digest` is compared with: 64 bits, without a sign."""
    comment: bytes | None
    """The first block comment, without its marks and cut after 1,021 bytes: hints stand in it.

    One without an end is here as well; ProxySQL then reads on in memory that it never wrote.
    """
    certain: bool
    """False if ProxySQL takes a byte of the text from whatever its buffer held before.

    It does after a line comment that follows text at once, when the next line begins with white
    space: `a,-- name` and then an indented `b`. Each query may then count under another digest.
    Our text has a blank there, as was meant.
    """

    @property
    def hexadecimal(self) -> str:
        """The number as ProxySQL shows it: `0x` and 16 digits."""
        return f"0x{self.number:016X}"


class Digester:
    """Makes digests of queries under one set of options. It keeps nothing between queries."""

    def __init__(self, options: DigestOptions | None = None) -> None:
        self.options = options = options or DigestOptions()
        self._plain = PlainReader(lowercase=options.lowercase, replace_null=options.replace_null)
        self._needs_folding = needs_folding(no_digits=options.no_digits)
        self._folders = _folders(options)

    def digest(self, query: bytes | str) -> Digest:
        """Return the digest of one query, as its bytes travel to ProxySQL (text: as UTF-8)."""
        if isinstance(query, str):
            query = query.encode("utf-8", "surrogateescape")
        return self._digest_plainly(query) or self.digest_with_care(query)

    def digest_with_care(self, query: bytes) -> Digest:
        """Return the same as `digest`, without the shorter way for plain queries."""
        reader = Reader(query, self.options)
        read_in_rounds(reader, self._folders)
        text = reader.finished()
        return Digest(text, digest_number(text, self.options), reader.comment, reader.certain)

    def _digest_plainly(self, query: bytes) -> Digest | None:
        """Return the digest of a query that takes one round and no care, else None."""
        if len(query) > self.options.max_query_length:
            return None
        found = self._plain.read(query)
        if found is None:
            return None
        text, ends_open = found
        if self._needs_folding(text):
            draft = draft_of(text, ends_open=ends_open)
            for folder in self._folders:
                draft.cut(folder.fold(draft.text, 0, draft.last, is_open=ends_open))
            text = draft.finished()
        else:
            text = finished(text)
        return Digest(text, digest_number(text, self.options), None, certain=True)


def digest_number(text: bytes, options: DigestOptions) -> int:
    """Return the number of a digest text: SpookyHash V2, 64 bits, seed 0, of what is stored."""
    return int(hash64(text[: options.max_digest_length]))


@dataclass(slots=True)
class _Pass:
    """One pass over a draft, and what it has to know from the round before."""

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
        """Settle where to begin in the next round, after a round that saved so many bytes."""
        moved = saved - self.saved if self.folder.from_end else 0
        self.start = max(self.stopped - moved - self.folder.back, 0)


def read_in_rounds(reader: Reader, folders: Sequence[Folder]) -> None:
    """Read and fold until the query ends, or folding makes no more room."""
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
    found: list[Folder] = [
        Tightener(no_digits=options.no_digits, keep_comment=options.keep_comment)
    ]
    if options.values:
        found.append(ListFolder(options.values))
    if options.values and options.groups:
        found.append(GroupFolder(options.values, options.groups))
    return found
