"""Rolls old growth up to hours and days, and deletes what is too old."""

from __future__ import annotations

import sqlite3

from proxyctl.stats.store.series import ADDED

HOUR_S, DAY_S = 3_600, 86_400
RECENT_S = 6 * HOUR_S
"""How long each collection is kept for itself. Units: seconds."""
HOURS_S = 14 * DAY_S
"""How long hours are kept; older ones become days. Units: seconds."""
SUMS = (
    "sum(count_star), sum(sum_time), ifnull(min(nullif(min_time, 0)), 0), max(max_time),"
    " sum(sum_rows_affected), sum(sum_rows_sent)"
)
"""The SQL that adds up rows of growth."""


def add_period(
    store: sqlite3.Connection, instance: int, at: int, seconds: int, *, is_cleared: bool = False
) -> None:
    """Keep that `seconds` until `at` were counted. Units: `at` in unix seconds."""
    store.execute(
        "INSERT INTO period VALUES (?, ?, ?, ?) ON CONFLICT (instance, at) DO UPDATE"
        " SET seconds = seconds + excluded.seconds,"
        " is_cleared = max(is_cleared, excluded.is_cleared)",
        (instance, at, seconds, int(is_cleared)),
    )


def roll_up(store: sqlite3.Connection, now: int) -> None:
    """Add old collections up to hours, and old hours to days. Units: `now` in unix seconds.

    Collections become hours some hours at a time: each time touches a page of every digest.
    """
    [(oldest,)] = store.execute("SELECT min(at) FROM recent").fetchall()
    if oldest is not None and oldest <= now - 2 * RECENT_S:
        until = _before(now - RECENT_S, HOUR_S)
        _add_up(store, "recent", until, HOUR_S)
    until = _before(now - HOURS_S, DAY_S)
    hours = f"at <= {until} AND at % {DAY_S} <> 0"
    if store.execute(f"SELECT 1 FROM period WHERE {hours} LIMIT 1").fetchone():
        _add_up(store, "older", until, DAY_S)


def _before(moment: int, length: int) -> int:
    """Return the last end of an hour or a day at or before a moment."""
    return moment - moment % length


def _add_up(store: sqlite3.Connection, table: str, until: int, length: int) -> None:
    """Move the rows of a table, and the periods, to the ends of their hours or days."""
    end = f"(at + {length - 1}) / {length} * {length}"
    old = f"at <= {until} AND at % {length} <> 0" if table == "older" else f"at <= {until}"
    store.execute("CREATE TEMP TABLE moved AS SELECT * FROM older LIMIT 0")
    store.execute(
        f"INSERT INTO moved SELECT series, {end} AS ended, {SUMS} FROM {table} WHERE {old}"
        " GROUP BY series, ended"
    )
    store.execute(f"DELETE FROM {table} WHERE {old}")
    store.execute(
        "INSERT INTO older SELECT * FROM moved WHERE true"
        f" ON CONFLICT (series, at) DO UPDATE SET {ADDED}"
    )
    store.execute("DROP TABLE moved")
    store.execute("CREATE TEMP TABLE moved AS SELECT * FROM period LIMIT 0")
    store.execute(
        f"INSERT INTO moved SELECT instance, {end} AS ended, sum(seconds), max(is_cleared)"
        f" FROM period WHERE at <= {until} AND at % {length} <> 0 GROUP BY instance, ended"
    )
    store.execute(f"DELETE FROM period WHERE at <= {until} AND at % {length} <> 0")
    store.execute(
        "INSERT INTO period SELECT * FROM moved WHERE true ON CONFLICT (instance, at) DO UPDATE"
        " SET seconds = seconds + excluded.seconds,"
        " is_cleared = max(is_cleared, excluded.is_cleared)"
    )
    store.execute("DROP TABLE moved")


def forget_before(store: sqlite3.Connection, moment: int) -> None:
    """Delete what was counted before a moment, and digests of which nothing is left.

    A digest whose counters ProxySQL still holds is kept: its growth could not be told otherwise.
    Units: unix seconds.
    """
    if not store.execute("SELECT 1 FROM period WHERE at <= ? LIMIT 1", [moment]).fetchone():
        return
    for table in ("older", "recent", "period"):
        store.execute(f"DELETE FROM {table} WHERE at <= ?", [moment])
    store.execute(
        "DELETE FROM series WHERE count_star = 0"
        " AND NOT EXISTS (SELECT 1 FROM older WHERE older.series = series.id)"
        " AND id NOT IN (SELECT series FROM recent)"
    )
    store.execute("DELETE FROM digest WHERE digest NOT IN (SELECT digest FROM series)")
    for table in ("settings", "routing"):
        store.execute(
            f"DELETE FROM {table} WHERE EXISTS (SELECT 1 FROM {table} AS later"
            f" WHERE later.instance = {table}.instance AND later.since > {table}.since"
            " AND later.since <= ?)",
            [moment],
        )
    store.execute(
        "DELETE FROM configuration WHERE hash NOT IN"
        " (SELECT configuration FROM routing WHERE configuration NOT NULL)"
    )
