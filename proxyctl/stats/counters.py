"""Counters at two moments: how much they grew, and whether they were cleared in between.

Counters only grow until ProxySQL clears them. ProxySQL clears all digests at once: when it
restarts, when somebody reads the `_reset` table or truncates the table, and at SAVE MYSQL DIGEST TO
DISK. ProxySQL clears the hits of rules at every LOAD.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from proxyctl.stats.model import SWITCH, DigestTable, Group, Load, is_counting

JITTER_S = 1
"""How much first_seen and the start may differ between two readings: ProxySQL computes its times
from two clocks at every reading."""


class CounterPair(NamedTuple):
    """Two counters that are cleared together, at one moment."""

    first: int
    """For example the calls, or the entries of a table."""
    second: int = 0
    """For example the query time, or the calls of these entries."""
    first_seen: int | None = None
    """When counting began; None if unknown. Units: unix seconds of the instance's clock."""
    started_at: int | None = None
    """When ProxySQL started; None if unknown. Units: unix seconds of the instance's clock."""


def were_cleared(before: CounterPair, after: CounterPair) -> bool:
    """Return whether counters were cleared between two readings of them."""
    if after.first < before.first or after.second < before.second:
        return True
    if before.first_seen is None or after.first_seen is None:
        return False
    moved = after.first_seen - before.first_seen
    if before.started_at is not None and after.started_at is not None:
        # The time from the start to first_seen stays the same when somebody sets the clock.
        moved -= after.started_at - before.started_at
    return abs(moved) > 2 * JITTER_S


def rate(before: int | None, after: int | None, seconds: float | None) -> float | None:
    """Return the growth of a counter per second; None if unknown, or if it was cleared."""
    if before is None or after is None or not seconds:
        return None
    if were_cleared(CounterPair(before), CounterPair(after)):
        return None
    return (after - before) / seconds


# The digest table, at one moment and at a later one ----------------------------------------------
CounterKey = tuple[str | int, ...]
"""The values of some columns, in the order of the columns."""


@dataclass(slots=True)
class Bundle:
    """A group of rows: the digest text of one row, and the load by `parts` of the group."""

    text: str = ""
    parts: dict[CounterKey, Load] = field(default_factory=dict)

    def total(self) -> Load:
        """Return the load of all parts."""
        total = Load()
        for load in self.parts.values():
            total += load
        return total

    def since(self, earlier: Bundle | None) -> Bundle:
        """Return the growth since an earlier reading of the same counters."""
        if earlier is None:
            return self
        grown = {
            key: load - earlier.parts[key] if key in earlier.parts else load
            for key, load in self.parts.items()
        }
        return Bundle(self.text, {key: load for key, load in grown.items() if load.count_star})


@dataclass(frozen=True)
class Tally:
    """A digest table with its rows grouped."""

    table: DigestTable
    """The table."""
    by: tuple[Group, ...]
    """The columns that make the groups."""
    groups: dict[CounterKey, Bundle]
    """The groups, by the values of the columns `by`."""
    first_seen: int | None
    """The earliest first_seen of any digest; None without digests. Units: unix seconds."""

    @property
    def began_at(self) -> int:
        """When the counters began, in unix seconds; for an empty table, when it was read."""
        return self.table.taken_at if self.first_seen is None else self.first_seen

    def was_cleared_since(self, earlier: Tally) -> bool:
        """Return whether the counters were cleared after an earlier reading."""
        if not earlier.groups:
            return False
        was_up, is_up = earlier.table.uptime, self.table.uptime
        if was_up is not None and is_up is not None and is_up < was_up:
            return True
        if not self.groups or were_cleared(earlier._whole, self._whole):
            return True
        return any(_fell(group, self.groups.get(key)) for key, group in earlier.groups.items())

    @property
    def _whole(self) -> CounterPair:
        return CounterPair(len(self.table.rows), 0, self.first_seen, self.table.started_at)


