"""The page "Read/write split: replication", with two MariaDB whose roles the test changes.

The replica never replicates: a replication that is set up and stopped is what the page is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import applied, plan
from tests.support.documentation.pages import blocks
from tests.support.paths import ROOT
from tests.support.servers.instances import ProxySQL, needed_binary
from tests.support.servers.mariadb import MISSING, MariaDB
from tests.support.waiting import until

pytestmark = [
    pytest.mark.real,
    pytest.mark.since("2.7.0", "the page shows what 2.7 prints"),
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]

PAGE = ROOT / "docs" / "how-to" / "read-write-split-replication.md"
WRITER, READER = 10, 20
ACCOUNT = """
CREATE USER monitor@'127.0.0.1' IDENTIFIED BY 'monitor-example';
GRANT REPLICATION CLIENT, REPLICA MONITOR ON *.* TO monitor@'127.0.0.1'
"""
STOPPED = "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=1, MASTER_USER='r'"


@dataclass
class Pair:
    """Two servers, the ProxySQL in front of them, and the files of the page."""

    proxysql: ProxySQL
    project: Project
    primary: MariaDB
    replica: MariaDB

    def write(self, block: str) -> None:
        """Write a block of the page as the files, with a lag check that does not take long."""
        for name, server in self.names().items():
            block = block.replace(f"hostname: {name}", f"hostname: 127.0.0.1, port: {server.port}")
        quick = "variables:\n  mysql-monitor_replication_lag_interval: 500\n"
        self.project.write(block.replace("variables:\n", quick))

    def names(self) -> dict[str, MariaDB]:
        """The servers by their names on the page."""
        return {"db1.example.com": self.primary, "db2.example.com": self.replica}

    def is_placed(self, *rows: tuple[int, MariaDB, str]) -> bool:
        """Whether RUNTIME has just these rows: hostgroup, server, status."""
        query = "SELECT hostgroup_id, port, status FROM runtime_mysql_servers"
        wanted = {(str(group), str(server.port), status) for group, server, status in rows}
        return set(self.proxysql.instance.query(query)) == wanted

    def wait_for_checks(self) -> None:
        """Wait until the monitor has checked read_only of the primary twice more."""
        log = "SELECT count(*) FROM monitor.mysql_server_read_only_log"
        sql = f"{log} WHERE port={self.primary.port}"

        def count() -> int:
            return int(self.proxysql.instance.query(sql)[0][0] or 0)

        wanted = count() + 2
        until(lambda: count() >= wanted, what="the monitor does not check the primary")

    def listed(self) -> str:
        """What `nodes list` prints, with the names of the page."""
        text = proxyctl("nodes", "list").out.replace(str(self.proxysql.instance.port), "6032")
        for name, server in self.names().items():
            text = text.replace(f"127.0.0.1:{server.port}", f"{name}:3306")
        return text


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    for name in ("files", "primary", "replica"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("APP_PASSWORD", "app-example")
    monkeypatch.setenv("MONITOR_PASSWORD", "monitor-example")
    with (
        MariaDB(tmp_path / "primary", setup=ACCOUNT) as primary,
        MariaDB(tmp_path / "replica", setup=ACCOUNT, options=["--read-only=1"]) as replica,
        ProxySQL(needed_binary(), tmp_path / "proxysql", monitor=True) as proxysql,
    ):
        project = Project(tmp_path / "files", monkeypatch)
        project.connect(proxysql.instance)
        yield Pair(proxysql, project, primary, replica)


def outputs() -> list[str]:
    return [block.text for block in blocks(PAGE) if block.language == "text"]


def files() -> str:
    (found,) = [b.text for b in blocks(PAGE) if b.language == "yaml" and "version: 1" in b.lines]
    return found


def skeleton(text: str) -> list[str]:
    """Return the lines in any order, without widths and versions."""
    text = re.sub(r"\d+\.\d+\.\d+-MariaDB\S*", "<MariaDB>", text)
    text = re.sub(r"ProxySQL [23]\.\S+", "<ProxySQL>", text)
    return sorted(re.sub(r"\s+", " ", line) for line in text.splitlines() if line[:1] != "$")


def test_a_failover(pair: Pair) -> None:
    pair.write(files())
    applied()
    until(lambda: skeleton(pair.listed()) == skeleton(outputs()[0]), what=pair.listed())

    pair.primary.run("SET GLOBAL read_only=1")
    pair.replica.run("SET GLOBAL read_only=0")
    until(lambda: skeleton(pair.listed()) == skeleton(outputs()[1]), what=pair.listed())
    assert "No changes" in plan().out

    pair.replica.run(STOPPED)
    shunned = [(WRITER, pair.replica, "SHUNNED"), (READER, pair.replica, "SHUNNED")]
    until(lambda: pair.is_placed(*shunned, (READER, pair.primary, "ONLINE")))


def test_a_stopped_replication_counts_as_lag(pair: Pair) -> None:
    pair.write(files())
    pair.replica.run(f"{STOPPED}; REVOKE REPLICA MONITOR ON *.* FROM monitor@'127.0.0.1'")
    applied()
    refused = "SELECT 1 FROM monitor.mysql_server_replication_lag_log WHERE error LIKE '%denied%'"
    until(lambda: pair.proxysql.instance.query(refused), what="REPLICATION CLIENT is enough")
    primary = (WRITER, pair.primary, "ONLINE")
    assert pair.is_placed(primary, (READER, pair.replica, "ONLINE"))

    pair.replica.run("GRANT REPLICA MONITOR ON *.* TO monitor@'127.0.0.1'")
    until(lambda: pair.is_placed(primary, (READER, pair.replica, "SHUNNED")))
    assert "hostgroup-without-servers" in proxyctl("doctor").out


def test_a_writer_that_is_no_reader(pair: Pair) -> None:
    keeps = "variables:\n  mysql-monitor_writer_is_also_reader: false\n"
    pair.write(files().replace("variables:\n", keeps))
    applied()
    pair.primary.run("SET GLOBAL read_only=1")
    pair.replica.run("SET GLOBAL read_only=0")
    placed = [(WRITER, pair.replica, "ONLINE"), (READER, pair.primary, "ONLINE")]
    until(lambda: pair.is_placed(*placed))


def test_a_second_row_of_the_primary(pair: Pair) -> None:
    """It begins to serve reads with an apply, stays through the checks, and ends with another."""
    first = [(WRITER, pair.primary, "ONLINE"), (READER, pair.replica, "ONLINE")]
    both = [*first, (READER, pair.primary, "ONLINE")]
    row = "  - {hostgroup_id: reader, hostname: db1.example.com, weight: 5}\n"
    with_row = files().replace("mysql_servers:\n", f"mysql_servers:\n{row}")

    pair.write(files())
    applied()
    for block, placed in ((with_row, both), (files(), first), (with_row, both)):
        pair.write(block)
        applied()
        assert pair.is_placed(*placed)
        pair.wait_for_checks()
        assert pair.is_placed(*placed)
        assert "No changes" in plan().out


def test_a_second_row_where_a_writer_does_not_read(pair: Pair) -> None:
    """With writer_is_also_reader off the monitor removes it, and no plan adds it again."""
    row = "  - {hostgroup_id: reader, hostname: db1.example.com}\n"
    keeps = "variables:\n  mysql-monitor_writer_is_also_reader: false\n"
    pair.write(files().replace("variables:\n", keeps))
    applied()
    block = files().replace("mysql_servers:\n", f"mysql_servers:\n{row}")
    pair.write(block.replace("variables:\n", keeps))
    applied()
    pair.wait_for_checks()
    assert pair.is_placed((WRITER, pair.primary, "ONLINE"), (READER, pair.replica, "ONLINE"))
    assert "No changes" in plan().out
