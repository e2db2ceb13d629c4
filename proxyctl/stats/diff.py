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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import nlargest
from itertools import chain

from proxyctl.errors import UsageError
from proxyctl.stats.counters import Bundle, CounterKey, Tally, doubts
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
    before: Load, after: Load, *, seconds: tuple[int, int], slowest_after: int | None
) -> DigestTrend:
    """Return how a digest changed.

    Units: `seconds` that each side was counted for; `slowest_after`, the slowest call after, in
    microseconds, None if unknown.
    """
    if not before.count_star:
        expected = after.count_star * seconds[0] / seconds[1]
        return DigestTrend.NEW if expected >= LEAST_EXPECTED else DigestTrend.FEW_CALLS
    if not after.count_star:
        expected = before.count_star * seconds[1] / seconds[0]
        return DigestTrend.VANISHED if expected >= LEAST_EXPECTED else DigestTrend.FEW_CALLS
    if min(before.count_star, after.count_star) < LEAST_CALLS:
        return DigestTrend.FEW_CALLS
    if _is_above(after, slowest_after, before):
        return DigestTrend.SLOWER
    if _is_above(before, before.max_time, after):
        return DigestTrend.FASTER
    return DigestTrend.SAME


def _is_above(slow: Load, slowest: int | None, fast: Load) -> bool:
    """Return whether the average of `slow` is clearly higher, also without its slowest call."""
    least = fast.average * (1 + LEAST_CHANGE)
    without = slow.average if slowest is None else (slow.sum_time - slowest) / (slow.count_star - 1)
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


@dataclass(frozen=True)
class DigestDifference:
    """A digest, or a value of the requested columns, before and after."""

    key: CounterKey
    """The digest, or the values of the requested columns."""
    text: str
    """The digest text; '' if `digest` is not a requested column."""
    before: Load
    """The load before."""
    after: Load
    """The load after."""
    hostgroups_before: Mapping[int, int]
    """The calls before, by hostgroup; -1 is the query cache."""
    hostgroups_after: Mapping[int, int]
    """The calls after, by hostgroup; -1 is the query cache."""
    verdict: DigestTrend
    """How the entry changed."""
    is_moved: bool
    """Whether the distribution of calls over hostgroups changed."""


@dataclass(frozen=True)
class Side:
    """A table and its load."""

    table: DigestTable
    """The table."""
    seconds: int
    """The time that the load was counted for, at least 1. Units: seconds."""
    total: Load = field(default_factory=Load)
    """The load."""

    def rate(self, load: Load) -> float:
        """Return the calls per second."""
        return load.count_star / self.seconds

    def busy(self, load: Load) -> float:
        """Return the query time per second, in microseconds."""
        return load.sum_time / self.seconds


@dataclass
class Diff:
    """The result of a comparison."""

    by: tuple[Group, ...]
    """The requested columns."""
    before: Side
    """The earlier table and its load."""
    after: Side
    """The later table and its load."""
    is_cleared: bool
    """Whether the counters were cleared in between."""
    notes: Sequence[str]
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
    def count(self) -> int:
        """The number of entries, listed or not."""
        return sum(self.counts.values())


def compare(
    before: Tally, after: Tally, *, sort: DiffSort = DiffSort.CHANGE, limit: int = 20
) -> Diff:
    """Compare two tables and list the first `limit` entries in the order `sort`.

    The other entries are only counted: there may be a million. Raises: UsageError when no time
    passed between the tables.
    """
    if after.table.taken_at <= before.table.taken_at:
        raise UsageError(
            "AFTER was not taken later than BEFORE: no time passed between them",
            fix="name the earlier snapshot first, and wait at least a second between two snapshots",
        )
    is_cleared = after.was_cleared_since(before)
    began_at = max(before.table.taken_at, after.began_at if is_cleared else 0)
    diff = Diff(
        after.by,
        Side(before.table, max(before.table.taken_at - before.began_at, 1)),
        Side(after.table, max(after.table.taken_at - began_at, 1)),
        is_cleared,
        [*_notes(before, after, is_cleared=is_cleared)],
    )

    def measure(entry: DigestDifference) -> tuple[float, int]:
        time = entry.after.sum_time
        match sort:
            case DiffSort.CHANGE:
                return abs(diff.after.busy(entry.after) - diff.before.busy(entry.before)), time
            case DiffSort.TIME:
                return time, time
            case DiffSort.AVG:
                return entry.after.average, time
            case DiffSort.COUNT:
                return entry.after.count_star, time

    # nlargest of 0 entries would read, and so count, none.
    diff.entries = nlargest(max(limit, 1), _counted(diff, before, after), key=measure)[:limit]
    return diff


def _counted(diff: Diff, before: Tally, after: Tally) -> Iterator[DigestDifference]:
    """Yield the entries with calls. Changes: adds them to the counts of `diff`."""
    # Counters that are still empty do not show when they were cleared.
    is_known = after.groups or not diff.is_cleared
    seconds = diff.before.seconds, diff.after.seconds if is_known else 0
    total, total_after, nothing = diff.before.total, diff.after.total, Bundle()
    for key in chain(before.groups, after.groups.keys() - before.groups.keys()):
        entry = _entry(
            key,
            before.groups.get(key, nothing),
            after.groups.get(key, nothing),
            seconds,
            is_cleared=diff.is_cleared,
        )
        if entry.before.count_star or entry.after.count_star:
            diff.counts[entry.verdict] += 1
            diff.moved += entry.is_moved
            total += entry.before
            total_after += entry.after
            yield entry


def _entry(
    key: CounterKey, before: Bundle, after: Bundle, seconds: tuple[int, int], *, is_cleared: bool
) -> DigestDifference:
    grown = after if is_cleared else after.since(before)
    load_before, load_after = before.total(), grown.total()
    # The slowest call after is known only if it was slower than all calls before.
    slowest = after.total().max_time
    is_known = is_cleared or slowest > load_before.max_time
    calls, calls_after = _by_hostgroup(before), _by_hostgroup(grown)
    return DigestDifference(
        key,
        after.text or before.text,
        load_before,
        load_after,
        calls,
        calls_after,
        verdict(
            load_before,
            load_after,
            seconds=seconds,
            slowest_after=slowest if is_known else None,
        ),
        is_moved(calls, calls_after),
    )


def _by_hostgroup(side: Bundle) -> dict[int, int]:
    return {int(hostgroup): load.count_star for (hostgroup,), load in sorted(side.parts.items())}


def _notes(before: Tally, after: Tally, *, is_cleared: bool) -> Iterator[str]:
    yield from doubts([before.table, after.table])
    if is_cleared:
        yield (
            "the counters were cleared in between (by a restart of ProxySQL, a read of the _reset"
            " table, TRUNCATE or SAVE MYSQL DIGEST TO DISK): the counts between BEFORE and then are"
            " lost"
        )
