"""The rows of stats_mysql_query_digest, and the whole table at one moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Self

LARGEST = (1 << 63) - 1
"""The largest value of a counter: ProxySQL shows counters through SQLite."""
_LARGEST_HOSTGROUP = (1 << 31) - 1

CACHE = -1
"""The hostgroup of answers from the query cache."""


class Group(StrEnum):
    """A column by which rows are grouped, by ProxySQL's name."""

    DIGEST = "digest"
    HOSTGROUP = "hostgroup"
    SCHEMANAME = "schemaname"
    USERNAME = "username"
    CLIENT_ADDRESS = "client_address"
    INSTANCE = "instance"
    """The instance that counted: not a column of its table, but of a list over many instances."""


TABLE_GROUPS = tuple(group for group in Group if group is not Group.INSTANCE)
"""The groups that are columns of stats_mysql_query_digest: its primary key."""


SHORT_NAMES = {
    "schema": Group.SCHEMANAME,
    "user": Group.USERNAME,
    "client": Group.CLIENT_ADDRESS,
}


class SeenDigest(NamedTuple):
    """A row of stats_mysql_query_digest, by its own column names.

    No two rows have the same hostgroup, schemaname, username, client_address and digest. Units:
    times in microseconds.
    """

    hostgroup: int
    """The hostgroup; -1 for answers from the query cache."""
    schemaname: str
    """The schema."""
    username: str
    """The user."""
    client_address: str
    """The address of the client; '' unless clients are tracked."""
    digest: str
    """The digest, such as 0x1E092DAEFFBBF262."""
    digest_text: str
    """The digest text, at most max_digest_length bytes; bytes that are not UTF-8 are surrogate
    escapes."""
    count_star: int
    """The number of queries."""
    first_seen: int
    """When the first query ended. Units: unix seconds."""
    last_seen: int
    """When the last query ended. Units: unix seconds."""
    sum_time: int
    """The time of all queries."""
    min_time: int
    """The shortest time."""
    max_time: int
    """The longest time."""
    sum_rows_affected: int = 0
    """The rows that the queries changed."""
    sum_rows_sent: int = 0
    """The rows that the queries returned."""

    @property
    def key(self) -> tuple[int, str, str, str, str]:
        """The primary key of the table."""
        return self[:5]

    @property
    def text(self) -> bytes:
        """The digest text as bytes."""
        return self.digest_text.encode("utf-8", "surrogateescape")

    @property
    def is_possible(self) -> bool:
        """Whether ProxySQL could have counted the numbers of the row."""
        return (
            0 <= self.min_time <= self.max_time <= LARGEST
            and 0 <= self.first_seen <= self.last_seen <= LARGEST
            and 0 <= self.count_star <= LARGEST
            and 0 <= self.sum_time <= LARGEST
            and 0 <= self.sum_rows_affected <= LARGEST
            and 0 <= self.sum_rows_sent <= LARGEST
            and -_LARGEST_HOSTGROUP <= self.hostgroup <= _LARGEST_HOSTGROUP
        )


@dataclass(slots=True)
class Load:
    """The sum of some rows of the table, by column name.

    Units: times in microseconds.
    """

    entries: int = 0
    """The number of rows."""
    count_star: int = 0
    """The number of queries."""
    sum_time: int = 0
    """The time of all queries."""
    max_time: int = 0
    """The longest time since the counters began, also in the difference of two readings."""
    sum_rows_sent: int = 0
    """The rows that the queries returned."""
    sum_rows_affected: int = 0
    """The rows that the queries changed."""

    def add(self, row: SeenDigest) -> None:
        """Add a row. Changes: self."""
        self.entries += 1
        self.count_star += row.count_star
        self.sum_time += row.sum_time
        if row.max_time > self.max_time:
            self.max_time = row.max_time
        self.sum_rows_sent += row.sum_rows_sent
        self.sum_rows_affected += row.sum_rows_affected

    def __iadd__(self, other: Load) -> Self:
        """Add the load of other rows. Changes: self."""
        self.entries += other.entries
        self.count_star += other.count_star
        self.sum_time += other.sum_time
        self.max_time = max(self.max_time, other.max_time)
        self.sum_rows_sent += other.sum_rows_sent
        self.sum_rows_affected += other.sum_rows_affected
        return self

    def __sub__(self, earlier: Load) -> Load:
        """Return the growth since an earlier reading of the same counters."""
        return Load(
            self.entries,
            self.count_star - earlier.count_star,
            self.sum_time - earlier.sum_time,
            self.max_time,
            self.sum_rows_sent - earlier.sum_rows_sent,
            self.sum_rows_affected - earlier.sum_rows_affected,
        )

    @property
    def average(self) -> float:
        """Average time of a query in microseconds; 0 without queries."""
        return self.sum_time / self.count_star if self.count_star else 0.0

    @property
    def rows(self) -> int:
        """Rows sent and affected."""
        return self.sum_rows_sent + self.sum_rows_affected


@dataclass(frozen=True)
class DigestRows:
    """The `count` rows of the table, in any order; each iteration reads them again.

    The rows of a stream can be read only once.
    """

    count: int
    read: Callable[[], Iterable[SeenDigest]]

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[SeenDigest]:
        return iter(self.read())


@dataclass(frozen=True)
class DigestTable:
    """stats_mysql_query_digest at one moment, and the instance that it comes from."""

    name: str
    """The name of the instance in the files, or its address."""
    address: str
    """The address of the admin interface."""
    version: str
    """The version as the instance reports it."""
    taken_at: int
    """When the table was read, by the instance's clock. Units: unix seconds."""
    rows: DigestRows | Sequence[SeenDigest]
    """The rows of the table."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """The mysql-query_digests variables at RUNTIME, by full name."""
    uptime: int | None = None
    """The ProxySQL_Uptime; None if unknown. Units: seconds."""

    @property
    def started_at(self) -> int | None:
        """When ProxySQL started, in unix seconds; None if unknown."""
        return None if self.uptime is None else self.taken_at - self.uptime


SWITCH = "mysql-query_digests"
TRACKS_CLIENTS = "mysql-query_digests_track_hostname"
NOT_COUNTING = f"{SWITCH} is false: ProxySQL does not count digests"


def is_counting(variables: Mapping[str, str]) -> bool:
    """Return whether ProxySQL counts digests (the default)."""
    return variables.get(SWITCH, "true").lower() in ("true", "1")


def tracks_clients(variables: Mapping[str, str]) -> bool:
    """Return whether ProxySQL counts digests per client (not the default)."""
    return variables.get(TRACKS_CLIENTS, "false").lower() in ("true", "1")
