"""Adds what an instance counted since the last collection to a store.

Mostly only the digests that ran since then are read. The sums of the whole table, read with them,
prove that nothing is missing. If they do not agree (counters were cleared, ProxySQL restarted), the
whole table is read. A collection is one transaction. It begins after the reading, so no collector
waits for the instance of another; the one that finds a later collection than it began with adds
nothing.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from proxyctl.errors import InstanceError
from proxyctl.instance.client import AdminClient
from proxyctl.stats.counters import JITTER_S, CounterPair, were_cleared
from proxyctl.stats.model import NOT_COUNTING, DigestTable, Load, is_counting
from proxyctl.stats.read import streamed_digests
from proxyctl.stats.store.file import opened_store, writing
from proxyctl.stats.store.keep import add_period, forget_before, roll_up
from proxyctl.stats.store.reading import (
    ChangedDigests,
    newest_dump,
    read_changed_digests,
    read_dumps,
)
from proxyctl.stats.store.routing import keep_routing, read_changed_routing
from proxyctl.stats.store.series import GrowthOfRows, SeriesOfInstance, held_sums, hold_rows
from proxyctl.stats.units import time_text

_MARGIN_S = 5
"""How long before the last collection a digest may have run that is read again: ProxySQL copies the
table before it reads the clock."""
_TRIES = 5


@dataclass(frozen=True)
class LastReading:
    """The last reading of an instance in the store."""

    instance: int
    """Its number in the store."""
    name: str
    """Its name in the store."""
    collections: int
    """The number of collections so far."""
    taken_at: int
    """When it was read. Units: unix seconds of the instance's clock."""
    uptime: int | None
    """The ProxySQL_Uptime; None if unknown. Units: seconds."""
    dumped_at: int
    """The newest dump that was read; 0 without dumps. Units: unix seconds."""
    sums: Load
    """The sums of the table, without max_time."""
    first_seen: int | None
    """The earliest first_seen of the table; None without rows. Units: unix seconds."""

    @property
    def started_at(self) -> int | None:
        """When ProxySQL started, in unix seconds; None if unknown."""
        return None if self.uptime is None else self.taken_at - self.uptime


@dataclass(frozen=True)
class Collected:
    """The result of a collection from one instance."""

    name: str
    """The name of the instance in the files, or its address."""
    address: str
    """The address of the admin interface."""
    seconds: int
    """The time that the growth covers; 0 for a first collection. Units: seconds."""
    growth: Load | None
    """What was added; its `entries` are the rows that grew. None if it cannot be known."""
    notes: tuple[str, ...] = ()
    """What is not as usual, for people."""


def collect(path: Path, client: AdminClient) -> Collected:
    """Add what the instance counted since the last collection; the first one only keeps counters.

    Sends only SELECTs. Raises: InstanceError; ProxyctlError for a file that cannot be used.
    """
    with opened_store(path, is_new_allowed=True) as store:
        return _collect_changes(store, client) or _collect_whole(store, client)


def _overtaken(client: AdminClient) -> Collected:
    note = "another collector has added the same period in the meantime: nothing was added twice"
    return Collected(client.name, client.address, 0, None, (note,))


def _last_reading(store: sqlite3.Connection, client: AdminClient) -> LastReading | None:
    found = store.execute(
        "SELECT id, name, collections, taken_at, uptime, dumped_at, entries, count_star, sum_time,"
        " sum_rows_sent, sum_rows_affected, first_seen FROM instance WHERE address = ?",
        [client.address],
    ).fetchone()
    if found is None:
        return None
    instance, name, collections, taken_at, uptime, dumped_at, *sums, first_seen = found
    entries, calls, time, sent, affected = sums
    load = Load(entries, calls, time, 0, sent, affected)
    return LastReading(instance, name, collections, taken_at, uptime, dumped_at, load, first_seen)


