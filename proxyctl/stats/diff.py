"""Compares two digest tables: the load before the first, and the load between the two.

Counters only grow, until somebody clears all of them at once. So the first table holds the load
before it, and the difference of the two tables is the load after it. If the counters were cleared
in between, the second table alone is the load after.

ProxySQL keeps a count, a sum and a maximum per digest, and no spread, so a statistical test is not
possible. One plain rule decides whether a difference is significant: there are enough calls, the
difference is large, and no single slow call explains it. A digest that only one side has is
significant if the other side should have shown it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from heapq import nlargest
from itertools import chain
from typing import Self

from proxyctl.errors import UsageError
from proxyctl.stats.counters import Bundle, CounterKey, Growth, Tally, doubts, growth
from proxyctl.stats.model import DigestTable, Group, Load

LEAST_CALLS = 30
"""Calls that each side needs before the averages are compared."""
LEAST_EXPECTED = 10
"""Calls that a side without calls should have had, at the rate of the other side."""
LEAST_CHANGE = 0.2
"""The slower average is at least this much above the faster average."""
LEAST_MOVE = 0.1
"""The share of the calls that a hostgroup must gain or lose."""


class DigestTrend(StrEnum):
    """How a digest changed."""

    NEW = "new"
    VANISHED = "vanished"
    SLOWER = "slower"
    FASTER = "faster"
    SAME = "same"
    FEW_CALLS = "few_calls"


def verdict(
    before: Load, after: Load, *, expected: float, slowest_after: int | None
) -> DigestTrend:
    """Return how a digest changed.

    `expected`: the calls that a side without calls should have had, at the rate of the other side.
    Units: `slowest_after`, the slowest call after, in microseconds, None if unknown.
    """
    if not before.count_star or not after.count_star:
        if expected < LEAST_EXPECTED:
            return DigestTrend.FEW_CALLS
        return DigestTrend.VANISHED if before.count_star else DigestTrend.NEW
    if min(before.count_star, after.count_star) < LEAST_CALLS:
        return DigestTrend.FEW_CALLS
    if is_slower(after, slowest_after, before):
        return DigestTrend.SLOWER
    if is_slower(before, before.max_time, after):
        return DigestTrend.FASTER
    return DigestTrend.SAME


def is_slower(
    slow: Load, slowest: int | None, fast: Load, *, factor: float = 1 + LEAST_CHANGE
) -> bool:
    """Return whether the average of `slow` is clearly higher, also without its slowest call.

    `slowest`: None if unknown; a call that took longer than all of `slow` was none of them.
    `factor`: how many times the average of `fast` it is at least.
    """
    least, without = fast.average * factor, slow.average
    if slowest is not None and slowest <= slow.sum_time:
        without = (slow.sum_time - slowest) / max(slow.count_star - 1, 1)
    return slow.average > fast.average and min(slow.average, without) >= least


def is_moved(before: Mapping[int, int], after: Mapping[int, int]) -> bool:
    """Return whether the distribution of calls over hostgroups changed."""
    total, total_after = sum(before.values()), sum(after.values())
    if not total or not total_after:
        return False
    if not before.keys() & after.keys():
        return True
    return min(total, total_after) >= LEAST_CALLS and any(
        abs(before.get(number, 0) / total - after.get(number, 0) / total_after) >= LEAST_MOVE
        for number in before.keys() | after.keys()
    )


class DiffSort(StrEnum):
    """The order of entries. All but `change` compare the load after."""

    CHANGE = "change"
    TIME = "time"
    AVG = "avg"
    COUNT = "count"


@dataclass(slots=True)
class SideLoad:
    """What one side counted, with its rates. Those of several instances are added up."""

    load: Load = field(default_factory=Load)
    """The load."""
    rate: float = 0.0
    """The calls per second."""
    busy: float = 0.0
    """The query time per second. Units: microseconds."""
    expected: float = 0.0
    """The calls that the other side should have had at this rate."""
    hostgroups: dict[int, int] = field(default_factory=dict)
    """The calls by hostgroup; -1 is the query cache."""
    rows: float = 0.0
    """The rows sent and affected per second."""

    @property
    def average(self) -> float:
        """The average time of a query in microseconds; 0 without queries.

        It is that of the rates: an instance that was counted for a short time weighs no less.
        """
        return self.busy / self.rate if self.rate else 0.0

    @property
    def rows_per_query(self) -> float:
        """The average number of rows of a query, of the rates; 0 without queries."""
        return self.rows / self.rate if self.rate else 0.0

    @property
    def evened(self) -> Load:
        """The load with the time that its queries take at `average`."""
        return replace(self.load, sum_time=round(self.average * self.load.count_star))

    @classmethod
    def of(cls, load: Load, seconds: int, hostgroups: dict[int, int] | None = None) -> Self:
        """Return a load with its rates. Units: `seconds`, the time that it was counted for."""
        rates = load.count_star / seconds, load.sum_time / seconds
        return cls(load, *rates, hostgroups=hostgroups or {}, rows=load.rows / seconds)

    def __iadd__(self, other: SideLoad) -> Self:
        """Add what another instance counted. Changes: self."""
        self.load += other.load
        self.rate += other.rate
        self.busy += other.busy
        self.expected += other.expected
        self.rows += other.rows
        for number, calls in other.hostgroups.items():
            self.hostgroups[number] = self.hostgroups.get(number, 0) + calls
        return self


@dataclass(frozen=True)
class DigestDifference:
    """A digest, or a value of the requested columns, before and after."""

    key: CounterKey
    """The digest, or the values of the requested columns."""
    text: str
    """The digest text; '' if `digest` is not a requested column."""
    before: SideLoad
    """What was counted before."""
    after: SideLoad
    """What was counted after."""
    verdict: DigestTrend
    """How the entry changed."""
    is_moved: bool
    """Whether the distribution of calls over hostgroups changed."""
    instances: tuple[str, ...] = ()
    """The instances that counted it."""


@dataclass(frozen=True)
class Side:
    """A table and its load."""

    table: DigestTable
    """The table."""
    seconds: int
    """The time that the load was counted for, at least 1. Units: seconds."""
    total: Load = field(default_factory=Load)
    """The load."""

    @property
    def counted(self) -> SideLoad:
        """The load with its rates."""
        return SideLoad.of(self.total, self.seconds)


@dataclass(frozen=True)
class ComparedInstance:
    """The two tables of an instance."""

    before: Side
    """The earlier table and its load."""
    after: Side
    """The later table, and the load since the earlier one."""
    is_cleared: bool
    """Whether the counters were cleared in between."""

    @property
    def name(self) -> str:
        """The name of the instance."""
        return self.after.table.name


@dataclass
class Diff:
    """The result of a comparison."""

    by: tuple[Group, ...]
    """The requested columns."""
    instances: list[ComparedInstance] = field(default_factory=list)
    """The compared instances."""
    notes: Sequence[str] = ()
    """The reasons why the comparison may mislead."""
    entries: Sequence[DigestDifference] = ()
    """The first entries in the requested order."""
    counts: dict[DigestTrend, int] = field(default_factory=lambda: dict.fromkeys(DigestTrend, 0))
    """The number of entries with calls, by verdict."""
    moved: int = 0
    """The number of entries whose hostgroups changed."""
    hostgroup_names: Mapping[int, str] = field(default_factory=dict)
    """The names from the files, by number."""

    @property
    def before(self) -> SideLoad:
        """What all instances counted before."""
        return added_up(instance.before.counted for instance in self.instances)

    @property
    def after(self) -> SideLoad:
        """What all instances counted after."""
        return added_up(instance.after.counted for instance in self.instances)

    @property
    def count(self) -> int:
        """The number of entries, listed or not."""
        return sum(self.counts.values())


def added_up(sides: Iterable[SideLoad]) -> SideLoad:
    """Return what several instances counted, with their rates."""
    total = SideLoad()
    for side in sides:
        total += side
    return total


# What one instance counted ------------------------------------------------------------------------
@dataclass(slots=True)
class GrownGroup:
    """A group of one instance, or of several, before and after."""

    text: str
    """The digest text."""
    before: SideLoad
    """What was counted before."""
    after: SideLoad
    """What was counted after."""
    slowest: int
    """The slowest call since the counters began. Units: microseconds."""
    is_slowest_after: bool
    """Whether that call was one of those after: it was slower than all calls before."""
    instances: tuple[str, ...]
    """The instances that counted the group."""

    def add(self, other: GrownGroup) -> None:
        """Add what another instance counted. Changes: self."""
        if other.slowest > self.slowest:
            self.is_slowest_after = other.is_slowest_after
        elif other.slowest == self.slowest:
            self.is_slowest_after |= other.is_slowest_after
        self.slowest = max(self.slowest, other.slowest)
        self.before += other.before
        self.after += other.after
        self.instances = tuple(dict.fromkeys(self.instances + other.instances))


def compared_instance(grown: Growth) -> ComparedInstance:
    """Return the tables of an instance; its loads are still empty."""
    return ComparedInstance(
        Side(grown.earlier.table, grown.seconds_before),
        Side(grown.later.table, grown.seconds),
        grown.is_cleared,
    )


def grown_groups(
    grown: Growth, instance: ComparedInstance
) -> Iterator[tuple[CounterKey, GrownGroup]]:
    """Yield the groups with calls. Changes: adds them to the totals of `instance`."""
    earlier, later, nothing = grown.earlier.groups, grown.later.groups, Bundle()
    seconds, seconds_after = instance.before.seconds, instance.after.seconds
    names, total, total_after = (instance.name,), instance.before.total, instance.after.total
    # Counters that are still empty do not show when they were cleared.
    expected_for = seconds_after if later or not grown.is_cleared else 0
    for key in chain(earlier, later.keys() - earlier.keys()):
        held, since = earlier.get(key, nothing), grown.of(key)
        before, after = _side_load(held, seconds), _side_load(since, seconds_after)
        if not before.load.count_star and not after.load.count_star:
            continue
        before.expected, after.expected = before.rate * expected_for, after.rate * seconds
        slowest = later[key].total().max_time if key in later else 0
        total += before.load
        total_after += after.load
        is_slowest_after = grown.is_cleared or slowest > before.load.max_time
        yield (
            key,
            GrownGroup(since.text or held.text, before, after, slowest, is_slowest_after, names),
        )


def _side_load(bundle: Bundle, seconds: int) -> SideLoad:
    load = bundle.total()
    calls = {int(key[0]): part.count_star for key, part in sorted(bundle.parts.items())}
    return SideLoad.of(load, seconds, calls)


# Comparing it -------------------------------------------------------------------------------------
def compare(
    before: Tally, after: Tally, *, sort: DiffSort = DiffSort.CHANGE, limit: int = 20
) -> Diff:
    """Compare two tables and list the first `limit` entries in the order `sort`.

    The other entries are only counted: there may be a million. Raises: UsageError when no time
    passed between the tables.
    """
    refuse_no_time(before.table, after.table)
    grown = growth(before, after)
    instance = compared_instance(grown)
    diff = Diff(after.by, [instance], [*notes_of(grown)])
    list_differences(diff, grown_groups(grown, instance), sort, limit)
    return diff


def refuse_no_time(before: DigestTable, after: DigestTable, where: str = "") -> None:
    """Refuse two tables between which no time passed. `where`: precedes the message.

    Raises: UsageError.
    """
    if after.taken_at <= before.taken_at:
        raise UsageError(
            f"{where}AFTER was not taken later than BEFORE: no time passed between them",
            fix="name the earlier snapshot first, and wait at least a second between two snapshots",
        )


def list_differences(
    diff: Diff, groups: Iterable[tuple[CounterKey, GrownGroup]], sort: DiffSort, limit: int
) -> None:
    """Compare the groups one by one. Changes: adds the entries and their counts to `diff`."""

    def entries() -> Iterator[DigestDifference]:
        for key, group in groups:
            entry = _entry(key, group)
            diff.counts[entry.verdict] += 1
            diff.moved += entry.is_moved
            yield entry

    def measure(entry: DigestDifference) -> tuple[float, int]:
        time = entry.after.load.sum_time
        match sort:
            case DiffSort.CHANGE:
                return abs(entry.after.busy - entry.before.busy), time
            case DiffSort.TIME:
                return time, time
            case DiffSort.AVG:
                return entry.after.average, time
            case DiffSort.COUNT:
                return entry.after.load.count_star, time

    # nlargest of 0 entries would read, and so count, none.
    diff.entries = nlargest(max(limit, 1), entries(), key=measure)[:limit]


def _entry(key: CounterKey, group: GrownGroup) -> DigestDifference:
    before, after = group.before, group.after
    loads = before.load, after.load
    if len(group.instances) > 1:
        loads = before.evened, after.evened
    return DigestDifference(
        key,
        group.text,
        before,
        after,
        verdict(
            *loads,
            expected=after.expected if not before.load.count_star else before.expected,
            slowest_after=group.slowest if group.is_slowest_after else None,
        ),
        is_moved(before.hostgroups, after.hostgroups),
        group.instances,
    )


def notes_of(grown: Growth) -> Iterator[str]:
    """Yield the reasons why the comparison of an instance may mislead."""
    yield from doubts([grown.earlier.table, grown.later.table])
    if grown.is_cleared:
        yield (
            "the counters were cleared in between (by a restart of ProxySQL, a read of the _reset"
            " table, TRUNCATE or SAVE MYSQL DIGEST TO DISK): the counts between BEFORE and then are"
            " lost"
        )