def _fell(before: Bundle, after: Bundle | None) -> bool:
    """Return whether a counter fell, or a row disappeared."""
    for key, load in before.parts.items():
        later = after.parts.get(key) if after else None
        if later is None or were_cleared(
            CounterPair(load.count_star, load.sum_time),
            CounterPair(later.count_star, later.sum_time),
        ):
            return True
    return False


def tally(
    table: DigestTable,
    by: Sequence[Group] = (Group.DIGEST,),
    *,
    parts: Sequence[Group] = (Group.HOSTGROUP,),
    earlier: Tally | None = None,
) -> Tally:
    """Group the rows of a table in one pass. `parts`: the columns that split a group.

    Texts that `earlier`, grouped by the same columns, also has are kept in memory once. Raises:
    what reading the rows raises.
    """
    groups: dict[CounterKey, Bundle] = {}
    known_parts: dict[CounterKey, CounterKey] = {}
    first_seen: int | None = None
    columns, part_columns = [str(group) for group in by], [str(group) for group in parts]
    for row in table.rows:
        key = tuple([getattr(row, column) for column in columns])
        group = groups.get(key)
        if group is None:
            text = row.digest_text if Group.DIGEST in by else ""
            known = earlier.groups.get(key) if earlier else None
            group = groups[key] = Bundle(known.text if known and known.text == text else text)
        part = tuple([getattr(row, column) for column in part_columns])
        load = group.parts.get(part)
        if load is None:
            # Keep each distinct key once: very many rows share few keys.
            load = group.parts[known_parts.setdefault(part, part)] = Load()
        load.add(row)
        if first_seen is None or row.first_seen < first_seen:
            first_seen = row.first_seen
    return Tally(table, tuple(by), groups, first_seen)


@dataclass(frozen=True)
class Growth:
    """What an instance counted before an earlier reading, and between it and a later one."""

    earlier: Tally
    """The earlier reading: what was counted before it."""
    later: Tally
    """The later reading, grouped by the same columns."""
    is_cleared: bool
    """Whether the counters were cleared in between, so that the counts before that are lost."""

    @property
    def seconds_before(self) -> int:
        """The time that the earlier reading was counted for, at least 1. Units: seconds."""
        return max(self.earlier.table.taken_at - self.earlier.began_at, 1)

    @property
    def seconds(self) -> int:
        """The time that the growth was counted for, at least 1. Units: seconds."""
        began_at = max(self.earlier.table.taken_at, self.later.began_at if self.is_cleared else 0)
        return max(self.later.table.taken_at - began_at, 1)

    def of(self, key: CounterKey) -> Bundle:
        """Return the growth of a group; empty if the later reading lacks it."""
        group = self.later.groups.get(key)
        if group is None:
            return Bundle()
        return group if self.is_cleared else group.since(self.earlier.groups.get(key))


def growth(earlier: Tally, later: Tally) -> Growth:
    """Return what was counted between two readings of an instance."""
    return Growth(earlier, later, later.was_cleared_since(earlier))


def doubts(tables: Sequence[DigestTable]) -> Iterator[str]:
    """Yield reasons why a comparison of the tables may mislead."""
    addresses = sorted({table.address for table in tables})
    if len(addresses) > 1:
        yield (
            f"the snapshots come from several addresses, {', '.join(addresses)}: if these are"
            " different instances, the difference is meaningless"
        )
    versions = sorted({table.version for table in tables})
    if len(versions) > 1:
        yield f"ProxySQL was {' and '.join(versions)}: the same query may have a different digest"
    known = [table.variables for table in tables if table.variables]
    changed = {
        name
        for variables in known
        for name, value in variables.items()
        if value != known[0].get(name, value)
    } - {SWITCH}
    if changed:
        yield f"{', '.join(sorted(changed))} changed: the same query may be counted as another"
    if not all(is_counting(table.variables) for table in tables):
        yield f"{SWITCH} is or was false: queries that ran in the meantime are not counted"