# Only what changed -------------------------------------------------------------------------------
def _collect_changes(store: sqlite3.Connection, client: AdminClient) -> Collected | None:
    """Add the growth of the digests that ran; None, and nothing added, if there was more."""
    last = _last_reading(store, client)
    if last is None or newest_dump(client) != last.dumped_at:
        return None
    routing = read_changed_routing(store, client)
    changes = read_changed_digests(client, last.taken_at - _MARGIN_S)
    if newest_dump(client) != last.dumped_at:
        return None  # a dump in between has moved some of the digests
    held = hold_rows(store, changes.table.rows)
    with writing(store):
        if _last_reading(store, client) != last:
            return _overtaken(client)
        added = _add_changes(store, last, changes, held)
        if added is not None:
            keep_routing(store, client, routing)
        return added


def _add_changes(
    store: sqlite3.Connection, last: LastReading, changes: ChangedDigests, held: str
) -> Collected | None:
    table = changes.table
    if _case(last, table) is not CollectionCase.GROWN:
        return None
    if were_cleared(
        CounterPair(last.sums.entries, last.sums.count_star, last.first_seen, last.started_at),
        CounterPair(
            changes.whole.entries, changes.whole.count_star, changes.first_seen, table.started_at
        ),
    ):
        return None
    series = SeriesOfInstance(store, last.instance)
    grown = series.measure(held, _moved_s(last, table))
    expected = Load(last.sums.entries + grown.new)
    for part in (last.sums, grown.total):
        expected.count_star += part.count_star
        expected.sum_time += part.sum_time
        expected.sum_rows_sent += part.sum_rows_sent
        expected.sum_rows_affected += part.sum_rows_affected
    if expected != changes.whole:
        return None
    series.add_growth(table.taken_at)
    series.keep_counters(held)
    whole = changes.whole, changes.first_seen
    return _finished(store, last, table, whole, grown.total, CollectionCase.GROWN)


def _moved_s(last: LastReading, table: DigestTable) -> int:
    """Return the seconds by which the clock was set: a start stays the same moment."""
    was, now = last.started_at, table.started_at
    if was is None or now is None or abs(now - was) <= 2 * JITTER_S:
        return 0
    return now - was


# The whole table ---------------------------------------------------------------------------------
@dataclass(frozen=True)
class WholeReading:
    """All digests of an instance, held in temporary tables."""

    last: LastReading | None
    """The last reading; None before the first one."""
    dumped_at: int
    """The newest dump; 0 without dumps. Units: unix seconds."""
    dumps: Sequence[tuple[int, str]]
    """The time of each dump since the last reading, the oldest first, and the name of its table."""
    table: DigestTable
    """The table. Its rows have been read."""
    held: str
    """The name of the temporary table with its rows."""


def _collect_whole(store: sqlite3.Connection, client: AdminClient) -> Collected:
    """Add the dumps and the whole table. A dump while the table is read makes it begin again."""
    for _ in range(_TRIES):
        reading = _read_whole(store, client)
        if newest_dump(client) != reading.dumped_at:
            continue
        routing = read_changed_routing(store, client)
        with writing(store):
            if _last_reading(store, client) != reading.last:
                return _overtaken(client)
            added = _add_whole(store, client, reading)
            keep_routing(store, client, routing)
            return added
    raise InstanceError(
        f"{client.address}: ProxySQL moved its digests to disk every time they were read",
        fix="raise admin-stats_mysql_query_digest_to_disk",
    )


def _read_whole(store: sqlite3.Connection, client: AdminClient) -> WholeReading:
    last = _last_reading(store, client)
    read_until, dumped_at = (last.dumped_at if last else 0), newest_dump(client)
    dumps: list[tuple[int, str]] = []
    if dumped_at > read_until:
        parts = read_dumps(client, read_until, dumped_at)
        for at, groups in groupby(parts, key=itemgetter(0)):
            rows = (row for _, group in groups for row in group)
            dumps.append((at, hold_rows(store, rows, len(dumps) + 1)))
    with streamed_digests(client) as table:
        held = hold_rows(store, table.rows)
    return WholeReading(last, dumped_at, dumps, table, held)


