"""A window of a store and the time before it, both open for reading."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from proxyctl.errors import ProxyctlError
from proxyctl.stats.counters import doubts
from proxyctl.stats.differing_digests import with_names
from proxyctl.stats.store.file import opened_store
from proxyctl.stats.store.keep import HOUR_S
from proxyctl.stats.store.window import (
    StoredInstance,
    StoreWindow,
    WindowReader,
    missing_notes,
    moment_text,
    nothing_counted,
)

SUMS_BEFORE, SUMS_AFTER = "sums_before", "sums_after"
"""The temporary tables with the sums of the two times; see `WindowReader.add_up`."""


@dataclass(frozen=True)
class WindowPair:
    """Two times of one store, with their sums."""

    before: WindowReader
    """The earlier time; of its instances only those that the later time has, too."""
    after: WindowReader
    """The later time; of its instances only those that the earlier time has, too."""
    left_out: Sequence[str]
    """A note for the instances that only one of the two times has."""

    @property
    def instances(self) -> list[tuple[StoredInstance, StoredInstance]]:
        """Each instance in the earlier and in the later time."""
        earlier = {instance.number: instance for instance in self.before.instances}
        return [(earlier[instance.number], instance) for instance in self.after.instances]

    def notes(self) -> Iterator[str]:
        """Yield why a comparison may mislead."""
        yield from self.left_out
        of_both = (
            (after.name, doubt)
            for before, after in self.instances
            for doubt in doubts([before.table(), after.table()])
        )
        yield from with_names(
            {**dict.fromkeys(of_both), **self.before.doubts(), **self.after.doubts()}
        )
        yield from self.before.gap_notes("the period before")
        yield from self.after.gap_notes("this period")
        in_none = [history for history in self.before.missing if history in self.after.missing]
        yield from missing_notes(in_none, "not collected in this period or the one before")


@contextmanager
def opened_pair(window: StoreWindow, against_s: int) -> Iterator[WindowPair]:
    """Yield a window and the `against_s` seconds before it. One moment of the store is read.

    Raises: ProxyctlError for a file that is no store, and if nothing was counted in one of the
    two times; UsageError for an instance that the store lacks.
    """
    earlier = replace(window, since=window.since - against_s, until=window.since, has_end=True)
    with opened_store(window.path) as store:
        store.execute("BEGIN")  # other collections are not seen
        before = WindowReader(store, earlier, SUMS_BEFORE)
        after = WindowReader(store, window, SUMS_AFTER)
        for reader in (before, after):
            if not reader.instances:
                raise nothing_counted(store, reader.window, advice=_advice(store, window))
        numbers = {instance.number for instance in before.instances} & {
            instance.number for instance in after.instances
        }
        if not numbers:
            raise ProxyctlError(
                f"{window.path}: no instance was collected in both periods",
                fix=_advice(store, window),
            )
        left_out = []
        for reader, when in ((before, "before"), (after, "in")):
            if alone := [
                instance.name for instance in reader.instances if instance.number not in numbers
            ]:
                names = ", ".join(alone)
                left_out.append(f"{names}: collected only {when} this period, so left out")
            reader.instances = [
                instance for instance in reader.instances if instance.number in numbers
            ]
            reader.add_up()
        yield WindowPair(before, after, left_out)


def _advice(store: sqlite3.Connection, window: StoreWindow) -> str:
    """Return options that compare the two halves of what the store has of an instance."""
    times = store.execute(
        "SELECT at, at - seconds FROM period WHERE instance = (SELECT period.instance FROM period"
        " JOIN instance ON instance.id = period.instance WHERE ?1 IS NULL OR name = ?1"
        " GROUP BY period.instance ORDER BY count(*) DESC LIMIT 1) ORDER BY at",
        [window.instance],
    ).fetchall()
    if len(times) < 2:
        return "collect again: two periods need two collections after the first"
    middle, _ = times[(len(times) - 1) // 2]
    seconds = middle - min(start for _, start in times)
    unit, length = ("h", HOUR_S) if seconds % HOUR_S == 0 else ("min", 60)
    return f"for example --since {moment_text(middle)} --against {-(-seconds // length)}{unit}"
