"""The file of a store: its tables, how it is opened, and an error for each reason against it.

Growth is kept in two tables with the same columns. `recent` has a row per collection, in the order
of time, so that a collection appends to it. `older` has a row per hour or day, in the order of
digests, so that a long window is read without sorting. `at` is the end of the time that a row was
counted in.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from proxyctl import __version__
from proxyctl.errors import ProxyctlError
from proxyctl.text import os_reason

APPLICATION_ID = 0x70786473
"""Marks an SQLite file as a store (`pxds`)."""
FORMAT = 2
_WAIT_S = 60.0
_GROWTH = """
    count_star INTEGER NOT NULL, sum_time INTEGER NOT NULL,
    min_time INTEGER NOT NULL, max_time INTEGER NOT NULL,
    sum_rows_affected INTEGER NOT NULL, sum_rows_sent INTEGER NOT NULL"""
_TABLES = (
    """CREATE TABLE instance (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, address TEXT NOT NULL UNIQUE,
    collections INTEGER NOT NULL, taken_at INTEGER NOT NULL, uptime INTEGER,
    dumped_at INTEGER NOT NULL, entries INTEGER NOT NULL, count_star INTEGER NOT NULL,
    sum_time INTEGER NOT NULL, sum_rows_affected INTEGER NOT NULL, sum_rows_sent INTEGER NOT NULL,
    first_seen INTEGER)""",
    """CREATE TABLE settings (
    instance INTEGER NOT NULL, since INTEGER NOT NULL, version TEXT NOT NULL,
    variables TEXT NOT NULL, PRIMARY KEY (instance, since)) WITHOUT ROWID""",
    """CREATE TABLE routing (
    instance INTEGER NOT NULL, since INTEGER NOT NULL, loads TEXT NOT NULL, configuration TEXT,
    PRIMARY KEY (instance, since)) WITHOUT ROWID""",
    "CREATE TABLE configuration (hash TEXT PRIMARY KEY, content BLOB NOT NULL)",
    "CREATE TABLE digest (digest TEXT PRIMARY KEY, digest_text TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE series (
    id INTEGER PRIMARY KEY, instance INTEGER NOT NULL, digest TEXT NOT NULL,
    hostgroup INTEGER NOT NULL, schemaname TEXT NOT NULL, username TEXT NOT NULL,
    client_address TEXT NOT NULL, count_star INTEGER NOT NULL, sum_time INTEGER NOT NULL,
    sum_rows_affected INTEGER NOT NULL, sum_rows_sent INTEGER NOT NULL,
    first_seen INTEGER NOT NULL, last_seen INTEGER NOT NULL,
    UNIQUE (instance, digest, hostgroup, schemaname, username, client_address))""",
    f"""CREATE TABLE recent (
    at INTEGER NOT NULL, series INTEGER NOT NULL, {_GROWTH},
    PRIMARY KEY (at, series)) WITHOUT ROWID""",
    f"""CREATE TABLE older (
    series INTEGER NOT NULL, at INTEGER NOT NULL, {_GROWTH},
    PRIMARY KEY (series, at)) WITHOUT ROWID""",
    """CREATE TABLE period (
    instance INTEGER NOT NULL, at INTEGER NOT NULL, seconds INTEGER NOT NULL,
    is_cleared INTEGER NOT NULL, PRIMARY KEY (instance, at)) WITHOUT ROWID""",
)
"""`series` is a row of stats_mysql_query_digest of one instance, with its counters at the last
reading. `instance` has the last reading of the whole table, `settings` what it ran with since when,
`routing` what it routed by (the hash of a `configuration`; NULL if that is too large), `period` the
time that each collection covers, until `at`. Units: as in ProxySQL; `at`, `since`,
`taken_at` and `dumped_at` in unix seconds of the instance's clock."""

_NO_STORE = "name the file that digest collect --store wrote"


