"""Adds what was counted between two readings of a digest table to a store.

A counter goes on if it was not cleared in between: then its growth is the difference. A counter
that was cleared, or that is new, grew by all that it holds. SQLite compares a reading with the last
one: there may be a million rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from proxyctl.stats.counters import JITTER_S
from proxyctl.stats.model import Load, SeenDigest

_BATCH = 1_000
_COLUMNS = ", ".join(SeenDigest._fields)
_TEXTS = ("schemaname", "username", "client_address", "digest", "digest_text")
_CELLS = ", ".join("CAST(? AS TEXT)" if name in _TEXTS else "?" for name in SeenDigest._fields)
_KEY = "digest, hostgroup, schemaname, username, client_address"
_COUNTERS = "count_star, sum_time, sum_rows_affected, sum_rows_sent"
_KEPT = f"{_KEY}, {_COUNTERS}, first_seen, last_seen"
"""The columns of a row that the store keeps of its last reading."""
ADDED = (
    "count_star = count_star + excluded.count_star, sum_time = sum_time + excluded.sum_time,"
    " min_time = CASE WHEN min_time = 0 THEN excluded.min_time WHEN excluded.min_time = 0"
    " THEN min_time ELSE min(min_time, excluded.min_time) END,"
    " max_time = max(max_time, excluded.max_time),"
    " sum_rows_affected = sum_rows_affected + excluded.sum_rows_affected,"
    " sum_rows_sent = sum_rows_sent + excluded.sum_rows_sent"
)
"""The SQL that adds a row of growth to the row that is there."""


def bindable(text: str) -> str | bytes:
    """Return a text for SQLite, which takes no surrogate escapes: `CAST(? AS TEXT)` takes both."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape")


@dataclass(frozen=True)
class GrowthOfRows:
    """What the rows of a reading grew by."""

    total: Load
    """The growth; its `entries` are the rows that grew."""
    continued: int
    """The rows whose counters went on."""
    cleared: int
    """The rows whose counters began again."""
    new: int
    """The rows that the last reading did not have."""
    oldest: int | None
    """The earliest first_seen of the rows that did not go on; None without one. Units: unix
    seconds."""


def hold_rows(store: sqlite3.Connection, rows: Iterable[SeenDigest], number: int = 0) -> str:
    """Keep rows in a temporary table, and return its name. The file of the store is not locked.

    `number`: tells the tables of one collection apart. Rows are read in batches.
    """
    held = f"temp.reading_{number}"
    store.execute(f"DROP TABLE IF EXISTS {held}")
    store.execute(f"CREATE TEMP TABLE reading_{number} ({_COLUMNS})")
    for batch in _batches(rows):
        store.execute("BEGIN")  # each row would be a transaction of its own
        store.executemany(f"INSERT INTO {held} VALUES ({_CELLS})", batch)
        store.execute("COMMIT")
    return held


def held_sums(store: sqlite3.Connection, held: str) -> tuple[Load, int | None]:
    """Return the sums of rows that are held, and their earliest first_seen; None without rows."""
    [(entries, calls, time, sent, affected, first_seen)] = store.execute(
        "SELECT count(*), ifnull(sum(count_star), 0), ifnull(sum(sum_time), 0),"
        " ifnull(sum(sum_rows_sent), 0), ifnull(sum(sum_rows_affected), 0), min(first_seen)"
        f" FROM {held} WHERE count_star > 0"
    ).fetchall()
    return Load(entries, calls, time, 0, sent, affected), first_seen


