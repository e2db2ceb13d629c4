"""Two snapshots compared: the load before the first, and the load between both.

The counters of ProxySQL only grow until somebody clears all of them at once. So the first snapshot
is what there was before it, and the difference of both is what came after. Where the counters were
cleared in between, the second snapshot is what came after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain

from proxyctl.digests.counting import (
    NOT_COUNTING,
    SWITCH,
    TRACKS_CLIENTS,
    is_counting,
)
from proxyctl.digests.diff_entry import Entry
from proxyctl.digests.diff_order import DiffSort, biggest
from proxyctl.digests.diff_tally import Bundle, Key, Load, Tally
from proxyctl.digests.diff_verdict import Verdict, is_moved, verdict
from proxyctl.digests.resets import JITTER_S, Began, began_again, fell
from proxyctl.digests.top import Group as By
from proxyctl.errors import UsageError


class Remark(StrEnum):
    """What makes two snapshots less comparable than they look."""

    RESTARTED = "restarted"
    CLEARED = "cleared"
    OTHER_INSTANCE = "other_instance"
    OTHER_VERSION = "other_version"
    OTHER_OPTIONS = "other_options"
    EMPTY = "empty"
    SWITCHED_OFF = "switched_off"
    SWITCHED_ON = "switched_on"


@dataclass(frozen=True)
class Side:
    """Where a snapshot comes from, and over how long a time its side was counted.

    Units: `seconds` is at least 1; `taken_at` in unix seconds; `uptime` in seconds.
    """

    name: str
    address: str
    version: str
    taken_at: int
    uptime: int | None
    count: int
    seconds: int
    total: Load


@dataclass(frozen=True)
class Diff:
    """What two snapshots say.

    Shape: `remarks` with a sentence each; `entries` are those that were asked for, `count` is how
    many there are with any call, `active` with a call after, `counts` how many have which verdict,
    `moved` how many moved.
    """

    by: tuple[By, ...]
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
    """Return what changed between two snapshots, with the first `limit` entries in an order.

    The others are counted and forgotten: there may be a million. Where a clock was set back, or
    both are of one second, a second counts as the time between: `check_order` refuses those.
    """
    remarks = _remarks(before, after)
    seconds = (
        max(before.taken_at - _oldest(before), 1),
        max(after.taken_at - _began(before, after, remarks), 1),
    )
    counts = dict.fromkeys(Verdict, 0)
    totals = Load(), Load()
    moved = active = 0

    def counted() -> Iterator[Entry]:
        nonlocal moved, active
        is_reset = Remark.CLEARED in remarks or Remark.RESTARTED in remarks
        # Of counters that were cleared, and are empty still, it is not known since when.
        known = seconds[0], seconds[1] if after.groups or Remark.CLEARED not in remarks else 0
        for entry in _entries(before, after, known, is_reset=is_reset):
            active += entry.after.calls > 0
            counts[entry.verdict] += 1
            moved += entry.is_moved
            totals[0].add(entry.before)
            totals[1].add(entry.after)
            yield entry

    entries = biggest(counted(), sort, seconds, limit)
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
    if after.taken_at > before.taken_at:
        return
    if is_live:
        raise UsageError(
            "the snapshot BEFORE is not older than the instance's clock: no time is between them",
            hint="where it was just taken, try again in a second",
        )
    if after.taken_at == before.taken_at:
        raise UsageError(
            "both snapshots are of the same second: no time is between them",
            hint="name two that were taken at different times",
        )
    raise UsageError(
        "the snapshot AFTER is older than the snapshot BEFORE", hint="name them the other way"
    )


def _entries(
    before: Tally, after: Tally, seconds: tuple[int, int], *, is_reset: bool
) -> Iterator[Entry]:
    nothing = Bundle("")
    for key in chain(before.groups, after.groups.keys() - before.groups.keys()):
        one, other = before.groups.get(key, nothing), after.groups.get(key, nothing)
        entry = _entry(key, (one, other), seconds, is_reset=is_reset)
        if entry.before.calls or entry.after.calls:
            yield entry


def _side(tally: Tally, seconds: int, total: Load) -> Side:
    return Side(
        tally.name,
        tally.address,
        tally.version,
        tally.taken_at,
        tally.uptime,
        tally.count,
        seconds,
        total,
    )


def _oldest(tally: Tally) -> int:
    return tally.taken_at if tally.oldest is None else tally.oldest


def _began(before: Tally, after: Tally, remarks: Mapping[Remark, str]) -> int:
    """Return when the counters of the second side began, in unix seconds."""
    if Remark.RESTARTED in remarks and after.started_at is not None:
        return max(before.taken_at, after.started_at)
    if Remark.CLEARED in remarks:
        return max(before.taken_at, _oldest(after))
    return before.taken_at


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
    if before.address != after.address:
        found[Remark.OTHER_INSTANCE] = (
            f"the snapshots are of two instances, {before.address} and {after.address}:"
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
    if before.version != after.version:
        found[Remark.OTHER_VERSION] = (
            f"ProxySQL was {before.version} and is {after.version}: the same query may have"
            " another digest"
        )
    if others := "; ".join(_other_options(before, after)):
        found[Remark.OTHER_OPTIONS] = others
    if not before.groups and not after.groups:
        found[Remark.EMPTY] = "the instance has seen no digests"
    if not is_counting(after.variables):
        found[Remark.SWITCHED_OFF] = NOT_COUNTING + (
            "; what ran since it was switched off, after BEFORE, may seem to have vanished"
            if is_counting(before.variables)
            else "; the statistics stand still"
        )
    elif not is_counting(before.variables):
        found[Remark.SWITCHED_ON] = (
            f"{SWITCH} was false at BEFORE: what ran from then until it was switched on is not"
            " counted"
        )
    return found


_MAKE_NO_DIGEST = frozenset({SWITCH, TRACKS_CLIENTS, f"{SWITCH}_normalize_digest_text"})
"""They decide whether, for whom and how compactly is counted; the digest of a query stays."""


def _other_options(before: Tally, after: Tally) -> Iterator[str]:
    """Yield what follows from variables that are known on both sides, and changed."""
    if not before.variables or not after.variables:
        return
    names = {
        name
        for name in before.variables.keys() | after.variables.keys()
        if before.variables.get(name) != after.variables.get(name)
    }
    if makers := ", ".join(sorted(names - _MAKE_NO_DIGEST)):
        yield f"{makers} changed in between: the same query may have another digest"
    if TRACKS_CLIENTS in names and By.CLIENT_ADDRESS in after.by:
        yield f"{TRACKS_CLIENTS} changed in between: clients are told apart on one side only"


def _is_restarted(before: Tally, after: Tally) -> bool:
    if before.uptime is None or after.uptime is None:
        return False
    if after.uptime < before.uptime:
        return True
    # A clock that was set moves the start as well; a restart has also cleared the counters.
    moved = (after.taken_at - after.uptime) - (before.taken_at - before.uptime)
    return moved > JITTER_S and _is_cleared(before, after)


def _is_cleared(before: Tally, after: Tally) -> bool:
    """Return whether somebody cleared the counters: ProxySQL does it for all digests at once."""
    if not before.groups:
        return False
    if after.oldest is None or before.oldest is None or after.count < before.count:
        return True
    if began_again(Began(before.oldest, before.started_at), Began(after.oldest, after.started_at)):
        return True
    return any(
        _is_less(after.groups.get(key), number, load)
        for key, group in before.groups.items()
        for number, load in group.hostgroups.items()
    )


def _is_less(group: Bundle | None, hostgroup: int, earlier: Load) -> bool:
    later = group.hostgroups.get(hostgroup) if group else None
    return later is None or fell((earlier.calls, earlier.time), (later.calls, later.time))
