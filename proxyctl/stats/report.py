"""The contents of `digest report`: totals, shares, load over time, the digests with most time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import pairwise
from typing import NamedTuple

from proxyctl.errors import UsageError
from proxyctl.stats.counters import Bundle, CounterKey, Tally, doubts, growth, tally
from proxyctl.stats.differing_digests import apart_notes, with_names
from proxyctl.stats.model import DigestTable, Group, Load


class LoadShare(NamedTuple):
    """The load of one hostgroup, schema or user."""

    name: str
    load: Load


class ReportDigest(NamedTuple):
    """A digest, added up over all hostgroups, schemas, users and clients."""

    place: int
    """The rank by total time, from 1."""
    digest: str
    """The digest."""
    text: str
    """The digest text."""
    load: Load
    """The load of the digest."""
    hostgroups: Sequence[LoadShare]
    """The load by hostgroup, sorted by time, largest first."""
    schemas: Sequence[LoadShare]
    """The load by schema, sorted by time, largest first."""
    users: Sequence[LoadShare]
    """The load by user, sorted by time, largest first."""
    instances: Sequence[LoadShare] = ()
    """Of many instances: the load by instance, sorted by time, largest first."""
    over_time: Sequence[Load] = ()
    """Of a history: the load in each of the report's intervals."""


class Interval(NamedTuple):
    """The load between two neighbouring snapshots, or in a step of a history."""

    start: int
    """When it began: the time of the first snapshot. Units: unix seconds."""
    end: int
    """When it ended: the time of the second snapshot. Units: unix seconds."""
    load: Load
    """The load in between."""
    by_hostgroup: Mapping[int, int]
    """The query time, by hostgroup."""
    is_cleared: bool
    """Whether the counters were cleared in between, so that the counts before that are lost."""
    by_instance: Mapping[str, int] = {}
    """Of a history: the query time, by instance."""
    by_schema: Mapping[str, int] = {}
    """Of a history: the query time, by schema."""


@dataclass(frozen=True)
class DigestReport:
    """Everything that the page shows."""

    tables: Sequence[DigestTable]
    """The last of the snapshots, or the tables of live instances."""
    snapshots: int
    """The number of snapshots; 0 for a live instance."""
    notes: Sequence[str]
    """The reasons why the report may mislead."""
    start: int
    """When the counts began. Units: unix seconds."""
    total: Load
    """The load of all digests."""
    count: int
    """The number of all digests."""
    digests: Sequence[ReportDigest]
    """The digests with most time, out of `count`."""
    hostgroups: Sequence[LoadShare]
    """The load by hostgroup, sorted by time, largest first."""
    schemas: Sequence[LoadShare]
    """The load by schema, sorted by time, largest first."""
    users: Sequence[LoadShare]
    """The load by user, sorted by time, largest first."""
    intervals: Sequence[Interval] = ()
    """The load between neighbouring snapshots, or in the steps of a history. Empty for a single
    table, whose counts cover all time since the statistics began."""
    instances: Sequence[LoadShare] = ()
    """Of many instances: the load by instance, sorted by time, largest first."""

    @property
    def end(self) -> int:
        """When the last table was read, in unix seconds."""
        return max(table.taken_at for table in self.tables)


_PLACE = (Group.HOSTGROUP, Group.SCHEMANAME, Group.USERNAME)
"""The columns by which the report splits the load."""


def make_report(
    tables: Sequence[DigestTable], *, limit: int = 250, snapshots: int = 0
) -> DigestReport:
    """Return the report on one table, or on the time between the first and the last of several.

    Raises: UsageError when two tables were read in the same second.
    """
    ordered = sorted(tables, key=lambda table: table.taken_at)
    if any(earlier.taken_at == later.taken_at for earlier, later in pairwise(ordered)):
        raise UsageError(
            "two snapshots were taken in the same second: no time passed between them",
            fix="leave out one of these snapshots",
        )
    intervals: list[Interval] = []
    first = last = tally(ordered[0], parts=_PLACE)
    groups = {} if ordered[1:] else first.groups
    for table in ordered[1:]:
        earlier, last = last, tally(table, parts=_PLACE, earlier=last)
        intervals.append(_interval(earlier, last, groups))
    start = ordered[0].taken_at if intervals else min(first.began_at, first.table.taken_at)
    report = _report([last.table], groups, start, [*doubts(ordered)], limit=limit)
    return replace(report, snapshots=snapshots, intervals=intervals)