class SeriesOfInstance:
    """The rows of one instance in a store, to which readings are added in one transaction."""

    def __init__(self, store: sqlite3.Connection, instance: int) -> None:
        self._store = store
        self._instance = instance

    def begin(self, held: str) -> None:
        """Keep the counters of a first reading, which tell no growth. `held`: see `hold_rows`."""
        self._keep_texts(held)
        self._store.execute(
            f"INSERT INTO series (instance, {_KEPT}) SELECT {self._instance}, {_KEPT} FROM {held}"
        )

    def measure(self, held: str, moved_s: int) -> GrowthOfRows:
        """Return what the rows grew by. `held`: see `hold_rows`.

        Units: `moved_s`, the seconds by which the clock was set since the last reading.
        """
        self._keep_texts(held)
        execute = self._store.execute
        execute(
            f"INSERT OR IGNORE INTO series (instance, {_KEPT})"
            f" SELECT {self._instance}, {_KEY}, 0, 0, 0, 0, 0, 0 FROM {held}"
        )
        # As `were_cleared`.
        continues = (
            "series.count_star > 0 AND reading.count_star >= series.count_star"
            " AND reading.sum_time >= series.sum_time"
            " AND reading.sum_rows_affected >= series.sum_rows_affected"
            " AND reading.sum_rows_sent >= series.sum_rows_sent"
            f" AND abs(reading.first_seen - series.first_seen - {moved_s}) <= {2 * JITTER_S}"
        )
        growth = ", ".join(
            f"reading.{name} - CASE WHEN {continues} THEN series.{name} ELSE 0 END AS {name}"
            for name in _COUNTERS.split(", ")
        )
        execute("DROP TABLE IF EXISTS temp.growth")
        execute(
            f"CREATE TEMP TABLE growth AS SELECT series.id AS series, {growth}, min_time, max_time,"
            f" reading.first_seen AS first_seen, {continues} AS continues,"
            f" series.count_star > 0 AS is_known FROM {held} AS reading"
            f" CROSS JOIN series ON series.instance = {self._instance}"
            " AND series.digest = reading.digest AND series.hostgroup = reading.hostgroup"
            " AND series.schemaname = reading.schemaname AND series.username = reading.username"
            " AND series.client_address = reading.client_address"
        )
        [(entries, calls, time, affected, sent, continued, cleared, new, oldest)] = execute(
            "SELECT ifnull(sum(count_star > 0 OR sum_time > 0), 0), ifnull(sum(count_star), 0),"
            " ifnull(sum(sum_time), 0), ifnull(sum(sum_rows_affected), 0),"
            " ifnull(sum(sum_rows_sent), 0), ifnull(sum(continues), 0),"
            " ifnull(sum(is_known AND NOT continues), 0), ifnull(sum(NOT is_known), 0),"
            " min(CASE WHEN NOT continues THEN first_seen END) FROM growth"
        ).fetchall()
        total = Load(entries, calls, time, 0, sent, affected)
        return GrowthOfRows(total, continued, cleared, new, oldest)

    def _keep_texts(self, held: str) -> None:
        self._store.execute(  # in the order of the table, which takes less time
            f"INSERT OR IGNORE INTO digest SELECT digest, digest_text FROM {held} ORDER BY digest"
        )

    def add_growth(self, at: int) -> None:
        """Add the growth that was measured. Units: `at` in unix seconds."""
        self._store.execute(
            "INSERT INTO recent SELECT ?, series, count_star, sum_time, min_time, max_time,"
            " sum_rows_affected, sum_rows_sent FROM growth WHERE count_star > 0 OR sum_time > 0"
            f" ON CONFLICT (at, series) DO UPDATE SET {ADDED}",
            [at],
        )

    def keep_counters(self, held: str) -> None:
        """Keep the counters of rows that were measured as the last reading."""
        changed = _KEPT.removeprefix(f"{_KEY}, ").split(", ")
        self._store.execute(
            f"INSERT INTO series (instance, {_KEPT})"
            f" SELECT {self._instance}, {_KEPT} FROM {held} WHERE true"
            f" ON CONFLICT (instance, {_KEY})"
            f" DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in changed)}"
        )

    def forget_counters(self, *, which: str = "true") -> None:
        """Set the counters of the last reading to 0, by default all: ProxySQL cleared them."""
        self._store.execute(
            "UPDATE series SET count_star = 0, sum_time = 0, sum_rows_affected = 0,"
            f" sum_rows_sent = 0 WHERE instance = ? AND count_star > 0 AND {which}",
            [self._instance],
        )

    def forget_missing(self) -> None:
        """Set the counters of all rows to 0 that were not among those measured."""
        self.forget_counters(which="id NOT IN (SELECT series FROM growth)")


def _batches(rows: Iterable[SeenDigest]) -> Iterator[list[tuple[object, ...]]]:
    """Yield the rows as parameters, some at a time."""
    stream = iter(rows)
    while batch := [*islice(stream, _BATCH)]:
        if all("".join(row[1:6]).isascii() for row in batch):
            yield [*map(tuple, batch)]  # sqlite3 takes twice as long for named tuples
        else:
            yield [(row[0], *map(bindable, row[1:6]), *row[6:]) for row in batch]