@contextmanager
def opened_store(path: Path, *, is_new_allowed: bool = False) -> Iterator[sqlite3.Connection]:
    """Yield a connection to a store; without `is_new_allowed` the file must exist.

    Nothing is written unless the block writes inside `writing`. Raises: ProxyctlError, also for an
    error of SQLite in the block.
    """
    with reported(path):
        if is_new_allowed:
            _touch(path)
        elif not path.is_file():
            raise ProxyctlError(f"{path}: no such file", fix=_NO_STORE)
        with closing(_connect(path)) as store:
            _check(store, path, is_new_allowed=is_new_allowed)
            yield store


def _touch(path: Path) -> None:
    """Make an empty file that only its owner can read, unless there is one."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _connect(path: Path) -> sqlite3.Connection:
    store = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None)
    store.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    # Readers are only kept out while a transaction is committed, not while it grows.
    store.execute("PRAGMA cache_spill = OFF")
    store.execute("PRAGMA temp_store = MEMORY")
    return store


def _check(store: sqlite3.Connection, path: Path, *, is_new_allowed: bool) -> None:
    """Make the tables of a new store. Raises: ProxyctlError unless it has this format."""
    mark, form, tables = _marks(store)
    if (mark, form, tables) == (0, 0, 0) and is_new_allowed:
        with writing(store):
            if _marks(store) == (0, 0, 0):  # another collector may have been faster
                for table in _TABLES:
                    store.execute(table)
                store.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                store.execute(f"PRAGMA user_version = {FORMAT}")
        mark, form, _ = _marks(store)
    if mark != APPLICATION_ID:
        raise ProxyctlError(f"{path}: not a store of digests", fix=_NO_STORE)
    if form != FORMAT:
        raise ProxyctlError(
            f"{path}: a store of format {form}; this proxyctl {__version__} reads format {FORMAT}",
            fix="use the proxyctl that wrote it, or collect into another file",
        )


def _marks(store: sqlite3.Connection) -> tuple[int, int, int]:
    """Return the application id, the format, and the number of tables."""
    [(mark,)], [(form,)] = (
        store.execute(f"PRAGMA {name}").fetchall() for name in ("application_id", "user_version")
    )
    [(tables,)] = store.execute("SELECT count(*) FROM sqlite_master").fetchall()
    return mark, form, tables


@contextmanager
def writing(store: sqlite3.Connection) -> Iterator[None]:
    """Run the block as one transaction: all of it is kept, or nothing. Others wait for its end."""
    store.execute("BEGIN IMMEDIATE")
    try:
        yield
        store.execute("COMMIT")
    except BaseException:
        if store.in_transaction:
            store.execute("ROLLBACK")
        raise


@contextmanager
def reported(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the system into a ProxyctlError that names the file."""
    try:
        yield
    except OSError as error:
        raise ProxyctlError(f"{path}: {os_reason(error)}") from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        raise _store_error(path, code, str(error)) from error


def _store_error(path: Path, code: int, text: str) -> ProxyctlError:
    match code:
        case sqlite3.SQLITE_NOTADB:
            return ProxyctlError(f"{path}: not a store of digests", fix=_NO_STORE)
        case sqlite3.SQLITE_CORRUPT:
            return ProxyctlError(
                f"{path}: the store is damaged or truncated",
                fix="restore it from a backup, or collect into another file",
            )
        case sqlite3.SQLITE_FULL:
            return ProxyctlError(
                f"{path}: the disk is full; nothing was added",
                fix="free up space: the next collection adds what is missing",
            )
        case sqlite3.SQLITE_IOERR:
            return ProxyctlError(
                f"{path}: cannot be read or written ({text}); nothing was added",
                fix="check that the disk works and has space",
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return ProxyctlError(
                f"{path}: another process has been writing to it for {_WAIT_S:.0f} s",
                fix="check whether another digest collect is running, and try again",
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return ProxyctlError(f"{path}: cannot be opened or written: {text}")
    return ProxyctlError(f"{path}: {text}")
