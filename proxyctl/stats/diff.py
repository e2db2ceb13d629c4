"""Two digest tables compared: the load before the first, and the load between both.

Counters only grow until somebody clears all of them at once. So the first table is what there was
before it, and the difference of both is what came after. Where the counters were cleared in
between, the second table is what came after.

ProxySQL keeps a count, a sum and a maximum of each digest, and no spread: so no test of statistics
can be made, and one plain rule says whether a difference means something. It asks for enough calls,
a difference that matters, and one that a single slow call has not made; and of a digest that one
side lacks, that it was to be expected there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import nlargest
from itertools import chain

from proxyctl.errors import UsageError
from proxyctl.stats.counters import SAME_SECOND, Bundle, Key, Tally
from proxyctl.stats.model import SWITCH, TRACKS_CLIENTS, DigestTable, Group, Load, is_counting

LEAST_CALLS = 30
"""So many calls on either side, or nothing is said about the average."""
LEAST_EXPECTED = 10
"""So many calls had to be expected on a side without any, at the rate of the other side."""
LEAST_CHANGE = 0.2
"""The slower average is at least this much above the faster one."""
LEAST_MOVE = 0.1
"""A hostgroup has this much more or less of the calls."""


class Verdict(StrEnum):
    """What became of a digest."""

    NEW = "new"
    VANISHED = "vanished"
    SLOWER = "slower"
    FASTER = "faster"
    SAME = "same"
    FEW_CALLS = "few_calls"


def verdict(
    before: Load, after: Load, *, seconds: tuple[int, int], slowest_after: int | None
) -> Verdict:
    """Return what became of a digest.

    Units: `seconds` over which either side was counted; `slowest_after` in microseconds, None where
    the slowest call after is not known.
    """
    if not before.count_star:
        expected = after.count_star * seconds[0] / seconds[1]
        return Verdict.NEW if expected >= LEAST_EXPECTED else Verdict.FEW_CALLS
    if not after.count_star:
        expected = before.count_star * seconds[1] / seconds[0]
        return Verdict.VANISHED if expected >= LEAST_EXPECTED else Verdict.FEW_CALLS
    if min(before.count_star, after.count_star) < LEAST_CALLS:
        return Verdict.FEW_CALLS
    if _is_above(after, slowest_after, before):
        return Verdict.SLOWER
    if _is_above(before, before.max_time, after):
        return Verdict.FASTER
    return Verdict.SAME


def _is_above(slow: Load, slowest: int | None, fast: Load) -> bool:
    """Return whether an average is clearly above another, also without its slowest call."""
    least = fast.average * (1 + LEAST_CHANGE)
    without = slow.average if slowest is None else (slow.sum_time - slowest) / (slow.count_star - 1)
    return slow.average > fast.average and min(slow.average, without) >= least


def is_moved(before: Mapping[int, int], after: Mapping[int, int]) -> bool:
    """Return whether calls by hostgroup are spread in another way."""
    total, total_after = sum(before.values()), sum(after.values())
    if not total or not total_after:
        return False
    if not before.keys() & after.keys():
        return True
    if min(total, total_after) < LEAST_CALLS:
        return False
    return any(
        abs(before.get(number, 0) / total - after.get(number, 0) / total_after) >= LEAST_MOVE
        for number in before.keys() | after.keys()
    )


class DiffSort(StrEnum):
    """What comes first. All but `change` are of the time after."""

    CHANGE = "change"
    TIME = "time"
    AVG = "avg"
    MAX = "max"
    COUNT = "count"
    ROWS_SENT = "rows-sent"
    ROWS_AFFECTED = "rows-affected"


class Remark(StrEnum):
    """A reason why two tables are harder to compare than they look."""

    CLEARED = "cleared"
    OTHER_INSTANCE = "other_instance"
    OTHER_VERSION = "other_version"
    OTHER_OPTIONS = "other_options"
    EMPTY = "empty"
    SWITCHED_OFF = "switched_off"


@dataclass(frozen=True)
class Entry:
    """One digest, or one value of the columns that were asked for, before and after.

    Shape: `hostgroups_before` and `hostgroups_after` are the calls by hostgroup; -1 is the query
    cache.
    """

    key: Key
    text: str
    before: Load
    after: Load
    hostgroups_before: Mapping[int, int]
    hostgroups_after: Mapping[int, int]
    verdict: Verdict
    is_moved: bool


@dataclass(frozen=True)
class Side:
    """One table, and the load that was counted. Units: `seconds`, over which it was, 1 at least."""

    table: DigestTable
    seconds: int
    total: Load


@dataclass(frozen=True)
class Diff:
    """The result of a comparison.

    Shape: `remarks` have a sentence each. `entries` are the first in the order that was asked for.
    `count` is the number of entries with any call, `counts` of those with each verdict, `moved` of
    those whose hostgroups changed. `hostgroup_names` are those of the files, by number.
    """

    by: tuple[Group, ...]
    before: Side
    after: Side
    remarks: dict[Remark, str]
    entries: list[Entry]
    count: int
    counts: dict[Verdict, int]
    moved: int
    hostgroup_names: Mapping[int, str] = field(default_factory=dict)

    def rate(self, entry: Entry) -> tuple[float, float]:
        """Return the calls a second, before and after."""
        return (
            entry.before.count_star / self.before.seconds,
            entry.after.count_star / self.after.seconds,
        )

    def busy(self, entry: Entry) -> tuple[float, float]:
        """Return the query time in a second, before and after, in microseconds."""
        return (
            entry.before.sum_time / self.before.seconds,
            entry.after.sum_time / self.after.seconds,
        )


def compare(
    before: Tally, after: Tally, *, sort: DiffSort = DiffSort.CHANGE, limit: int = 20
) -> Diff:
    """Compare two tables; keep the first `limit` entries in an order.

    The other entries are only counted: there may be a million. If a clock was set back, or both
    tables are of one second, the time between counts as one second; `check_order` refuses those.
    """
    remarks = _remarks(before, after)
    is_reset = Remark.CLEARED in remarks
    began_at = max(before.table.taken_at, after.began_at if is_reset else 0)
    seconds = (
        max(before.table.taken_at - before.began_at, 1),
        max(after.table.taken_at - began_at, 1),
    )
    counts = dict.fromkeys(Verdict, 0)
    totals = [Load(), Load()]
    moved = 0

    def counted() -> Iterator[Entry]:
        nonlocal moved
        # Nobody knows when counters were cleared that are still empty.
        known = seconds[0], seconds[1] if after.groups or not is_reset else 0
        for entry in _entries(before, after, known, is_reset=is_reset):
            counts[entry.verdict] += 1
            moved += entry.is_moved
            totals[0] += entry.before
            totals[1] += entry.after
            yield entry

    entries = _biggest(counted(), sort, seconds, limit)
    return Diff(
        by=after.by,
        before=Side(before.table, seconds[0], totals[0]),
        after=Side(after.table, seconds[1], totals[1]),
        remarks=remarks,
        entries=entries,
        count=sum(counts.values()),
        counts=counts,
        moved=moved,
    )


def check_order(before: Tally, after: Tally, *, is_live: bool = False) -> None:
    """Refuse two sides with no time between them. `is_live`: AFTER is the instance, read just now.

    Raises: UsageError.
    """
    if after.table.taken_at > before.table.taken_at:
        return
    if is_live:
        raise UsageError(
            "the snapshot BEFORE is not older than the instance's clock: no time passed in between",
            fix="if it was just taken, try again in a second",
        )
    if after.table.taken_at == before.table.taken_at:
        raise UsageError(
            SAME_SECOND,
            fix="name two snapshots taken at different times",
        )
    raise UsageError("the snapshot AFTER is older than the snapshot BEFORE", fix="swap them")


def _biggest(
    entries: Iterable[Entry], sort: DiffSort, seconds: tuple[int, int], limit: int
) -> list[Entry]:
    """Return the first entries in an order; `change` is that of the query time in a second.

    Every entry is consumed, even for a limit of 0. Units: `seconds` before and after.
    """

    def change(entry: Entry) -> float:
        return abs(entry.after.sum_time / seconds[1] - entry.before.sum_time / seconds[0])

    measures: Mapping[DiffSort, Callable[[Entry], float]] = {
        DiffSort.CHANGE: change,
        DiffSort.TIME: lambda entry: entry.after.sum_time,
        DiffSort.AVG: lambda entry: entry.after.average,
        DiffSort.MAX: lambda entry: entry.after.max_time if entry.after.count_star else 0,
        DiffSort.COUNT: lambda entry: entry.after.count_star,
        DiffSort.ROWS_SENT: lambda entry: entry.after.sum_rows_sent,
        DiffSort.ROWS_AFFECTED: lambda entry: entry.after.sum_rows_affected,
    }
    measure = measures[sort]
    first = nlargest(max(limit, 1), entries, key=lambda one: (measure(one), one.after.sum_time))
    return first[:limit]


def _entries(
    before: Tally, after: Tally, seconds: tuple[int, int], *, is_reset: bool
) -> Iterator[Entry]:
    nothing = Bundle()
    for key in chain(before.groups, after.groups.keys() - before.groups.keys()):
        one, other = before.groups.get(key, nothing), after.groups.get(key, nothing)
        entry = _entry(key, one, other, seconds, is_reset=is_reset)
        if entry.before.count_star or entry.after.count_star:
            yield entry


def _entry(
    key: Key, before: Bundle, after: Bundle, seconds: tuple[int, int], *, is_reset: bool
) -> Entry:
    grown = after if is_reset else after.since(before)
    one, other = before.total(), grown.total()
    # The slowest call of the time in between is known where none was as slow before.
    slowest = after.total().max_time
    moves = [
        {int(hostgroup): load.count_star for (hostgroup,), load in sorted(side.parts.items())}
        for side in (before, grown)
    ]
    return Entry(
        key=key,
        text=after.text or before.text,
        before=one,
        after=other,
        hostgroups_before=moves[0],
        hostgroups_after=moves[1],
        verdict=verdict(
            one,
            other,
            seconds=seconds,
            slowest_after=slowest if is_reset or slowest > one.max_time else None,
        ),
        is_moved=is_moved(*moves),
    )


def _remarks(before: Tally, after: Tally) -> dict[Remark, str]:
    found: dict[Remark, str] = {}
    one, other = before.table, after.table
    if one.address != other.address:
        found[Remark.OTHER_INSTANCE] = (
            f"the snapshots come from two instances, {one.address} and {other.address}:"
            " comparing their counters means nothing"
        )
    if after.was_cleared_since(before):
        found[Remark.CLEARED] = (
            "the counters were cleared in between (by a restart of ProxySQL, a read of the _reset"
            " table, TRUNCATE or SAVE MYSQL DIGEST TO DISK): the counts between BEFORE and then are"
            " lost"
        )
    if one.version != other.version:
        found[Remark.OTHER_VERSION] = (
            f"ProxySQL was {one.version} and is {other.version}: the same query may have"
            " another digest"
        )
    if others := "; ".join(_other_options(before, after)):
        found[Remark.OTHER_OPTIONS] = others
    if not before.groups and not after.groups:
        found[Remark.EMPTY] = "the instance has seen no digests"
    off = [
        name
        for name, side in (("BEFORE", one), ("AFTER", other))
        if not is_counting(side.variables)
    ]
    if off:
        found[Remark.SWITCHED_OFF] = (
            f"{SWITCH} is false at {' and '.join(off)}: queries that ran meanwhile are not"
            " counted, and may seem to have vanished"
        )
    return found


_MAKE_NO_DIGEST = frozenset({SWITCH, TRACKS_CLIENTS, f"{SWITCH}_normalize_digest_text"})
"""They decide whether, for whom and how compactly is counted; the digest of a query stays."""


def _other_options(before: Tally, after: Tally) -> Iterator[str]:
    """Yield the consequences of variables that are known on both sides and differ."""
    one, other = before.table.variables, after.table.variables
    if not one or not other:
        return
    names = {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}
    if makers := ", ".join(sorted(names - _MAKE_NO_DIGEST)):
        yield f"{makers} changed in between: the same query may have another digest"
    if TRACKS_CLIENTS in names and Group.CLIENT_ADDRESS in after.by:
        yield f"{TRACKS_CLIENTS} changed in between: only one side distinguishes clients"
