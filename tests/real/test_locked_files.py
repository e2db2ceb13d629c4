"""ProxySQL answers no row, and no error, where SQLite cannot read. Nothing may follow from that."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.support.cli import Project, proxyctl
from tests.support.servers import ProxySQL

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
        assert applied.instance.query("SELECT count(*) FROM stats_history.system_memory") == []
        done = proxyctl("plan", "--detailed-exitcode")
        nodes = proxyctl("nodes", "list", "--no-ask")
    assert done.code == 0, done.text
    assert nodes.code == 0, nodes.text


@pytest.mark.parametrize("command", ["plan", "drift", "export", "snapshot"])
def test_a_disk_that_cannot_be_read_is_not_an_empty_one(applied: ProxySQL, command: str) -> None:
    with locked(applied.folder / "proxysql.db"):
        assert applied.instance.query("SELECT count(*) FROM disk.mysql_servers") == []
        done = proxyctl(command, *(["--layer", "disk"] if command == "export" else []))
    assert done.code == 1, done.text
    assert "ProxySQL answered with a part of the rows only" in done.text
    assert "another program (a backup, sqlite3) has ProxySQL's files locked" in done.text
