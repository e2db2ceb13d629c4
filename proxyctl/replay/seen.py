"""What the statistics of an instance show: its digests, and what they were made under."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol


class SeenDigest(NamedTuple):
    """A row of stats_mysql_query_digest, by its own column names.

    Shape: unique by (hostgroup, schemaname, username, client_address, digest); `hostgroup` is -1
    for answers from the query cache; `client_address` is '' unless clients are tracked.
    `digest_text` has at most max_digest_length bytes; bytes that are not UTF-8 are surrogate
    escapes. Units: first_seen and last_seen in unix seconds, the times in microseconds.
    """

    hostgroup: int
    schemaname: str
    username: str
    client_address: str
    digest: str
    digest_text: str
    count_star: int
    first_seen: int
    last_seen: int
    sum_time: int
    min_time: int
    max_time: int
    sum_rows_affected: int = 0
    sum_rows_sent: int = 0

    @property
    def text(self) -> bytes:
        """The digest text as bytes."""
        return self.digest_text.encode("utf-8", "surrogateescape")


class SeenRows(Protocol):
    """Rows that can be gone through more than once, and are not all held as objects."""

    def __iter__(self) -> Iterator[SeenDigest]:
        """Yield the rows, in any order."""

    def __len__(self) -> int:
        """Return how many there are."""


@dataclass(frozen=True)
class DigestTable:
    """stats_mysql_query_digest at one moment, and where it comes from.

    Shape: `variables` are those of mysql-query_digests, by full name, as they were at RUNTIME.
    Units: `taken_at` in unix seconds of the instance's clock, `uptime` in seconds, None where it
    is not known.
    """

    name: str
    address: str
    version: str
    taken_at: int
    rows: SeenRows
    variables: Mapping[str, str] = field(default_factory=dict)
    uptime: int | None = None
