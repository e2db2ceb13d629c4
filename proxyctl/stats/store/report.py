"""The contents of `digest report` for a window of a store, with the load over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from proxyctl.stats.model import Load
from proxyctl.stats.report import DigestReport, Interval, make_report, make_report_of_fleet
from proxyctl.stats.store.keep import DAY_S, HOUR_S, HOURS_S, RECENT_S
from proxyctl.stats.store.window import StoreWindow, WindowReader, opened_window, rows_of


def make_report_of_store(window: StoreWindow, *, limit: int = 250) -> DigestReport:
    """Return the report on the window. Raises: as `opened_window`."""
    with opened_window(window) as reader:
        instances = reader.instances
        tables = [instance.table([*rows_of(reader, [instance])]) for instance in instances]
        steps = _Steps.of(reader)
        intervals = _intervals(reader, steps)
        # The page itself names the times at which counters were cleared.
        notes = reader.notes(names_clears=False)
        if len(tables) > 1:
            report = make_report_of_fleet(tables, limit=limit)
        else:
            report = make_report(tables, limit=limit)
        loads = _loads_over_time(reader, steps, [digest.digest for digest in report.digests])
    digests = [digest._replace(over_time=loads[digest.digest]) for digest in report.digests]
    return replace(
        report,
        start=steps.start,
        digests=digests,
        intervals=intervals,
        notes=[*notes, *report.notes],
    )


@dataclass(frozen=True)
class _Steps:
    """Equal steps of a window, whose length is that of the longest periods. Units: unix seconds."""

    start: int
    end: int
    length: int

    @classmethod
    def of(cls, reader: WindowReader) -> _Steps:
        """Return the steps of an open window."""
        began = min(instance.start for instance in reader.instances)
        end = max(instance.end for instance in reader.instances)
        length = _length(reader, max(began, reader.window.since), end)
        # An hour that ended in the window is in it as a whole.
        return cls(max(began, reader.window.since // length * length), end, length)

    @property
    def numbers(self) -> range:
        """The numbers of the steps, by which `at` is counted."""
        return range(self.start // self.length, (self.end - 1) // self.length + 1)

    @property
    def number_of_at(self) -> str:
        """The SQL expression for the number of the step in which a period ended."""
        return f"(at - 1) / {self.length}"


def _intervals(reader: WindowReader, steps: _Steps) -> list[Interval]:
    """Return the load of each step by hostgroup, instance and schema."""
    names = {stored.number: stored.name for stored in reader.instances}
    where, times = _within(reader)
    load_of: dict[int, Load] = defaultdict(Load)
    parts: dict[int, tuple[dict[int, int], dict[str, int], dict[str, int]]] = defaultdict(
        lambda: (defaultdict(int), defaultdict(int), defaultdict(int))
    )
    for table in ("older", "recent"):
        for number, hostgroup, instance, schema, calls, time in reader.store.execute(
            f"SELECT {steps.number_of_at} AS number, hostgroup, instance, schemaname,"
            f" sum(part.count_star), sum(part.sum_time) FROM {table} AS part"
            f" JOIN series ON series.id = part.series WHERE {where}"
            " GROUP BY number, hostgroup, instance, schemaname",
            times,
        ):
            by_hostgroup, by_instance, by_schema = parts[number]
            by_hostgroup[hostgroup] += time
            by_instance[names[instance]] += time
            by_schema[schema] += time
            load_of[number] += Load(0, calls, time)
    cleared = {
        number
        for (number,) in reader.store.execute(
            f"SELECT {steps.number_of_at} FROM period WHERE is_cleared AND {where}", times
        )
    }
    return [
        Interval(
            max(number * steps.length, steps.start),
            min((number + 1) * steps.length, steps.end),
            load_of[number],
            parts[number][0],
            number in cleared,
            *parts[number][1:],
        )
        for number in steps.numbers
    ]


def _loads_over_time(
    reader: WindowReader, steps: _Steps, digests: Sequence[str]
) -> dict[str, list[Load]]:
    """Return the load of each digest in each step."""
    where, times = _within(reader)
    found: dict[str, dict[int, Load]] = {digest: defaultdict(Load) for digest in digests}
    marks = ",".join("?" * len(digests))
    # CROSS JOIN fixes the order: only the older periods of these digests are read.
    for table, join in (("older", "CROSS JOIN"), ("recent", "JOIN")):
        for digest, number, calls, time in reader.store.execute(
            f"SELECT digest, {steps.number_of_at} AS number, sum(part.count_star),"
            f" sum(part.sum_time) FROM series {join} {table} AS part"
            f" ON part.series = series.id WHERE digest IN ({marks}) AND {where}"
            " GROUP BY digest, number",
            (*digests, *times),
        ):
            found[digest][number] += Load(0, calls, time)
    return {
        digest: [loads.get(number) or Load() for number in steps.numbers]
        for digest, loads in found.items()
    }


def _within(reader: WindowReader) -> tuple[str, tuple[int, int]]:
    """Return the condition for rows of the window, and its parameters."""
    numbers = ",".join(str(instance.number) for instance in reader.instances)
    return f"at > ? AND at <= ? AND instance IN ({numbers})", reader.window.bounds


def _length(reader: WindowReader, start: int, end: int) -> int:
    """Return the length of a step: a day, an hour, or the longest collection of a short window."""
    if end - start > HOURS_S:
        return DAY_S
    if end - start > RECENT_S:
        return HOUR_S
    longest: int
    [(longest,)] = reader.store.execute(
        "SELECT max(seconds) FROM period WHERE at > ? AND at <= ?",
        reader.window.bounds,
    ).fetchall()
    return min(max(longest, 1), HOUR_S)
