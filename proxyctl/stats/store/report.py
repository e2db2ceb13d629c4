"""The contents of `digest report` for a window of a store, with the load over time."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from proxyctl.stats.model import DigestTable, Load, SeenDigest
from proxyctl.stats.report import DigestReport, Interval, make_report, make_report_of_fleet
from proxyctl.stats.store.keep import DAY_S, HOUR_S, HOURS_S, RECENT_S
from proxyctl.stats.store.window import (
    StoredInstance,
    StoreWindow,
    WindowReader,
    opened_window,
)


def make_report_of_store(window: StoreWindow, *, limit: int = 250) -> DigestReport:
    """Return the report on the window. Raises: as `opened_window`."""
    with opened_window(window) as reader:
        instances = reader.instances
        tables = [_table(reader, instance) for instance in instances]
        intervals = _intervals(reader)
        # The page itself names the times at which counters were cleared.
        notes = [note for one in instances for note in replace(one, cleared=0).notes(window)]
    if len(tables) > 1:
        report = make_report_of_fleet(tables, limit=limit)
    else:
        report = make_report(tables, limit=limit)
    start = intervals[0].start
    return replace(report, start=start, intervals=intervals, notes=[*notes, *report.notes])


def _table(reader: WindowReader, instance: StoredInstance) -> DigestTable:
    """Return the growth of one instance; its rows are read into memory."""
    rows = reader.store.execute(
        "SELECT hostgroup, schemaname, username, client_address, series.digest, digest_text,"
        " sums.count_star, ?, last_at, sums.sum_time, min_time, max_time, sums.sum_rows_affected,"
        " sums.sum_rows_sent FROM sums JOIN series ON series.id = sums.series"
        " JOIN digest ON digest.digest = series.digest WHERE series.instance = ?",
        (max(instance.start, reader.window.since), instance.number),
    )
    return DigestTable(
        instance.name,
        instance.address,
        instance.version,
        instance.end,
        [SeenDigest._make(row) for row in rows],
        instance.variables,
    )


def _intervals(reader: WindowReader) -> list[Interval]:
    """Return the load in equal steps, whose length is that of the longest periods."""
    instances = reader.instances
    start = max(min(one.start for one in instances), reader.window.since)
    end = max(one.end for one in instances)
    numbers = ",".join(str(one.number) for one in instances)
    where = "at > ? AND at <= ?"
    times = (reader.window.since, reader.window.until)
    step = _step(reader, start, end)
    time_of: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    load_of: dict[int, Load] = defaultdict(Load)
    for table in ("older", "recent"):
        for number, hostgroup, calls, time in reader.store.execute(
            f"SELECT (at - 1) / {step} AS number, hostgroup, sum(part.count_star),"
            f" sum(part.sum_time) FROM {table} AS part JOIN series ON series.id = part.series"
            f" WHERE {where} AND series.instance IN ({numbers}) GROUP BY number, hostgroup",
            times,
        ):
            time_of[number][hostgroup] += time
            load_of[number] += Load(0, calls, time)
    cleared = {
        number
        for (number,) in reader.store.execute(
            f"SELECT (at - 1) / {step} FROM period WHERE is_cleared AND {where}"
            f" AND instance IN ({numbers})",
            times,
        )
    }
    return [
        Interval(
            max(number * step, start),
            min((number + 1) * step, end),
            load_of[number],
            time_of[number],
            number in cleared,
        )
        for number in range(start // step, (end - 1) // step + 1)
    ]


def _step(reader: WindowReader, start: int, end: int) -> int:
    """Return the length of a step: a day, an hour, or the longest collection of a short window."""
    if end - start > HOURS_S:
        return DAY_S
    if end - start > RECENT_S:
        return HOUR_S
    longest: int
    [(longest,)] = reader.store.execute(
        "SELECT max(seconds) FROM period WHERE at > ? AND at <= ?",
        (reader.window.since, reader.window.until),
    ).fetchall()
    return min(max(longest, 1), HOUR_S)
