"""Where SQLite cannot read a file, ProxySQL 2.7 returns no rows and no error; 3.0 waits."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.support.commands.cli import Project, proxyctl
from tests.support.servers.instances import ProxySQL

pytestmark = pytest.mark.real

FILES = "version: 1\nmysql_servers:\n  - {hostgroup_id: 1, hostname: db1}\n"


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold the lock that every writer takes at its COMMIT."""
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")


@pytest.fixture
def applied(fresh_proxysql: ProxySQL, offline: Project) -> ProxySQL:
    offline.connect(fresh_proxysql.instance)
    offline.write(FILES)
    assert proxyctl("apply", "--auto-approve").code == 0
    return fresh_proxysql


def test_history_that_is_being_written_hides_no_table(applied: ProxySQL) -> None:
    with locked(applied.folder / "proxysql_stats.db"):
        done = proxyctl("plan", "--detailed-exitcode")
        nodes = proxyctl("nodes", "list", "--no-ask")
    assert done.code == 0, done.text
    assert nodes.code == 0, nodes.text


@pytest.mark.parametrize("command", ["plan", "drift", "export", "snapshot"])
def test_a_locked_disk_is_no_empty_one_and_is_named_within_seconds(
    applied: ProxySQL, command: str
) -> None:
    with locked(applied.folder / "proxysql.db"):
        began = time.monotonic()
        done = proxyctl(command, *(["--layer", "disk"] if command == "export" else []))
        took_s = time.monotonic() - began
    assert done.code == 1, done.text
    assert (
        "another program (a backup, sqlite3) has locked proxysql.db, which holds DISK"
    ) in done.text
    assert took_s < 15, done.text


def test_a_disk_that_is_locked_for_a_moment_is_waited_for(applied: ProxySQL) -> None:
    opened = threading.Event()

    def hold() -> None:
        with locked(applied.folder / "proxysql.db"):
            opened.set()
            time.sleep(0.2)

    holder = threading.Thread(target=hold)
    holder.start()
    opened.wait()
    done = proxyctl("plan", "--detailed-exitcode")
    holder.join()
    assert done.code == 0, done.text
