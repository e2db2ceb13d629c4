"""The loads of a digest table, grouped by digest or by other columns: one side of a diff."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from proxyctl.stats.counters import Reading
from proxyctl.stats.model import DigestTable, Group, SeenDigest


@dataclass(slots=True)
class Cost:
    """What queries cost. Units: times in microseconds.

    `max_time` counts from the start of the counters, also in a part of that time.
    """

    calls: int = 0
    time: int = 0
    max_time: int = 0
    rows_sent: int = 0
    rows_affected: int = 0

    @property
    def average(self) -> float:
        """Microseconds a call; 0 where there was none."""
        return self.time / self.calls if self.calls else 0.0

    @property
    def reading(self) -> Reading:
        """The counters that show whether they were cleared."""
        return Reading(self.calls, self.time)

    def count(self, row: SeenDigest) -> None:
        """Count a row in. Changes: self."""
        self.calls += row.count_star
        self.time += row.sum_time
        self.max_time = max(self.max_time, row.max_time)
        self.rows_sent += row.sum_rows_sent
        self.rows_affected += row.sum_rows_affected

    def add(self, other: Cost) -> None:
        """Count another load in. Changes: self."""
        self.calls += other.calls
        self.time += other.time
        self.max_time = max(self.max_time, other.max_time)
        self.rows_sent += other.rows_sent
        self.rows_affected += other.rows_affected

    def since(self, earlier: Cost) -> Cost:
        """Return what came after an earlier reading of the same counters."""
        return Cost(
            self.calls - earlier.calls,
            self.time - earlier.time,
            self.max_time,
            self.rows_sent - earlier.rows_sent,
            self.rows_affected - earlier.rows_affected,
        )


Key = tuple[str | int, ...]
"""The values of the columns by which rows are grouped, in their order."""


@dataclass(slots=True)
class Bundle:
    """Digests with the same key. `text` is that of one of them."""

    text: str
    hostgroups: dict[int, Cost] = field(default_factory=dict)

    def total(self) -> Cost:
        """Return the load over all hostgroups."""
        found = Cost()
        for load in self.hostgroups.values():
            found.add(load)
        return found


@dataclass(frozen=True)
class Tally:
    """A digest table whose rows have been grouped.

    Shape: `first_seen` is the first time that any digest was seen, in unix seconds; None where
    there is none.
    """

    table: DigestTable
    by: tuple[Group, ...]
    groups: dict[Key, Bundle]
    first_seen: int | None

    @property
    def began_at(self) -> int:
        """When the counters began, in unix seconds; the time of the table where it is empty."""
        return self.table.taken_at if self.first_seen is None else self.first_seen


def tally(
    table: DigestTable, by: Sequence[Group] = (Group.DIGEST,), *, earlier: Tally | None = None
) -> Tally:
    """Group the rows of a table, in one pass.

    A text that `earlier`, grouped by the same columns, has too is kept once. Raises: what the rows
    raise.
    """
    groups: dict[Key, Bundle] = {}
    first_seen: int | None = None
    columns = [str(column) for column in by]
    for row in table.rows:
        key = tuple([getattr(row, column) for column in columns])
        group = groups.get(key)
        if group is None:
            known = earlier.groups.get(key) if earlier else None
            text = row.digest_text if Group.DIGEST in by else ""
            group = groups[key] = Bundle(known.text if known and known.text == text else text)
        load = group.hostgroups.get(row.hostgroup)
        if load is None:
            load = group.hostgroups[row.hostgroup] = Cost()
        load.count(row)
        if first_seen is None or row.first_seen < first_seen:
            first_seen = row.first_seen
    return Tally(table, tuple(by), groups, first_seen)
