"""What a report on digests shows: totals, shares, load over time, and the digests that matter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import pairwise

from proxyctl.stats.counters import SAME_SECOND, Bundle, Key, Tally, tally
from proxyctl.stats.model import DigestTable, Group, Load

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

    @property
    def size(self) -> int:
        """Bytes of the text. A surrogate escape stands for one."""
        return len(self.text.encode("utf-8", "replace"))


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

    @property
    def seconds(self) -> int:
        """How long it is."""
        return self.end - self.start


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


_PLACE = (Group.HOSTGROUP, Group.SCHEMANAME, Group.USERNAME)
"""What the load is broken down by."""

_ORDERS: tuple[Callable[[Load], float], ...] = (
    lambda load: load.sum_time,
    lambda load: load.count_star,
    lambda load: load.average,
    lambda load: load.max_time,
)


def make_report(moments: Sequence[DigestTable], *, limit: int = LIMIT) -> Report:
    """Return the report on one moment, or on the time between the first and the last of several.

    Raises: ValueError where two moments are of the same second.
    """
    ordered = sorted(moments, key=lambda moment: moment.taken_at)
    if any(earlier.taken_at == later.taken_at for earlier, later in pairwise(ordered)):
        raise ValueError(SAME_SECOND)
    intervals: list[Interval] = []
    first = last = tally(ordered[0], parts=_PLACE)
    groups = {} if ordered[1:] else first.groups
    for moment in ordered[1:]:
        earlier, last = last, tally(moment, parts=_PLACE, earlier=last)
        intervals.append(_interval(earlier, last, groups))
    loads = {key: load for key, group in groups.items() if (load := group.total()).count_star}
    places: dict[Key, Load] = defaultdict(Load)
    for group in groups.values():
        for place, load in group.parts.items():
            if load.count_star:
                places[place] += load
    whole = Bundle(parts=places).total()
    return Report(
        start=ordered[0].taken_at if intervals else min(first.began_at, first.table.taken_at),
        end=last.table.taken_at,
        calls=whole.count_star,
        time=whole.sum_time,
        count=len(loads),
        limit=limit,
        digests=tuple(_described(key, groups[key], loads[key]) for key in _listed(loads, limit)),
        hostgroups=_parts(places, 0),
        schemas=_parts(places, 1),
        users=_parts(places, 2),
        intervals=tuple(intervals),
    )


def _interval(earlier: Tally, later: Tally, groups: dict[Key, Bundle]) -> Interval:
    """Return the load between two moments. Changes: groups, to which the growth is added."""
    is_reset = later.was_cleared_since(earlier)
    whole = Load()
    by_hostgroup: dict[int, int] = defaultdict(int)
    for key, group in later.groups.items():
        grown = group if is_reset else group.since(earlier.groups.get(key))
        sums = groups.setdefault(key, Bundle(group.text))
        for place, load in grown.parts.items():
            whole += load
            by_hostgroup[int(place[0])] += load.sum_time
            sums.parts.setdefault(place, Load())
            sums.parts[place] += load
    return Interval(
        start=earlier.table.taken_at,
        end=later.table.taken_at,
        calls=whole.count_star,
        time=whole.sum_time,
        by_hostgroup=dict(by_hostgroup),
        is_reset=is_reset,
    )


def _listed(loads: Mapping[Key, Load], limit: int) -> list[Key]:
    """Return the first digests of every order, the one with most time first."""
    first: set[Key] = set()
    for order in _ORDERS:
        first.update(nlargest(limit, loads, key=lambda key: (order(loads[key]), key)))
    return sorted(first, key=lambda key: (-loads[key].sum_time, key))


def _described(key: Key, group: Bundle, load: Load) -> ReportDigest:
    hostgroups, schemas, users = (
        [part.name for part in _parts(group.parts, at)] for at in range(len(_PLACE))
    )
    return ReportDigest(
        digest=str(key[0]),
        text=group.text,
        calls=load.count_star,
        time=load.sum_time,
        max_time=load.max_time,
        rows=load.rows,
        hostgroups=tuple(map(int, hostgroups)),
        schemas=tuple(schemas),
        users=tuple(users),
    )


def _parts(places: Mapping[Key, Load], at: int) -> tuple[Part, ...]:
    """Return the load by one column of the places, the biggest first."""
    sums: dict[str, Load] = defaultdict(Load)
    for place, load in places.items():
        sums[str(place[at])] += load
    parts = (Part(name, load.count_star, load.sum_time) for name, load in sums.items())
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