def _add_whole(store: sqlite3.Connection, client: AdminClient, reading: WholeReading) -> Collected:
    last, table, held = reading.last or _begin(store, client), reading.table, reading.held
    series, whole = SeriesOfInstance(store, last.instance), held_sums(store, held)
    if reading.last is None and not reading.dumps:
        series.begin(held)
        return _finished(store, last, table, whole, None, CollectionCase.FIRST)
    dumped, dumped_s = Load(), 0
    if reading.dumps:
        last, dumped, dumped_s = _add_dumps(store, last, reading)
    case = _case(last, table)
    if case is CollectionCase.CLEARED:
        series.forget_counters()
    moved_s = _moved_s(last, table)
    grown = series.measure(held, moved_s)
    if _is_of_another(last, grown, moved_s):
        case = CollectionCase.REPLACED
    elif case is CollectionCase.GROWN and last.sums.entries:
        is_cleared = grown.cleared > 0 or not grown.continued
        case = CollectionCase.CLEARED if is_cleared else case
    growth = None
    if case in _KNOWN:
        growth = grown.total
        series.add_growth(table.taken_at)
    series.forget_missing()
    series.keep_counters(held)
    added = _finished(store, last, table, whole, growth, case)
    if reading.dumps:
        dumped += added.growth or Load()
        added = replace(added, growth=dumped, seconds=added.seconds + dumped_s)
    return added


def _is_of_another(last: LastReading, grown: GrowthOfRows, moved_s: int) -> bool:
    """Return whether digests that ran before the last reading were not in it.

    Only another ProxySQL has those: one that answers at the address of the one read before.
    """
    # A clock that was set moves every first_seen; no counter falls then.
    is_moved = grown.continued and not grown.cleared
    known_until = last.taken_at + (moved_s if is_moved else 0)
    return grown.oldest is not None and grown.oldest < known_until - _MARGIN_S


def _begin(store: sqlite3.Connection, client: AdminClient) -> LastReading:
    """Add the instance to the store; return a reading of nothing."""
    cursor = store.execute(
        "INSERT INTO instance VALUES (NULL, ?, ?, 0, 0, NULL, 0, 0, 0, 0, 0, 0, NULL)",
        (client.name, client.address),
    )
    return LastReading(int(cursor.lastrowid or 0), client.name, 0, 0, None, 0, Load(), None)


def _add_dumps(
    store: sqlite3.Connection, last: LastReading, reading: WholeReading
) -> tuple[LastReading, Load, int]:
    """Add the dumps after the last reading.

    Returns a reading of nothing at the last dump, the growth, and the seconds that it covers. The
    first of all dumps covers an unknown time, so it is only the beginning.
    """
    series = SeriesOfInstance(store, last.instance)
    known_at, is_first = last.taken_at, not last.collections
    growth, covered_s, has_counters = Load(), 0, last.sums.entries > 0
    for dumped_at, held in reading.dumps:
        if not is_first:
            growth += series.measure(held, 0).total
            series.add_growth(dumped_at)
            seconds = max(dumped_at - known_at, 0)
            add_period(store, last.instance, dumped_at, seconds)
            covered_s += seconds
            if has_counters:
                series.forget_counters()
                has_counters = False
        known_at, is_first = dumped_at, False
    last = replace(
        last,
        taken_at=known_at,
        uptime=None,
        dumped_at=reading.dumped_at,
        sums=Load(),
        first_seen=None,
    )
    return last, growth, covered_s


# The result --------------------------------------------------------------------------------------
class CollectionCase(Enum):
    """How the counters of a reading relate to those of the last one."""

    GROWN = auto()
    """They went on."""
    FIRST = auto()
    """There was no last reading."""
    CLEARED = auto()
    """They were cleared in between, or ProxySQL was restarted: the reading is the growth."""
    UNKNOWN = auto()
    """ProxySQL was restarted, or its clock was set: it cannot be known which."""
    REPLACED = auto()
    """They are those of another ProxySQL at the same address."""


_KNOWN = (CollectionCase.GROWN, CollectionCase.CLEARED)
"""The cases in which the growth is known."""


def _case(last: LastReading, table: DigestTable) -> CollectionCase:
    """Return what the uptimes tell: GROWN, CLEARED by a restart, or UNKNOWN."""
    was, now = last.started_at, table.started_at
    if was is None or now is None or last.uptime is None or table.uptime is None:
        return CollectionCase.GROWN
    if table.uptime < last.uptime - JITTER_S:
        return CollectionCase.CLEARED
    # A clock that is set moves the start, too. It moves it behind the last reading only if it is
    # set by more than the uptime, which also looks like a restart.
    if now - was > 2 * JITTER_S and now >= last.taken_at - JITTER_S:
        return CollectionCase.UNKNOWN
    return CollectionCase.GROWN


