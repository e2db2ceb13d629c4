"""ProxySQL answers with no rows, and no error, while a file of its own is locked for a moment."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli import Project, proxyctl
from tests.servers import ProxySQL

FILES = "version: 1\nmysql_servers:\n  - {hostgroup_id: 10, hostname: db1}\n"
LOCKED_S = 0.5


def test_a_plan_waits_until_the_statistics_are_written(
    fresh_proxysql: ProxySQL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ProxySQL locks that file itself, each time it writes its history there."""
    (tmp_path / "files").mkdir()
    project = Project(tmp_path / "files", monkeypatch)
    project.connect(fresh_proxysql.instance)
    project.write(FILES)
    path = fresh_proxysql.folder / "proxysql_stats.db"
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN EXCLUSIVE")
        tables = "SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name)"
        assert fresh_proxysql.instance.query(tables) == []
        release = threading.Timer(LOCKED_S, other.execute, ["COMMIT"])
        release.start()
        found = proxyctl("plan")
        release.join()
    assert found.code == 0, found.text
    assert "+ server 10 db1:3306" in found.out
