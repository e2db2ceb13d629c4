"""Compares the digests of many instances: what each counted before and after, added up.

Growth is that of each instance: its counters are cleared apart, and count since another moment.
So counts are added up, and rates too: those of an instance are over its own time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from proxyctl.errors import ExitCode, UsageError
from proxyctl.fleet.failed import Failed, worst_of
from proxyctl.stats.counters import CounterKey, Growth, growth, tally
from proxyctl.stats.diff import (
    Diff,
    DiffSort,
    GrownGroup,
    compared_instance,
    grown_groups,
    list_differences,
    notes_of,
    refuse_no_time,
)
from proxyctl.stats.differing_digests import apart_notes, with_names
from proxyctl.stats.model import DigestTable, Group


@dataclass
class DiffOfFleet(Diff):
    """The result of a comparison of many instances."""

    failed: Sequence[Failed] = field(default=())
    """The instances that could not be read."""

    @property
    def exit_code(self) -> ExitCode:
        """The worst code of the instances that could not be read."""
        return worst_of(self.failed)


def compare_fleet(
    before: Mapping[str, DigestTable],
    after: Mapping[str, DigestTable],
    by: Sequence[Group],
    *,
    sort: DiffSort = DiffSort.CHANGE,
    limit: int = 20,
    failed: Sequence[Failed] = (),
) -> DiffOfFleet:
    """Compare the tables of many instances, by name; list the first `limit` entries.

    An instance that one side lacks is left out, and a note names it. `failed`: those that could not
    be read after. One instance is grouped at a time. Raises: as `compare`; UsageError when no
    instance is in both.
    """
    names = [name for name in before if name in after]
    if not names and not failed:
        raise UsageError(
            "no instance is in both BEFORE and AFTER: instances are matched by name",
            fix="name two folders that digest snapshot --all wrote for the same instances",
        )
    diff, notes = DiffOfFleet(tuple(by), failed=failed), list[tuple[str, str]]()

    def groups() -> Iterator[tuple[CounterKey, GrownGroup]]:
        for name in names:
            grown = _growth(before[name], after[name], by)
            instance = compared_instance(grown)
            diff.instances.append(instance)
            notes.extend((name, note) for note in notes_of(grown))
            yield from _keyed(grown_groups(grown, instance), name, by)

    list_differences(diff, _merged(groups()), sort, limit)
    unread = {failure.name for failure in failed}
    left_out = [(name, "AFTER") for name in before if name not in after and name not in unread]
    left_out += [(name, "BEFORE") for name in after if name not in before]
    diff.notes = [
        *with_names((name, f"not in {side}, so left out") for name, side in left_out),
        *with_names(notes),
        *apart_notes([instance.after.table for instance in diff.instances]),
    ]
    return diff


def _growth(before: DigestTable, after: DigestTable, by: Sequence[Group]) -> Growth:
    """Return what an instance counted between two tables. Raises: UsageError."""
    refuse_no_time(before, after, where=f"{after.name}: ")
    columns = [group for group in by if group is not Group.INSTANCE]
    first = tally(before, columns)
    return growth(first, tally(after, columns, earlier=first))


def _keyed(
    groups: Iterable[tuple[CounterKey, GrownGroup]], name: str, by: Sequence[Group]
) -> Iterator[tuple[CounterKey, GrownGroup]]:
    """Yield the groups of an instance; with its name in the key if that is a requested column."""
    if Group.INSTANCE not in by:
        yield from groups
        return
    place = list(by).index(Group.INSTANCE)
    for key, group in groups:
        yield (*key[:place], name, *key[place:]), group


def _merged(
    groups: Iterable[tuple[CounterKey, GrownGroup]],
) -> Iterator[tuple[CounterKey, GrownGroup]]:
    """Yield each key once, with the sums of all instances."""
    sums: dict[CounterKey, GrownGroup] = {}
    for key, group in groups:
        held = sums.setdefault(key, group)
        if held is not group:
            held.add(group)
    yield from sums.items()
