"""Two real ProxySQL with clients: a change that breaks their queries stops at the first."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pymysql
import pytest

from tests.support.cli import Project, proxyctl
from tests.support.mariadb_server import MISSING, PASSWORD, USER, MariaDB
from tests.support.servers import ProxySQL, free_port, needed_binary

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]

FILES = """\
version: 1
instances:
  - {{name: px1, host: 127.0.0.1, port: {px1}, user: admin, password: admin}}
  - {{name: px2, host: 127.0.0.1, port: {px2}, user: admin, password: admin}}
variables: {{mysql-connect_timeout_server_max: 500, mysql-connect_retries_on_failure: 1}}
mysql_servers: [{{hostgroup_id: 10, hostname: 127.0.0.1, port: {server}}}]
mysql_users: [{{username: sb, password: {password}, default_hostgroup: 10}}]
"""


@contextmanager
def clients(ports: list[int]) -> Iterator[None]:
    """Let a client at each port ask one query after the other, whatever becomes of it."""
    is_over = threading.Event()

    def ask(port: int) -> None:
        while not is_over.is_set():
            with suppress(pymysql.Error, OSError):
                client = pymysql.connect(
                    host="127.0.0.1", port=port, user=USER, password=PASSWORD, autocommit=True
                )
                with client, client.cursor() as cursor:
                    while not is_over.is_set():
                        cursor.execute("SELECT 1 FROM DUAL")
                        is_over.wait(0.02)
            is_over.wait(0.02)

    threads = [threading.Thread(target=ask, args=(port,)) for port in ports]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


@dataclass(frozen=True)
class Fleet:
    """Two instances alike in front of one server, and the folder of their files."""

    project: Project
    both: tuple[ProxySQL, ProxySQL]
    server: int

    def write(self, *, server: int = 0, password: str = PASSWORD) -> None:
        px1, px2 = self.both
        self.project.write(
            FILES.format(
                px1=px1.port, px2=px2.port, server=server or self.server, password=password
            )
        )


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    """Two instances that hold what the files say."""
    binary = needed_binary()
    (tmp_path / "files").mkdir()
    with (
        MariaDB(tmp_path) as mariadb,
        ProxySQL(binary, tmp_path / "px1") as px1,
        ProxySQL(binary, tmp_path / "px2") as px2,
    ):
        made = Fleet(Project(tmp_path / "files", monkeypatch), (px1, px2), mariadb.port)
        made.write()
        good = proxyctl(*APPLY)
        assert good.code == 0, good.text
        yield made


APPLY = ("apply", "--all", "--auto-approve", "--force")


def test_what_breaks_the_queries_of_one_does_not_reach_the_other(fleet: Fleet) -> None:
    px1, px2 = fleet.both
    with clients([px1.traffic_port, px2.traffic_port]):
        broken = free_port()
        fleet.write(server=broken)
        found = proxyctl(*APPLY)
        assert found.code == 4, found.text
        problem = f"px1  127.0.0.1:{px1.port}: applied\n  SHUNNED since: 127.0.0.1:{broken}\n"
        assert problem in found.out
        assert found.out.endswith("1 applied: px1; 1 not touched: px2.\n")
        servers = "SELECT port FROM runtime_mysql_servers"
        assert px2.instance.query(servers) == [(str(fleet.server),)]

        # The way back is a command of its own.
        back = proxyctl("rollback", "--instance", "px1", "--auto-approve", "--force")
        assert back.code == 0, back.text
        fleet.write()
        assert proxyctl("drift", "--all").out == "Fleet of 2 instances: 2 without drift.\n"
