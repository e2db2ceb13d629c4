"""Digests that a sandbox counts step by step, and what a store holds of them."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from proxyctl.stats.model import SeenDigest
from proxyctl.stats.store.file import opened_store, writing
from proxyctl.stats.store.series import SeriesOfInstance, hold_rows
from proxyctl.stats.store.window import StoreWindow, read_window_table
from tests.support.digests.seen import fill, seen_digest
from tests.support.servers.instances import Instance

CLEARS_APART_S = 100
"""The time that passes at a `CountingSandbox` with each clear. Units: seconds."""
HOUR_S = 3600


@dataclass
class CountingSandbox:
    """A sandbox whose counters grow, and are cleared, as those of a ProxySQL."""

    instance: Instance
    rows: dict[str, SeenDigest] = field(default_factory=dict)
    clears: int = 0

    def run(self, query: str, calls: int = 1, time_us: int = 1000, *, ago_s: int = 0) -> None:
        """Count calls of a query, the last one `ago_s` seconds ago."""
        now = int(time.time())
        # What is counted after a clear is seen later than what the clear deleted.
        began = now + CLEARS_APART_S * self.clears
        row = self.rows.get(query) or seen_digest(
            query,
            **{"count_star": 0, "sum_time": 0, "sum_rows_sent": 0},
            **{"first_seen": began, "min_time": time_us, "max_time": time_us},
        )
        self.rows[query] = row._replace(
            count_star=row.count_star + calls,
            sum_time=row.sum_time + calls * time_us,
            sum_rows_sent=row.sum_rows_sent + calls,
            last_seen=now - ago_s,
            min_time=min(row.min_time, time_us),
            max_time=max(row.max_time, time_us),
        )
        fill(self.instance, self.rows.values())

    def clear(self) -> None:
        """Clear all counters."""
        self.rows, self.clears = {}, self.clears + 1
        fill(self.instance, ())


def add_hour(path: Path, instance: str, at: int, rows: Iterable[SeenDigest]) -> None:
    """Add the growth in the hour until `at` to a store, which is made if there is none.

    Units: `at` in unix seconds.
    """
    with opened_store(path, is_new_allowed=True) as store:
        held = hold_rows(store, rows)
        with writing(store):
            _add_held(store, held, instance, at)


def _add_held(store: sqlite3.Connection, held: str, instance: str, at: int) -> None:
    store.execute(
        "INSERT OR IGNORE INTO instance VALUES (NULL, ?, ?, 2, ?, NULL, 0, 0, 0, 0, 0, 0, 0)",
        (instance, f"{instance}:6032", at),
    )
    [(number,)] = store.execute("SELECT id FROM instance WHERE name = ?", [instance]).fetchall()
    store.execute("INSERT OR IGNORE INTO settings VALUES (?, 0, '2.7.1', ?)", (number, "{}"))
    store.execute("INSERT INTO period VALUES (?, ?, ?, 0)", (number, at, HOUR_S))
    series = SeriesOfInstance(store, number)
    series.measure(held, 0)
    series.add_growth(at)


def change_store(path: Path, *statements: str) -> None:
    """Change a store by hand."""
    with opened_store(path) as store:
        for statement in statements:
            store.execute(statement)


def age(path: Path, seconds: int) -> None:
    """Let everything that a store holds be older."""
    change_store(
        path,
        *(f"UPDATE {table} SET at = at - {seconds}" for table in ("recent", "period")),
        *(f"UPDATE {table} SET since = since - {seconds}" for table in ("settings", "routing")),
    )


def stored_sums(path: Path, since: int = 0, until: int = 1 << 40) -> dict[str, tuple[int, int]]:
    """Return the calls and the time that a store holds, by digest text."""
    table, _ = read_window_table(StoreWindow(path, since, until))
    sums: dict[str, tuple[int, int]] = {}
    for row in table.rows:
        calls, spent = sums.get(row.digest_text, (0, 0))
        sums[row.digest_text] = calls + row.count_star, spent + row.sum_time
    return sums
