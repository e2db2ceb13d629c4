"""What a report on digests shows: totals, shares, load over time, and the digests that matter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import pairwise

from proxyctl.stats.counters import Counters, Growth, totals
from proxyctl.stats.model import DigestTable

LIMIT = 250
"""How many digests are listed by default, for each of the orders in `_ORDERS`."""


@dataclass(frozen=True)
class ReportDigest:
    """One digest, over all hostgroups, schemas, users and clients.

    Units: `time` and `max_time` in microseconds. `max_time` is that since the statistics began,
    also where the rest is the difference of two snapshots. `hostgroups`, `schemas` and `users` have
    the one with most time first.
    """

    digest: str
    text: str
    calls: int
    time: int
    max_time: int
    rows: int
    hostgroups: tuple[int, ...]
    schemas: tuple[str, ...]
    users: tuple[str, ...]

    @property
    def average(self) -> float:
        """Microseconds a call."""
        return self.time / self.calls


@dataclass(frozen=True)
class Part:
    """The load of one hostgroup, schema or user. Units: `time` in microseconds."""

    name: str
    calls: int
    time: int


@dataclass(frozen=True)
class Interval:
    """The load between two neighbouring snapshots.

    Shape: `by_hostgroup` has the time of each. Units: `start` and `end` in unix seconds, times in
    microseconds. With `is_reset` the counters were reset in between: what was before that is lost.
    """

    start: int
    end: int
    calls: int
    time: int
    by_hostgroup: dict[int, int]
    is_reset: bool


@dataclass(frozen=True)
class Report:
    """Everything that a report shows.

    Shape: `digests` are those that are among the first `limit` by time, calls, average or maximum,
    the one with most time first; `count` tells how many there are. `intervals` is empty for a
    single snapshot, which counts since the statistics began. Units: unix seconds, microseconds.
    """

    start: int
    end: int
    calls: int
    time: int
    count: int
    limit: int
    digests: tuple[ReportDigest, ...]
    hostgroups: tuple[Part, ...]
    schemas: tuple[Part, ...]
    users: tuple[Part, ...]
    intervals: tuple[Interval, ...]


_Place = tuple[int, str, str]
"""hostgroup, schema, user"""


class _Sums:
    """The growth of a digest; `others` is set once the digest is seen at a second place."""

    __slots__ = ("calls", "max_time", "others", "place", "rows", "time")

    def __init__(self, grown: Growth, place: _Place) -> None:
        self.calls = grown.calls
        self.time = grown.time
        self.max_time = grown.row.max_time
        self.rows = grown.rows
        self.place = place
        self.others: dict[_Place, int] | None = None

    def add(self, grown: Growth, place: _Place) -> None:
        """Add the growth of another row, or of the same row in another interval. Changes: self."""
        if self.others is None and place != self.place:
            self.others = {self.place: self.time}
        if self.others is not None:
            self.others[place] = self.others.get(place, 0) + grown.time
        self.calls += grown.calls
        self.time += grown.time
        self.max_time = max(self.max_time, grown.row.max_time)
        self.rows += grown.rows


_ORDERS: tuple[Callable[[_Sums], float], ...] = (
    lambda sums: sums.time,
    lambda sums: sums.calls,
    lambda sums: sums.time / sums.calls,
    lambda sums: sums.max_time,
)


class _Tally:
    """Sums by digest, and by place."""

    def __init__(self) -> None:
        self.by_digest: dict[str, _Sums] = {}
        self.by_place: dict[_Place, list[int]] = {}
        self._place_of: dict[_Place, _Place] = {}

    def add(self, grown: Growth) -> None:
        """Add the growth of a row. Changes: self."""
        row = grown.row
        place = (row.hostgroup, row.schemaname, row.username)
        place = self._place_of.setdefault(place, place)
        part = self.by_place.setdefault(place, [0, 0])
        part[0] += grown.calls
        part[1] += grown.time
        sums = self.by_digest.get(row.digest)
        if sums is None:
            self.by_digest[row.digest] = _Sums(grown, place)
        else:
            sums.add(grown, place)

    def listed(self, limit: int) -> list[str]:
        """Return the first digests of every order, the one with most time first."""
        first: set[str] = set()
        for order in _ORDERS:
            items = ((order(sums), digest) for digest, sums in self.by_digest.items())
            first.update(digest for _, digest in nlargest(limit, items))
        return sorted(first, key=lambda digest: (-self.by_digest[digest].time, digest))


def make_report(moments: Sequence[DigestTable], *, limit: int = LIMIT) -> Report:
    """Return the report on one moment, or on the time between the first and the last of several.

    Raises: ValueError where two moments are of the same second.
    """
    ordered = sorted(moments, key=lambda moment: moment.taken_at)
    if any(earlier.taken_at == later.taken_at for earlier, later in pairwise(ordered)):
        raise ValueError("two snapshots of the same second")
    tally = _Tally()
    intervals: list[Interval] = []
    start = ordered[0].taken_at
    for grown in _all_grown(ordered, intervals):
        tally.add(grown)
        if len(ordered) == 1 and grown.row.first_seen < start:
            start = grown.row.first_seen
    listed = tally.listed(limit)
    texts = dict(_texts_of(set(listed), ordered))
    return Report(
        start=start,
        end=ordered[-1].taken_at,
        calls=sum(calls for calls, _ in tally.by_place.values()),
        time=sum(time for _, time in tally.by_place.values()),
        count=len(tally.by_digest),
        limit=limit,
        digests=tuple(_described(name, texts[name], tally.by_digest[name]) for name in listed),
        hostgroups=_parts(tally.by_place, lambda place: str(place[0])),
        schemas=_parts(tally.by_place, lambda place: place[1]),
        users=_parts(tally.by_place, lambda place: place[2]),
        intervals=tuple(intervals),
    )


def _all_grown(ordered: Sequence[DigestTable], intervals: list[Interval]) -> Iterator[Growth]:
    """Yield the growth of rows between neighbouring moments. Changes: intervals, one a pair."""
    if len(ordered) == 1:
        yield from totals(ordered[0])
        return
    for earlier, later in pairwise(ordered):
        counters = Counters(earlier)
        calls = time = 0
        by_hostgroup: dict[int, int] = defaultdict(int)
        for grown in counters.grown(later):
            calls += grown.calls
            time += grown.time
            by_hostgroup[grown.row.hostgroup] += grown.time
            yield grown
        intervals.append(
            Interval(
                start=earlier.taken_at,
                end=later.taken_at,
                calls=calls,
                time=time,
                by_hostgroup=dict(by_hostgroup),
                is_reset=counters.were_reset,
            )
        )


def _texts_of(digests: set[str], moments: Sequence[DigestTable]) -> Iterator[tuple[str, str]]:
    """Yield digests and their texts. Those of all digests may be too much to keep."""
    for moment in reversed(moments):
        for row in moment.rows:
            if not digests:
                return
            if row.digest in digests:
                yield row.digest, row.digest_text
                digests = digests - {row.digest}


def _described(digest: str, text: str, sums: _Sums) -> ReportDigest:
    places = sums.others or {sums.place: sums.time}
    hostgroups: dict[int, int] = defaultdict(int)
    schemas: dict[str, int] = defaultdict(int)
    users: dict[str, int] = defaultdict(int)
    for (hostgroup, schema, user), time in places.items():
        hostgroups[hostgroup] += time
        schemas[schema] += time
        users[user] += time
    return ReportDigest(
        digest=digest,
        text=text,
        calls=sums.calls,
        time=sums.time,
        max_time=sums.max_time,
        rows=sums.rows,
        hostgroups=tuple(sorted(hostgroups, key=lambda name: (-hostgroups[name], name))),
        schemas=tuple(sorted(schemas, key=lambda name: (-schemas[name], name))),
        users=tuple(sorted(users, key=lambda name: (-users[name], name))),
    )


def _parts(by_place: dict[_Place, list[int]], name_of: Callable[[_Place], str]) -> tuple[Part, ...]:
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for place, (calls, time) in by_place.items():
        part = sums[name_of(place)]
        part[0] += calls
        part[1] += time
    parts = (Part(name, calls, time) for name, (calls, time) in sums.items())
    return tuple(sorted(parts, key=lambda part: (-part.time, -part.calls, part.name)))


def first_parts(parts: Iterable[Part], limit: int) -> list[Part]:
    """Return the biggest parts, and the others as one, so that there are `limit` at most."""
    every = list(parts)
    if len(every) <= limit:
        return every
    rest = every[limit - 1 :]
    others = Part(
        f"{len(rest):,} others",
        sum(part.calls for part in rest),
        sum(part.time for part in rest),
    )
    return [*every[: limit - 1], others]
