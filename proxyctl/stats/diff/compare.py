"""Two digest tables compared: the load before the first, and the load between both.

Counters only grow until somebody clears all of them at once. So the first table is what there was
before it, and the difference of both is what came after. Where the counters were cleared in
between, the second table is what came after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from heapq import nlargest
from itertools import chain

from proxyctl.errors import UsageError
from proxyctl.stats.counters import JITTER_S, Reading, were_cleared
from proxyctl.stats.diff.tally import Bundle, Cost, Key, Tally
from proxyctl.stats.diff.verdict import Verdict, is_moved, verdict
from proxyctl.stats.model import NOT_COUNTING, SWITCH, TRACKS_CLIENTS, Group, is_counting


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

    RESTARTED = "restarted"
    CLEARED = "cleared"
    OTHER_INSTANCE = "other_instance"
    OTHER_VERSION = "other_version"
    OTHER_OPTIONS = "other_options"
    EMPTY = "empty"
    SWITCHED_OFF = "switched_off"
    SWITCHED_ON = "switched_on"


@dataclass(frozen=True)
class Entry:
    """One digest, or one value of the columns that were asked for, before and after.

    Shape: `hostgroups_before` and `hostgroups_after` are the calls by hostgroup; -1 is the query
    cache. `is_reset`: its counters were cleared in between, `after` is what came since.
    """

    key: Key
    text: str
    before: Cost
    after: Cost
    hostgroups_before: Mapping[int, int]
    hostgroups_after: Mapping[int, int]
    verdict: Verdict
    is_moved: bool
    is_reset: bool


@dataclass(frozen=True)
class Side:
    """The origin of one table, and the time over which its load was counted.

    Units: `seconds` is at least 1; `taken_at` in unix seconds; `uptime` in seconds.
    """

    name: str
    address: str
    version: str
    taken_at: int
    uptime: int | None
    count: int
    seconds: int
    total: Cost


@dataclass(frozen=True)
class Diff:
    """The result of a comparison.

    Shape: `remarks` have a sentence each. `entries` are the first in the order that was asked for.
    `count` is the number of entries with any call, `active` of those with a call after, `counts` of
    those with each verdict, `moved` of those whose hostgroups changed.
    """

    by: tuple[Group, ...]
    before: Side
    after: Side
    remarks: dict[Remark, str]
    entries: list[Entry]
    count: int
    active: int
    counts: dict[Verdict, int]
    moved: int

    def rate(self, entry: Entry) -> tuple[float, float]:
        """Return the calls a second, before and after."""
        return entry.before.calls / self.before.seconds, entry.after.calls / self.after.seconds

    def busy(self, entry: Entry) -> tuple[float, float]:
        """Return the query time in a second, before and after, in microseconds."""
        return entry.before.time / self.before.seconds, entry.after.time / self.after.seconds


def compare(
    before: Tally, after: Tally, *, sort: DiffSort = DiffSort.CHANGE, limit: int = 20
) -> Diff:
    """Compare two tables; keep the first `limit` entries in an order.

    The other entries are only counted: there may be a million. If a clock was set back, or both
    tables are of one second, the time between counts as one second; `check_order` refuses those.
    """
    remarks = _remarks(before, after)
    seconds = (
        max(before.table.taken_at - before.began_at, 1),
        max(after.table.taken_at - _counted_from(before, after, remarks), 1),
    )
    counts = dict.fromkeys(Verdict, 0)
    totals = Cost(), Cost()
    moved = active = 0

    def counted() -> Iterator[Entry]:
        nonlocal moved, active
        is_reset = Remark.CLEARED in remarks or Remark.RESTARTED in remarks
        # Nobody knows when counters were cleared that are still empty.
        known = seconds[0], seconds[1] if after.groups or Remark.CLEARED not in remarks else 0
        for entry in _entries(before, after, known, is_reset=is_reset):
            active += entry.after.calls > 0
            counts[entry.verdict] += 1
            moved += entry.is_moved
            totals[0].add(entry.before)
            totals[1].add(entry.after)
            yield entry

    entries = _biggest(counted(), sort, seconds, limit)
    return Diff(
        by=after.by,
        before=_side(before, seconds[0], totals[0]),
        after=_side(after, seconds[1], totals[1]),
        remarks=remarks,
        entries=entries,
        count=sum(counts.values()),
        active=active,
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
            "the snapshot BEFORE is not older than the instance's clock: no time is between them",
            hint="where it was just taken, try again in a second",
        )
    if after.table.taken_at == before.table.taken_at:
        raise UsageError(
            "both snapshots are of the same second: no time is between them",
            hint="name two that were taken at different times",
        )
    raise UsageError(
        "the snapshot AFTER is older than the snapshot BEFORE", hint="name them the other way"
    )


def _biggest(
    entries: Iterable[Entry], sort: DiffSort, seconds: tuple[int, int], limit: int
) -> list[Entry]:
    """Return the first entries in an order; `change` is that of the query time in a second.

    Every entry is consumed, even for a limit of 0. Units: `seconds` before and after.
    """

    def change(entry: Entry) -> float:
        return abs(entry.after.time / seconds[1] - entry.before.time / seconds[0])

    measures: Mapping[DiffSort, Callable[[Entry], float]] = {
        DiffSort.CHANGE: change,
        DiffSort.TIME: lambda entry: entry.after.time,
        DiffSort.AVG: lambda entry: entry.after.average,
        DiffSort.MAX: lambda entry: entry.after.max_time if entry.after.calls else 0,
        DiffSort.COUNT: lambda entry: entry.after.calls,
        DiffSort.ROWS_SENT: lambda entry: entry.after.rows_sent,
        DiffSort.ROWS_AFFECTED: lambda entry: entry.after.rows_affected,
    }
    measure = measures[sort]
    first = nlargest(max(limit, 1), entries, key=lambda one: (measure(one), one.after.time))
    return first[:limit]


def _entries(
    before: Tally, after: Tally, seconds: tuple[int, int], *, is_reset: bool
) -> Iterator[Entry]:
    nothing = Bundle("")
    for key in chain(before.groups, after.groups.keys() - before.groups.keys()):
        one, other = before.groups.get(key, nothing), after.groups.get(key, nothing)
        entry = _entry(key, (one, other), seconds, is_reset=is_reset)
        if entry.before.calls or entry.after.calls:
            yield entry


def _side(side: Tally, seconds: int, total: Cost) -> Side:
    table = side.table
    return Side(
        table.name,
        table.address,
        table.version,
        table.taken_at,
        table.uptime,
        len(table.rows),
        seconds,
        total,
    )


def _counted_from(before: Tally, after: Tally, remarks: Mapping[Remark, str]) -> int:
    """Return when the counters of the second side began, in unix seconds."""
    began_at = before.table.taken_at
    if Remark.RESTARTED in remarks and after.table.started_at is not None:
        return max(began_at, after.table.started_at)
    return max(began_at, after.began_at) if Remark.CLEARED in remarks else began_at


def _entry(
    key: Key, sides: tuple[Bundle, Bundle], seconds: tuple[int, int], *, is_reset: bool
) -> Entry:
    before, after = sides
    one, other = before.total(), after.total()
    calls_before = {number: load.calls for number, load in sorted(before.hostgroups.items())}
    calls_after = {number: load.calls for number, load in sorted(after.hostgroups.items())}
    # The slowest call of the time in between is known where none was as slow before.
    slowest = other.max_time if is_reset or other.max_time > one.max_time else None
    if not is_reset:
        other = other.since(one)
        calls_after = {
            number: calls - calls_before.get(number, 0) for number, calls in calls_after.items()
        }
    calls_after = {number: calls for number, calls in calls_after.items() if calls}
    return Entry(
        key=key,
        text=after.text or before.text,
        before=one,
        after=other,
        hostgroups_before=calls_before,
        hostgroups_after=calls_after,
        verdict=verdict(one, other, seconds=seconds, slowest_after=slowest),
        is_moved=is_moved(calls_before, calls_after),
        is_reset=is_reset and one.calls > 0,
    )


def _remarks(before: Tally, after: Tally) -> dict[Remark, str]:
    found: dict[Remark, str] = {}
    one, other = before.table, after.table
    if one.address != other.address:
        found[Remark.OTHER_INSTANCE] = (
            f"the snapshots are of two instances, {one.address} and {other.address}:"
            " their counters do not belong together"
        )
    if _is_restarted(before, after):
        found[Remark.RESTARTED] = (
            "ProxySQL was restarted in between: what it counted from BEFORE to then is lost"
        )
    elif _is_cleared(before, after):
        found[Remark.CLEARED] = (
            "the counters were cleared in between (by a read of the _reset table, TRUNCATE or SAVE"
            " MYSQL DIGEST TO DISK): what they counted from BEFORE to then is lost"
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
    if not is_counting(other.variables):
        found[Remark.SWITCHED_OFF] = NOT_COUNTING + (
            "; what ran since it was switched off, after BEFORE, may seem to have vanished"
            if is_counting(one.variables)
            else "; the statistics stand still"
        )
    elif not is_counting(one.variables):
        found[Remark.SWITCHED_ON] = (
            f"{SWITCH} was false at BEFORE: what ran from then until it was switched on is not"
            " counted"
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
        yield f"{TRACKS_CLIENTS} changed in between: clients are told apart on one side only"


def _is_restarted(before: Tally, after: Tally) -> bool:
    one, other = before.table, after.table
    if one.uptime is None or other.uptime is None:
        return False
    if other.uptime < one.uptime:
        return True
    # A clock that was set moves the start as well; a restart has also cleared the counters.
    moved = (other.taken_at - other.uptime) - (one.taken_at - one.uptime)
    return moved > JITTER_S and _is_cleared(before, after)


def _is_cleared(before: Tally, after: Tally) -> bool:
    """Return whether somebody cleared the counters."""
    if not before.groups:
        return False
    whole = (
        Reading(len(one.table.rows), 0, one.first_seen, one.table.started_at)
        for one in (before, after)
    )
    if not after.groups or were_cleared(*whole):
        return True
    nothing, none = Bundle(""), Cost()
    return any(
        number not in (later := after.groups.get(key, nothing).hostgroups)
        or were_cleared(load.reading, later.get(number, none).reading)
        for key, group in before.groups.items()
        for number, load in group.hostgroups.items()
    )
