"""What to list, a group of rows with its figures, and the list of an instance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from proxyctl.stats.model import (
    NOT_COUNTING,
    TRACKS_CLIENTS,
    Group,
    Load,
    is_counting,
    tracks_clients,
)

if TYPE_CHECKING:
    from proxyctl.fleet.failed import Failed
    from proxyctl.stats.replay.comparison import QueryTreatment


class Sort(StrEnum):
    """The order of the list. `time` is also the order by share of the load."""

    TIME = "time"
    AVG = "avg"
    MAX = "max"
    COUNT = "count"
    ROWS_SENT = "rows-sent"
    ROWS_AFFECTED = "rows-affected"
    TIME_PER_ROW = "time-per-row"


@dataclass(frozen=True)
class TopOptions:
    """What to list. An empty filter passes all."""

    sort: Sort = Sort.TIME
    """The order, largest first."""
    groups: tuple[Group, ...] = (Group.DIGEST,)
    """The columns to group by."""
    limit: int = 20
    """The most groups."""
    columns: Mapping[Group, Sequence[str | int]] = field(default_factory=dict)
    """A row passes if it has one of the values of every column."""
    texts: tuple[str, ...] = ()
    """A row passes if its digest text contains one of them: case does not matter, `%` matches any
    run of characters."""
    seen_s: int = 0
    """A row passes if it was last seen at most this long ago. Units: seconds before the instance's
    current time."""
    min_count: int = 0
    """A group passes if it has at least this many queries."""
    min_avg_us: int = 0
    """A group passes if its average time is at least this. Units: microseconds."""

    @property
    def is_filtered(self) -> bool:
        """Whether a filter may exclude a digest."""
        return self != TopOptions(sort=self.sort, groups=self.groups, limit=self.limit)


RULE_GROUPS = (Group.DIGEST, Group.SCHEMANAME, Group.USERNAME)
"""The columns that decide which rule matches a query."""


class GroupSums(NamedTuple):
    """The sums of a group of rows of stats_mysql_query_digest, with the column names of that table.

    Units: times in microseconds, moments in unix seconds.
    """

    key: tuple[str | int, ...]
    """The values of the grouping columns, in their order; '' and -1 as in the table."""
    digest_text: str | None
    """The text of the digest; None unless `digest` is a grouping column."""
    entries: int
    """The number of rows in the group."""
    count_star: int
    """The number of queries."""
    first_seen: int
    """When the first query ended."""
    last_seen: int
    """When the last query ended."""
    sum_time: int
    """The time of all queries."""
    min_time: int
    """The smallest time that is not 0."""
    max_time: int
    """The longest time."""
    sum_rows_affected: int
    """The rows that the queries changed."""
    sum_rows_sent: int
    """The rows that the queries returned."""
    instances: tuple[str, ...] = ()
    """The instances that counted the group, in the order of the files; empty for one instance."""

    @property
    def avg_time(self) -> float:
        """Average time of a query in microseconds."""
        return self.sum_time / self.count_star if self.count_star else 0.0

    @property
    def time_per_row(self) -> float | None:
        """Time per row sent or affected, in microseconds; None without rows."""
        rows = self.sum_rows_sent + self.sum_rows_affected
        return self.sum_time / rows if rows else None

    @property
    def rows_per_query(self) -> float:
        """Rows sent or affected per query."""
        return (self.sum_rows_sent + self.sum_rows_affected) / max(self.count_star, 1)


FIGURES = GroupSums._fields[2:-1]
"""The figures of `GroupSums`, in order: from `entries` to `sum_rows_sent`."""


@dataclass(frozen=True)
class TopRow:
    """A group in a list."""

    group: Mapping[Group, str | int]
    """The value of each grouping column; '' and -1 as in the table."""
    sums: GroupSums
    """What was counted of the group."""
    is_cut: bool
    """Whether ProxySQL cut the text."""
    share: float
    """The part of the whole query time, from 0 to 1."""
    cumulative_share: float
    """The part of this row and all rows above it."""
    outcomes: tuple[QueryTreatment, ...] | None = None
    """What the rules in force do with the group: None if not requested, several if the digest does
    not decide, empty if unknown."""


@dataclass(frozen=True)
class CountedInstance:
    """An instance whose digests are in a list."""

    name: str
    """The name of the instance in the files, or its address."""
    address: str
    """`host:port`, or the path of the socket."""
    version: str
    """The version that the instance reports."""
    taken_at: int
    """When it was read. Units: unix seconds of the instance's clock."""
    began_at: int
    """When its counters began; without digests, when it was read. Units: unix seconds."""
    total: Load
    """The load of its whole table."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """The mysql-query_digests variables in force."""


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """The groups that cost most, wherever they were counted, and the load of all digests."""

    options: TopOptions
    """What was asked for."""
    rows: tuple[TopRow, ...]
    """The groups that pass the filters, at most `options.limit`."""
    total: Load
    """The load of all digests."""
    selected: Load
    """The load of the part that passes the filters."""
    groups: int
    """The number of groups that pass the filters."""
    instances: Sequence[CountedInstance] = ()
    """The instances whose digests were added up, in the order of the files; empty for one."""
    failed: Sequence[Failed] = ()
    """The instances of many that could not be read."""
    hostgroup_names: Mapping[int, str] = field(default_factory=dict)
    """The names that the files give to hostgroups, by number."""

    def notes(self) -> list[str]:
        """Return the remarks that belong above the list."""
        return []


@dataclass(frozen=True, kw_only=True)
class Top(Ranking):
    """The list of an instance."""

    name: str
    """The name of the instance in the files, or its address."""
    address: str
    """`host:port`, or the path of the socket."""
    version: str
    """The version that the instance reports."""
    taken_at: int
    """When it was read. Units: unix seconds of the instance's clock."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """The mysql-query_digests variables in force."""

    def notes(self) -> list[str]:
        """Return the remarks that belong above the list."""
        return [*counting_notes(self.variables, self.options, self.total)]


def counting_notes(variables: Mapping[str, str], options: TopOptions, total: Load) -> Iterator[str]:
    """Yield what the digest variables of an instance mean for a list of its digests."""
    if not is_counting(variables):
        earlier = "; what is listed dates from before it was turned off"
        yield NOT_COUNTING + (earlier if total.entries else "")
    by_client = Group.CLIENT_ADDRESS in (*options.groups, *options.columns)
    if by_client and not tracks_clients(variables):
        yield f"{TRACKS_CLIENTS} is false: digests are not counted per client"
