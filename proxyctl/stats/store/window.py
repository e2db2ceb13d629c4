"""Reads what a store holds of a time: its instances, and the sums of every digest.

A time begins and ends with periods: a collection of the last hours, then hours, then days. What a
period counted belongs to its end.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from proxyctl.errors import ProxyctlError, UsageError
from proxyctl.stats.model import LARGEST, DigestTable, SeenDigest
from proxyctl.stats.store.file import opened_store
from proxyctl.stats.store.series import ADDED

_SUMS = (
    "sum(count_star), sum(sum_time), ifnull(min(nullif(min_time, 0)), 0), max(max_time),"
    " sum(sum_rows_affected), sum(sum_rows_sent), min(at), max(at)"
)


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
    cleared: int
    """The periods in which counters were cleared."""

    def table(self, rows: Sequence[SeenDigest] = ()) -> DigestTable:
        """Return rows as the digest table of the instance at the end of the window."""
        return DigestTable(self.name, self.address, self.version, self.end, rows, self.variables)

    def notes(self, window: StoreWindow) -> Iterator[str]:
        """Yield why the sums of the window may mislead."""
        if self.cleared:
            yield (
                f"{self.name}: the counters were cleared in between: what was counted between a"
                " collection and that is lost"
            )
        if window.since and self.seconds > 1.1 * (window.until - window.since):
            yield (
                f"{self.name}: its first collection in this time counted since before it, so more"
                " is listed than ran in it"
            )


class WindowReader:
    """A window, open for reading. `sums`: the name of its temporary table with a row per series."""

    def __init__(self, store: sqlite3.Connection, window: StoreWindow, sums: str = "sums") -> None:
        self.store = store
        self.window = window
        self.sums = sums
        self.instances = [*self._instances()]

    def _instances(self) -> Iterator[StoredInstance]:
        window = self.window
        rows = self.store.execute(
            "SELECT id, name, address, min(at - seconds), max(at), sum(seconds), sum(is_cleared)"
            " FROM instance JOIN period ON period.instance = instance.id"
            " WHERE at > ? AND at <= ? GROUP BY id ORDER BY name, address",
            window.bounds,
        ).fetchall()
        for number, name, address, start, end, seconds, cleared in rows:
            if window.instance in (None, name):
                version, variables = self._settings(number)
                yield StoredInstance(
                    number, name, address, version, variables, start, end, seconds, cleared
                )

    def _settings(self, instance: int) -> tuple[str, Mapping[str, str]]:
        """Return the version and the variables at the end of the window."""
        _, until = self.window.bounds
        version, variables = self.store.execute(
            "SELECT version, variables FROM settings WHERE instance = ?"
            " ORDER BY since <= ? DESC, abs(since - ?) LIMIT 1",
            (instance, until, until),
        ).fetchone()
        return version, json.loads(variables)

    def add_up(self) -> None:
        """Fill the temporary table with the growth of the instances.

        Columns: series, count_star, sum_time, min_time, max_time, sum_rows_affected, sum_rows_sent,
        first_at and last_at: the ends of the first and the last period in which it ran.
        """
        numbers = ",".join(str(one.number) for one in self.instances)
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
                f" {_SUMS.replace('sum(', f'sum({table}.')}"
                f" FROM series NOT INDEXED {join} {table} ON {table}.series = series.id"
                f" WHERE at > ? AND at <= ? AND series.instance IN ({numbers}) GROUP BY series.id"
                f" ON CONFLICT (series) DO UPDATE SET {ADDED},"
                " first_at = min(first_at, excluded.first_at),"
                " last_at = max(last_at, excluded.last_at)",
                self.window.bounds,
            )


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


def nothing_counted(store: sqlite3.Connection, window: StoreWindow) -> ProxyctlError:
    """Return the error for a window without periods."""
    names = [name for (name,) in store.execute("SELECT name FROM instance ORDER BY name")]
    if window.instance is not None and window.instance not in names:
        return UsageError(
            f"--instance {window.instance}: no such instance in {window.path}",
            fix=f"instances: {', '.join(names) or 'none'}",
        )
    [(first, last)] = store.execute("SELECT min(at - seconds), max(at) FROM period").fetchall()
    if first is None:
        return ProxyctlError(
            f"{window.path}: nothing was counted yet: a first collection only notes the counters",
            fix="collect again",
        )
    return ProxyctlError(
        f"{window.path}: nothing was counted from {_moment(window.since)} to"
        f" {_moment(window.until)}",
        fix=f"the store covers {_moment(first)} to {_moment(last)}",
    )


def _moment(seconds: int) -> str:
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
                fix="take each with its rules with --all, or choose one with --instance:"
                f" {', '.join(one.name for one in instances)}",
            )
        start, end = min(one.start for one in instances), max(one.end for one in instances)
        cursor = reader.store.execute(
            "SELECT hostgroup, schemaname, username, client_address, series.digest, digest_text,"
            " sum(sums.count_star), ?, max(last_at), sum(sums.sum_time),"
            " ifnull(min(nullif(min_time, 0)), 0), max(max_time), sum(sums.sum_rows_affected),"
            " sum(sums.sum_rows_sent) FROM sums JOIN series ON series.id = sums.series"
            " JOIN digest ON digest.digest = series.digest"
            " GROUP BY hostgroup, schemaname, username, client_address, series.digest",
            [max(start, window.since)],
        )
        rows = [SeenDigest._make(row) for row in cursor]
        notes = [note for one in instances for note in one.notes(window)]
    first = instances[-1]
    name = first.name if len(instances) == 1 else window.path.name
    address = first.address if len(instances) == 1 else window.path.name
    return DigestTable(name, address, first.version, end, rows, first.variables), notes