def make_report_of_fleet(
    tables: Sequence[DigestTable], *, limit: int = 250, unread: Sequence[str] = ()
) -> DigestReport:
    """Return the report on the tables of many instances, added up.

    Tables are grouped one by one. `unread`: the instances that could not be read, for a note.
    """
    groups: dict[CounterKey, Bundle] = {}
    start = tables[0].taken_at
    for table in tables:
        one = tally(table, parts=_PLACE)
        start = min(start, one.began_at)
        for key, group in one.groups.items():
            sums = groups.setdefault(key, Bundle(group.text))
            for place, load in group.parts.items():
                sums.parts[*place, table.name] = load
    notes = with_names((table.name, note) for table in tables for note in doubts([table]))
    left_out = [f"{', '.join(unread)}: could not be read, so left out"] if unread else []
    return _report(tables, groups, start, [*left_out, *notes, *apart_notes(tables)], limit=limit)


def _report(
    tables: Sequence[DigestTable],
    groups: Mapping[CounterKey, Bundle],
    start: int,
    notes: Sequence[str],
    *,
    limit: int,
) -> DigestReport:
    """Return the report on groups whose parts are hostgroup, schema, user and maybe instance."""
    loads = {key: load for key, group in groups.items() if (load := group.total()).count_star}
    places: dict[CounterKey, Load] = defaultdict(Load)
    for group in groups.values():
        for place, load in group.parts.items():
            if load.count_star:
                places[place] += load
    hostgroups, schemas, users, instances = _shares(places)
    listed = nlargest(limit, loads, key=lambda key: (loads[key].sum_time, key))
    return DigestReport(
        tables=tables,
        snapshots=0,
        notes=notes,
        start=start,
        total=Bundle(parts=places).total(),
        count=len(loads),
        digests=[
            ReportDigest(n, str(key[0]), groups[key].text, loads[key], *_shares(groups[key].parts))
            for n, key in enumerate(listed, 1)
        ],
        hostgroups=hostgroups,
        schemas=schemas,
        users=users,
        instances=instances,
    )


def _interval(earlier: Tally, later: Tally, groups: dict[CounterKey, Bundle]) -> Interval:
    """Return the load between two tables. Changes: adds the growth to `groups`."""
    grown = growth(earlier, later)
    whole = Load()
    by_hostgroup: dict[int, int] = defaultdict(int)
    for key, group in later.groups.items():
        sums = groups.setdefault(key, Bundle(group.text))
        for place, load in grown.of(key).parts.items():
            whole += load
            by_hostgroup[int(place[0])] += load.sum_time
            sums.parts.setdefault(place, Load())
            sums.parts[place] += load
    start, end = earlier.table.taken_at, later.table.taken_at
    return Interval(start, end, whole, by_hostgroup, grown.is_cleared)


def _shares(
    places: Mapping[CounterKey, Load],
) -> tuple[list[LoadShare], list[LoadShare], list[LoadShare], list[LoadShare]]:
    """Return the load by hostgroup, schema, user and, of many instances, by instance.

    Each is sorted by time, largest first.
    """
    by_column: tuple[list[LoadShare], ...] = ([], [], [], [])
    for column in range(len(next(iter(places), _PLACE))):
        sums: dict[str, Load] = defaultdict(Load)
        for place, load in places.items():
            sums[str(place[column])] += load
        parts = [LoadShare(name, load) for name, load in sums.items()]
        parts.sort(key=lambda part: (-part.load.sum_time, -part.load.count_star, part.name))
        by_column[column][:] = parts
    hostgroups, schemas, users, instances = by_column
    return hostgroups, schemas, users, instances
