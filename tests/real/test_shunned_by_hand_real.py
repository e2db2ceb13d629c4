"""A server that was loaded SHUNNED stays so: nobody brings it back, however well it is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pymysql
import pytest

from tests.real.test_draining_real import until
from tests.support.cli import Project, proxyctl
from tests.support.mariadb_server import MISSING, PASSWORD, USER, MariaDB
from tests.support.servers import NO_BINARY, ProxySQL, proxysql_binary

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]

FILES = """\
version: 1
mysql_servers:
  - {{hostgroup_id: 10, hostname: 127.0.0.1, port: {port}, weight: {weight}}}
mysql_users:
  - {{username: sb, password: sb, default_hostgroup: 10}}
"""
FAMILY = "mysql_replication_hostgroups:\n  - {writer_hostgroup: 10, reader_hostgroup: 20}\n"
ROWS = "SELECT hostgroup_id, status FROM {}mysql_servers"
LOOKS, LOOK_S = 8, 0.5


@pytest.mark.parametrize(
    "family",
    ["", FAMILY],
    ids=["alone", "replication hostgroups"],
)
def test_the_only_server_of_a_hostgroup_serves_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, family: str
) -> None:
    with monitored(tmp_path, monkeypatch) as (db, server, project):
        serves_nobody(db, server, project, family)


def test_a_node_that_the_monitor_moves_is_online_where_it_comes_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the layers do not tell it from an edit that nobody loaded."""
    with monitored(tmp_path, monkeypatch) as (db, server, project):
        project.write(FILES.format(port=db.port, weight=1) + FAMILY)
        assert proxyctl("apply", "--auto-approve").code == 0
        server.instance.execute("UPDATE mysql_servers SET status='SHUNNED'")
        server.instance.execute("LOAD MYSQL SERVERS TO RUNTIME")
        assert server.instance.query(ROWS.format("runtime_")) == [("10", "SHUNNED")]
        with closing(
            pymysql.connect(host="127.0.0.1", port=db.port, user=USER, password=PASSWORD)
        ) as administrator:
            administrator.query("SET GLOBAL read_only=1")
        until(lambda: server.instance.query(ROWS.format("runtime_")) == [("20", "ONLINE")])
        assert server.instance.query(ROWS.format("main.")) == [("10", "SHUNNED")]
        assert "in hostgroup 10 SHUNNED in MEMORY, not loaded" in proxyctl("drift").out


@contextmanager
def monitored(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[MariaDB, ProxySQL, Project]]:
    """Start a server and a ProxySQL that monitors it several times a second."""
    binary = proxysql_binary()
    if binary is None:
        pytest.skip(NO_BINARY)
    (folder / "files").mkdir()
    project = Project(folder / "files", monkeypatch)
    with MariaDB(folder) as db, ProxySQL(binary, folder / "proxysql", monitor=True) as server:
        for name, value in {
            "monitor_username": USER,
            "monitor_password": PASSWORD,
            "monitor_read_only_interval": 200,
            "monitor_ping_interval": 200,
            "shun_recovery_time_sec": 1,
            "connect_timeout_server_max": 300,
        }.items():
            server.instance.execute(f"SET mysql-{name}='{value}'")
        server.instance.execute("LOAD MYSQL VARIABLES TO RUNTIME")
        project.connect(server.instance)
        yield db, server, project


def serves_nobody(db: MariaDB, server: ProxySQL, project: Project, family: str) -> None:
    project.write(FILES.format(port=db.port, weight=1) + family)
    assert proxyctl("apply", "--auto-approve").code == 0
    assert serves(server)
    server.instance.execute("UPDATE mysql_servers SET status='SHUNNED'")
    project.write(FILES.format(port=db.port, weight=2) + family)
    apply = ("apply", "--auto-approve", "--include-pending")
    refused = proxyctl(*apply)
    assert refused.code == 3
    assert "hostgroup 10 is" in refused.err
    assert serves(server)
    assert proxyctl(*apply, "--force").code == 0
    for _ in range(LOOKS):
        assert not serves(server)
        time.sleep(LOOK_S)
    assert "10 SHUNNED, set by an operator" in proxyctl("drift").out
    server.instance.execute("UPDATE mysql_servers SET status='ONLINE'")
    project.write(FILES.format(port=db.port, weight=3) + family)
    assert proxyctl(*apply).code == 0
    assert serves(server)


def serves(server: ProxySQL) -> bool:
    """Whether a query of a client is answered."""
    try:
        with closing(
            pymysql.connect(
                host="127.0.0.1", port=server.traffic_port, user=USER, password=PASSWORD
            )
        ) as client:
            client.query("SELECT 1")
    except pymysql.err.OperationalError as error:
        if "while reaching hostgroup 10" not in str(error):
            raise
        return False
    return True
