"""A list of the digests that cost most: its options and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from proxyctl.stats.model import (
    NOT_COUNTING,
    TRACKS_CLIENTS,
    Group,
    Load,
    is_counting,
    tracks_clients,
)
from proxyctl.stats.replay.comparison import Outcome


class Sort(StrEnum):
    """What is listed first. Shares of the load have the order of `time`."""

    TIME = "time"
    AVG = "avg"
    MAX = "max"
    COUNT = "count"
    ROWS_SENT = "rows-sent"
    ROWS_AFFECTED = "rows-affected"
    TIME_PER_ROW = "time-per-row"


@dataclass(frozen=True)
class SeenSince:
    """A moment: so many seconds before the instance's now, or in unix seconds."""

    seconds: int
    is_ago: bool


@dataclass(frozen=True)
class TopOptions:
    """What to list.

    Shape: an empty filter takes everything. `hostgroups` to `texts` and `seen_since` choose rows of
    the table before they are put together, `min_count` and `min_avg_us` what came of that. One of
    the values of a filter has to fit; a text is looked for without regard to upper and lower case,
    with `%` for any run of characters.
    """

    sort: Sort = Sort.TIME
    groups: tuple[Group, ...] = (Group.DIGEST,)
    limit: int = 20
    hostgroups: tuple[int, ...] = ()
    schemanames: tuple[str, ...] = ()
    usernames: tuple[str, ...] = ()
    client_addresses: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    seen_since: SeenSince | None = None
    min_count: int = 0
    min_avg_us: int = 0
    with_rules: bool = False

    @property
    def is_filtered(self) -> bool:
        """Whether a filter may leave something out."""
        filters = (
            self.hostgroups,
            self.schemanames,
            self.usernames,
            self.client_addresses,
            self.digests,
            self.texts,
            self.seen_since,
            self.min_count,
            self.min_avg_us,
        )
        return any(filters)


@dataclass(frozen=True)
class Caught:
    """What the rules in force make of a part of a group.

    `outcomes` are several where it cannot be told from a digest, and none where nothing is known.
    """

    outcomes: tuple[Outcome, ...]
    load: Load


@dataclass(frozen=True)
class TopRow:
    """Grouped rows of the table, by the table's own column names.

    Shape: `group` has a value for each column that was grouped by, '' and -1 as they stand.
    `digest_text` is None unless grouped by digest. `entries` is how many rows were put together.
    `min_time` is the smallest that is not 0. `share` is the part of the whole instance's query
    time, `cumulative_share` that of this row and those above it.
    Units: first_seen and last_seen in unix seconds, times in microseconds.
    """

    group: Mapping[Group, str | int]
    digest_text: str | None
    is_cut: bool
    entries: int
    count_star: int
    first_seen: int
    last_seen: int
    sum_time: int
    min_time: int
    max_time: int
    sum_rows_affected: int
    sum_rows_sent: int
    share: float
    cumulative_share: float
    caught: tuple[Caught, ...] = ()

    @property
    def avg_time(self) -> float:
        """Time of a query in microseconds."""
        return self.sum_time / self.count_star if self.count_star else 0.0

    @property
    def rows(self) -> int:
        """Rows sent and affected."""
        return self.sum_rows_sent + self.sum_rows_affected

    @property
    def time_per_row(self) -> float | None:
        """Time of a row in microseconds; None where there were none."""
        return self.sum_time / self.rows if self.rows else None

    @property
    def rows_per_query(self) -> float:
        """Rows of a query."""
        return self.rows / self.count_star if self.count_star else 0.0


@dataclass(frozen=True)
class Top:
    """The list, and what it is a part of.

    `total` is the whole table, `selected` what the filters left, in `groups` groups; `rows` are at
    most `options.limit` of those. `variables` are those of mysql-query_digests in force,
    `hostgroup_names` those of the files, by number.
    Units: `taken_at` in unix seconds of the instance's clock.
    """

    name: str
    address: str
    version: str
    taken_at: int
    options: TopOptions
    rows: tuple[TopRow, ...]
    total: Load
    selected: Load
    groups: int
    variables: Mapping[str, str] = field(default_factory=dict)
    hostgroup_names: Mapping[int, str] = field(default_factory=dict)

    def notes(self) -> list[str]:
        """Return what a reader of the list has to know."""
        found = []
        if not is_counting(self.variables):
            earlier = "; what is listed is from before it was switched off"
            found.append(NOT_COUNTING + (earlier if self.total.entries else ""))
        asks_client = Group.CLIENT_ADDRESS in self.options.groups or self.options.client_addresses
        if asks_client and not tracks_clients(self.variables):
            found.append(f"{TRACKS_CLIENTS} is false: clients are not told apart")
        return found
