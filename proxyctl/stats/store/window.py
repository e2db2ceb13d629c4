"""Reads what a store holds of a time: its instances, and the sums of every digest.

A time begins and ends with periods: a collection of the last hours, then hours, then days. What a
period counted belongs to its end.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from proxyctl.errors import ProxyctlError, UsageError
from proxyctl.stats.differing_digests import with_names
from proxyctl.stats.model import LARGEST, DigestTable, SeenDigest
from proxyctl.stats.store.file import opened_store
from proxyctl.stats.store.keep import SUMS
from proxyctl.stats.store.series import ADDED

LEAST_PART = 0.9
"""The part of a time that must have been collected of an instance, or a note says so."""
MOST_NAMES = 10
"""The most instances that a note about missing time names."""


@dataclass(frozen=True)
class StoreWindow:
    """A time in a store."""

    path: Path
    """The file."""
    since: int
    """The time begins after this moment. Units: unix seconds."""
    until: int
    """The time ends with this moment. Units: unix seconds."""
    instance: str | None = None
    """The name of the only instance to read; None: all."""
    has_end: bool = True
    """Whether `until` bounds what is read. If not, it is the present time of this machine, which
    may be behind the clock of an instance."""

    @property
    def bounds(self) -> tuple[int, int]:
        """The moments after which, and until which, a period ends. Units: unix seconds."""
        return self.since, self.until if self.has_end else LARGEST


@dataclass(frozen=True)
class StoredInstance:
    """An instance in a store, and how much of a window was counted."""

    number: int
    """Its number in the store."""
    name: str
    """The name of the instance in the files, or its address."""
    address: str
    """The address of the admin interface."""
    version: str
    """The version at the end of the window."""
    variables: Mapping[str, str]
    """The mysql-query_digests variables at the end of the window, by full name."""
    start: int
    """When the first period began. Units: unix seconds."""
    end: int
    """When the last period ended. Units: unix seconds."""
    seconds: int
    """The length of all periods. Units: seconds."""
    longest: int
    """The length of the longest period. Units: seconds."""
    cleared: int
    """The periods in which counters were cleared."""

    def table(self, rows: Sequence[SeenDigest] = ()) -> DigestTable:
        """Return rows as the digest table of the instance at the end of the window."""
        return DigestTable(self.name, self.address, self.version, self.end, rows, self.variables)

    def notes(self, window: StoreWindow) -> Iterator[str]:
        """Yield why the sums of the window may mislead."""
        if self.cleared:
            yield (
                "the counters were cleared in between: what was counted between the last collection"
                " and the clearing is lost"
            )
        length = max(window.until, self.end) - window.since
        if window.since and self.seconds > 1.1 * length:
            yield (
                "its first collection in this period also covers time before the period, so more is"
                " listed than ran in it"
            )


@dataclass(frozen=True)
class StoredHistory:
    """What a store holds of an instance at any time, also if it changed its address."""

    name: str
    """The name of the instance in the files, or its address."""
    collections: int
    """How often it was collected."""
    start: int | None
    """When the first period began; None without periods. Units: unix seconds."""
    end: int | None
    """When the last period ended; None without periods. Units: unix seconds."""


class WindowReader:
    """A window, open for reading.

    It has the instances with periods in the window, and the histories of those without (`missing`).
    """

    def __init__(self, store: sqlite3.Connection, window: StoreWindow, sums: str = "sums") -> None:
        """Read the instances. `sums`: the name of the temporary table with a row per series."""
        self.store = store
        self.window = window
        self.sums = sums
        self.instances = [*self._instances()]
        histories = [
            history for history in _histories(store) if window.instance in (None, history.name)
        ]
        names = {instance.name for instance in self.instances}
        self.missing = [history for history in histories if history.name not in names]
        self._starts = {
            history.name: history.start for history in histories if history.start is not None
        }

    def _instances(self) -> Iterator[StoredInstance]:
        window = self.window
        rows = self.store.execute(
            "SELECT id, name, address, min(at - seconds), max(at), sum(seconds),"
            " max(seconds), sum(is_cleared) FROM instance"
            " JOIN period ON period.instance = instance.id WHERE at > ? AND at <= ?"
            " GROUP BY id ORDER BY name, address",
            window.bounds,
        ).fetchall()
        for number, name, address, *times in rows:
            if window.instance in (None, name):
                settings = self._settings(number)
                yield StoredInstance(number, name, address, *settings, *times)

    def _settings(self, instance: int) -> tuple[str, Mapping[str, str]]:
        """Return the version and the variables at the end of the window."""
        _, until = self.window.bounds
        version, variables = self.store.execute(
            "SELECT version, variables FROM settings WHERE instance = ?"
            " ORDER BY since <= ? DESC, abs(since - ?) LIMIT 1",
            (instance, until, until),
        ).fetchone()
        return version, json.loads(variables)

    def notes(self, *, names_clears: bool = True) -> list[str]:
        """Return why the sums may mislead, and what the store lacks of the time.

        `names_clears`: also the instances whose counters were cleared.
        """
        return [
            *with_names(self.doubts(names_clears=names_clears)),
            *self.gap_notes("this period"),
            *missing_notes(self.missing, "not collected in this period"),
        ]

    def doubts(self, *, names_clears: bool = True) -> dict[tuple[str, str], None]:
        """Return why the sums may mislead. Shape: the name of an instance and a note, each once."""
        return dict.fromkeys(
            (stored.name, note)
            for stored in self.instances
            for note in (stored if names_clears else replace(stored, cleared=0)).notes(self.window)
        )

    def gap_notes(self, when: str) -> Iterator[str]:
        """Yield which instances were collected for a part only. `when`: the words for the time."""
        begin, end = self._span()
        percents: dict[bool, dict[str, int]] = {False: {}, True: {}}
        for name in dict.fromkeys(instance.name for instance in self.instances):
            part = self._collected_s(name, begin, end) / max(end - begin, 1)
            if part < LEAST_PART:
                percents[self._starts[name] > begin][name] = int(100 * part)
        if gaps := percents[False]:
            yield f"{_listed([*gaps])}: {_part_text(gaps.values())} of {when} was collected"
        if young := percents[True]:
            text = _part_text(young.values())
            yield f"{_listed([*young])}: first collected in {when}, so {text} of it was collected"

    def _span(self) -> tuple[int, int]:
        """Return the time of which periods are missed; without --since, that of the instances."""
        last = max(instance.end for instance in self.instances)
        if not self.window.since:
            return min(instance.start for instance in self.instances), last
        return self.window.since, self.window.until

    def _collected_s(self, name: str, begin: int, end: int) -> int:
        """Return the seconds that were collected of an instance, also if it changed its address.

        The time since the last collection is not missed, unless the next one is clearly overdue.
        """
        parts = [instance for instance in self.instances if instance.name == name]
        seconds = sum(part.seconds - max(begin - part.start, 0) for part in parts)
        quiet = end - max(part.end for part in parts)
        is_overdue = quiet > 2 * max(part.longest for part in parts)
        return seconds if is_overdue else seconds + max(quiet, 0)

    def add_up(self) -> None:
        """Fill the temporary table with the growth of the instances.

        Columns: series, count_star, sum_time, min_time, max_time, sum_rows_affected, sum_rows_sent,
        first_at and last_at: the ends of the first and the last period in which it ran.
        """
        numbers = ",".join(str(instance.number) for instance in self.instances)
        sums = f"{SUMS}, min(at), max(at)"
        self.store.execute(f"DROP TABLE IF EXISTS temp.{self.sums}")
        self.store.execute(
            f"CREATE TEMP TABLE {self.sums} (series INTEGER PRIMARY KEY, count_star INTEGER,"
            " sum_time INTEGER, min_time INTEGER, max_time INTEGER, sum_rows_affected INTEGER,"
            " sum_rows_sent INTEGER, first_at INTEGER, last_at INTEGER)"
        )
        # CROSS JOIN fixes the order: the periods of a series lie together, and need no sorting.
        for table, join in (("older", "CROSS JOIN"), ("recent", "JOIN")):
            self.store.execute(
                f"INSERT INTO {self.sums} SELECT series.id,"
                f" {sums.replace('sum(', f'sum({table}.')}"
                f" FROM series NOT INDEXED {join} {table} ON {table}.series = series.id"
                f" WHERE at > ? AND at <= ? AND series.instance IN ({numbers}) GROUP BY series.id"
                f" ON CONFLICT (series) DO UPDATE SET {ADDED},"
                " first_at = min(first_at, excluded.first_at),"
                " last_at = max(last_at, excluded.last_at)",
                self.window.bounds,
            )


def rows_of(reader: WindowReader, instances: Sequence[StoredInstance]) -> Iterator[SeenDigest]:
    """Yield the growth of instances, added up. `first_seen` is the beginning of the time."""
    start = max(min(instance.start for instance in instances), reader.window.since)
    numbers = ",".join(str(instance.number) for instance in instances)
    cursor = reader.store.execute(
        "SELECT hostgroup, schemaname, username, client_address, series.digest, digest_text,"
        " sum(sums.count_star), ?, max(last_at), sum(sums.sum_time),"
        " ifnull(min(nullif(min_time, 0)), 0), max(max_time), sum(sums.sum_rows_affected),"
        f" sum(sums.sum_rows_sent) FROM {reader.sums} AS sums"
        " JOIN series ON series.id = sums.series JOIN digest ON digest.digest = series.digest"
        f" WHERE series.instance IN ({numbers})"
        " GROUP BY hostgroup, schemaname, username, client_address, series.digest",
        [start],
    )
    yield from map(SeenDigest._make, cursor)


@contextmanager
def opened_window(window: StoreWindow) -> Iterator[WindowReader]:
    """Yield a window, open for reading, with its sums. One moment of the store is read.

    Raises: UsageError for an instance that the store lacks; ProxyctlError for a file that is no
    store, and if nothing was counted in the time.
    """
    with opened_store(window.path) as store:
        store.execute("BEGIN")  # other collections are not seen
        reader = WindowReader(store, window)
        if not reader.instances:
            raise nothing_counted(store, window)
        reader.add_up()
        yield reader


def _histories(store: sqlite3.Connection) -> Iterator[StoredHistory]:
    """Yield what the store holds of each instance by name, in the order of names."""
    rows = store.execute(
        "SELECT name, sum(collections), min(start), max(end) FROM instance LEFT JOIN"
        " (SELECT instance, min(at - seconds) AS start, max(at) AS end FROM period"
        " GROUP BY instance) ON instance = id GROUP BY name ORDER BY name"
    )
    yield from (StoredHistory(*row) for row in rows.fetchall())


def missing_notes(missing: Sequence[StoredHistory], text: str) -> Iterator[str]:
    """Yield a note with `text` about instances without periods, and one about new ones.

    An instance whose periods were all deleted is not named.
    """
    if names := [history.name for history in missing if history.start is not None]:
        yield f"{_listed(names)}: {text}"
    if names := [
        history.name for history in missing if history.start is None and history.collections == 1
    ]:
        yield f"{_listed(names)}: collected only once so far, which does not count anything yet"


def _part_text(percents: Collection[int]) -> str:
    """Return `only 40%`, or `only 9% to 40%`."""
    texts = dict.fromkeys(f"{percent}%" for percent in (min(percents), max(percents)))
    return f"only {' to '.join(texts)}" if max(percents) else "less than 1%"


def _listed(names: Sequence[str]) -> str:
    """Return names, the first ones of many with the count of the others."""
    hidden = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {hidden} more" if hidden > 0 else "")


def nothing_counted(
    store: sqlite3.Connection, window: StoreWindow, *, advice: str = ""
) -> ProxyctlError:
    """Return the error for a window without periods. `advice`: what to do, for its fix."""
    histories = [*_histories(store)]
    names = [history.name for history in histories]
    if window.instance is not None and window.instance not in names:
        return UsageError(
            f"--instance {window.instance}: no such instance in {window.path}",
            fix=f"choose from {', '.join(names)}" if names else "name a different store",
        )
    chosen = [history for history in histories if window.instance in (None, history.name)]
    starts = [history.start for history in chosen if history.start is not None]
    ends = [history.end for history in chosen if history.end is not None]
    where = "" if window.instance is None else f" at {window.instance}"
    if not starts:
        return ProxyctlError(
            f"{window.path}: nothing was counted{where} yet: the first collection only records the"
            " counters",
            fix="collect again",
        )
    who = "" if window.instance is None else f"{window.instance}: "
    covers = f"{who}the store covers {moment_text(min(starts))} to {moment_text(max(ends))}"
    return ProxyctlError(
        f"{window.path}: nothing was counted{where} from {moment_text(window.since)} to"
        f" {moment_text(window.until)}",
        fix="; ".join(filter(None, [covers, advice])),
    )


def moment_text(seconds: int) -> str:
    """Return unix seconds as `2026-11-28T14:30:00Z`."""
    from datetime import UTC, datetime

    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def read_window_table(
    window: StoreWindow, *, needs_one: bool = False
) -> tuple[DigestTable, list[str]]:
    """Return the growth in a window as a digest table, and notes.

    The rows of several instances are added up, under the name of the file; `needs_one` refuses
    them. Every row has `first_seen` at the beginning of the window. Raises: as `opened_window`.
    """
    with opened_window(window) as reader:
        instances = reader.instances
        if needs_one and len(instances) > 1:
            raise UsageError(
                f"{window.path} has several instances, and their rules may differ",
                fix="use --all for each with its own rules, or choose one with --instance:"
                f" {', '.join(instance.name for instance in instances)}",
            )
        rows = [*rows_of(reader, instances)]
        end = max(instance.end for instance in instances)
        notes = reader.notes()
    first = instances[-1]
    name = first.name if len(instances) == 1 else window.path.name
    address = first.address if len(instances) == 1 else window.path.name
    return DigestTable(name, address, first.version, end, rows, first.variables), notes