_NOTES = {
    CollectionCase.FIRST: (
        "the first collection only records the counters: their contents were counted earlier"
    ),
    CollectionCase.CLEARED: (
        "the counters were cleared since the last collection (by a restart of ProxySQL, a read of"
        " the _reset table or TRUNCATE): what was counted between the last collection and the"
        " clearing is lost"
    ),
    CollectionCase.UNKNOWN: (
        "ProxySQL was restarted, or its clock was set, and its uptime does not show which: what it"
        " has counted since the last collection is left out"
    ),
    CollectionCase.REPLACED: (
        "a different ProxySQL answers here than at the last collection: counting starts over, and"
        " what was counted since then is left out"
    ),
}


def _finished(
    store: sqlite3.Connection,
    last: LastReading,
    table: DigestTable,
    whole: tuple[Load, int | None],
    growth: Load | None,
    case: CollectionCase,
) -> Collected:
    """Keep the reading of the whole table, `whole` with its first_seen; return the result."""
    (sums, first_seen), is_known = whole, case in _KNOWN
    seconds = _seconds(last, table, case) if is_known else 0
    name = last.name if table.name == table.address else table.name
    store.execute(
        "UPDATE instance SET name = ?, collections = ?, taken_at = ?, uptime = ?, dumped_at = ?,"
        " entries = ?, count_star = ?, sum_time = ?, sum_rows_sent = ?, sum_rows_affected = ?,"
        " first_seen = ? WHERE id = ?",
        (
            *(name, last.collections + 1, table.taken_at, table.uptime, last.dumped_at),
            *(sums.entries, sums.count_star, sums.sum_time),
            *(sums.sum_rows_sent, sums.sum_rows_affected, first_seen, last.instance),
        ),
    )
    _keep_settings(store, last.instance, table)
    if is_known:
        is_cleared = case is CollectionCase.CLEARED
        add_period(store, last.instance, table.taken_at, seconds, is_cleared=is_cleared)
    roll_up(store, table.taken_at)
    notes = [_NOTES[case]] if case in _NOTES else []
    if name != last.name:
        notes.append(f"the store previously called it {last.name}")
    notes += _clock_notes(last, table, case)
    if not is_counting(table.variables):
        notes.append(NOT_COUNTING)
    return Collected(name, table.address, seconds, growth, tuple(notes))


def _seconds(last: LastReading, table: DigestTable, case: CollectionCase) -> int:
    """Return the time since the last reading; the uptime knows it even if the clock was set."""
    if case is CollectionCase.GROWN and last.uptime is not None and table.uptime is not None:
        return max(table.uptime - last.uptime, 0)
    return max(table.taken_at - last.taken_at, 0)


def _clock_notes(last: LastReading, table: DigestTable, case: CollectionCase) -> Iterator[str]:
    if case is not CollectionCase.GROWN or not last.taken_at:
        return
    moved = min(table.taken_at - last.taken_at, 0)
    if last.started_at is not None and table.started_at is not None:
        moved = table.started_at - last.started_at
    if abs(moved) > 2 * JITTER_S:
        yield (
            f"its clock was set {'back' if moved < 0 else 'forward'} by"
            f" {time_text(abs(moved) * 1e6)}: the sums are right, but the time they are stored"
            " under may not be"
        )


def _keep_settings(store: sqlite3.Connection, instance: int, table: DigestTable) -> None:
    """Keep the version and the variables, if they are not those of the last collection."""
    now = table.version, json.dumps(dict(sorted(table.variables.items())))
    last = store.execute(
        "SELECT version, variables FROM settings WHERE instance = ? ORDER BY since DESC LIMIT 1",
        [instance],
    ).fetchone()
    if last != now:
        store.execute(
            "INSERT OR REPLACE INTO settings VALUES (?, ?, ?, ?)",
            (instance, table.taken_at, *now),
        )


def forget(path: Path, moment: int) -> None:
    """Delete what a store counted before a moment. Units: unix seconds. Raises: ProxyctlError."""
    with opened_store(path) as store, writing(store):
        forget_before(store, moment)
