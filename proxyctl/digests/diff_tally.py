"""Snapshots brought together by digest, or by what is asked for: what a comparison compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from proxyctl.digests.diff_snapshot import DigestRow, Snapshot
from proxyctl.digests.top import Group as By


@dataclass(slots=True)
class Load:
    """What queries cost. Units: times in microseconds.

    `max_time` is that since the counters began, and not of a part of that time.
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

    def add(self, other: Load) -> None:
        """Count another load in."""
        self.calls += other.calls
        self.time += other.time
        self.max_time = max(self.max_time, other.max_time)
        self.rows_sent += other.rows_sent
        self.rows_affected += other.rows_affected

    def since(self, earlier: Load) -> Load:
        """Return what came after an earlier reading of the same counters."""
        return Load(
            self.calls - earlier.calls,
            self.time - earlier.time,
            self.max_time,
            self.rows_sent - earlier.rows_sent,
            self.rows_affected - earlier.rows_affected,
        )


Key = tuple[str | int, ...]
"""The values of the columns by which digests are brought together, in their order."""


@dataclass(slots=True)
class Bundle:
    """Digests with the same key. `text` is that of one of them."""

    text: str
    hostgroups: dict[int, Load] = field(default_factory=dict)

    def total(self) -> Load:
        """Return the load over all hostgroups."""
        found = Load()
        for load in self.hostgroups.values():
            found.add(load)
        return found


@dataclass(frozen=True)
class Tally:
    """A snapshot by groups.

    Shape: `oldest` is the first time that any digest was seen, None where there is none. Units:
    `taken_at` and `oldest` in unix seconds, `uptime` in seconds.
    """

    name: str
    address: str
    version: str
    taken_at: int
    uptime: int | None
    count: int
    variables: Mapping[str, str]
    by: tuple[By, ...]
    groups: dict[Key, Bundle]
    oldest: int | None

    @property
    def started_at(self) -> int | None:
        """When ProxySQL was started, in unix seconds; None where that is not known."""
        return None if self.uptime is None else self.taken_at - self.uptime


def tally(
    snapshot: Snapshot, by: Sequence[By] = (By.DIGEST,), *, earlier: Tally | None = None
) -> Tally:
    """Go through the rows of a snapshot once, and bring them together.

    Texts that `earlier`, by the same columns, has as well are not kept twice.

    Raises: what the rows raise.
    """
    groups: dict[Key, Bundle] = {}
    oldest: int | None = None
    columns = [str(column) for column in by]
    for row in snapshot.rows:
        key = tuple([getattr(row, column) for column in columns])
        group = groups.get(key)
        if group is None:
            known = earlier.groups.get(key) if earlier else None
            text = row.digest_text if By.DIGEST in by else ""
            group = groups[key] = Bundle(known.text if known and known.text == text else text)
        _count(group, row)
        if oldest is None or row.first_seen < oldest:
            oldest = row.first_seen
    return Tally(
        name=snapshot.name,
        address=snapshot.address,
        version=snapshot.version,
        taken_at=snapshot.taken_at,
        uptime=snapshot.uptime,
        count=snapshot.count,
        variables=dict(snapshot.variables),
        by=tuple(by),
        groups=groups,
        oldest=oldest,
    )


def _count(group: Bundle, row: DigestRow) -> None:
    load = group.hostgroups.get(row.hostgroup)
    if load is None:
        load = group.hostgroups[row.hostgroup] = Load()
    load.calls += row.count_star
    load.time += row.sum_time
    load.max_time = max(load.max_time, row.max_time)
    load.rows_sent += row.sum_rows_sent
    load.rows_affected += row.sum_rows_affected
