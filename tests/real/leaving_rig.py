"""A client in the middle of a transaction on a server that leaves."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pymysql

from tests.support.cli import Project, proxyctl
from tests.support.mariadb_server import PASSWORD, USER, MariaDB
from tests.support.servers import ProxySQL

SETUP = "CREATE TABLE sbtest.seen (n INT)"
# One server under two names. The first is the one that a client meets.
FILES = """\
version: 1
mysql_servers:
  - {{hostgroup_id: 10, hostname: 127.0.0.1, port: {port}, weight: 10000000}}
  - {{hostgroup_id: 10, hostname: "127.1", port: {port}}}
mysql_users: [{{username: sb, password: sb, default_hostgroup: 10}}]
"""


@dataclass
class Rig:
    """A ProxySQL with files in force, and a client in the middle of a transaction."""

    proxysql: ProxySQL
    project: Project
    client: pymysql.Connection
    port: int

    def without_the_first(self) -> None:
        lines = FILES.format(port=self.port).splitlines(keepends=True)
        self.project.write("".join(line for line in lines if "weight" not in line))

    def insert(self) -> None:
        with self.client.cursor() as cursor:
            cursor.execute("INSERT INTO sbtest.seen VALUES (1)")

    def statuses(self) -> dict[str, str]:
        rows = self.proxysql.instance.query(
            "SELECT hostgroup_id||' '||hostname, status FROM runtime_mysql_servers"
            " WHERE status<>'OFFLINE_HARD'"
        )
        return {str(name): str(status) for name, status in rows}

    def count(self) -> object:
        with self.client.cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM sbtest.seen")
            return cursor.fetchall()


@contextmanager
def begun(project: Project, mariadb: MariaDB, proxysql: ProxySQL) -> Iterator[Rig]:
    """Apply the files, and let a client of this ProxySQL begin a transaction."""
    project.write(FILES.format(port=mariadb.port))
    done = proxyctl("apply", "--auto-approve")
    assert done.code == 0, done.text
    client = pymysql.connect(
        host="127.0.0.1", port=proxysql.traffic_port, user=USER, password=PASSWORD
    )
    found = Rig(proxysql, project, client, mariadb.port)
    found.insert()
    yield found
    client.close()


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@contextmanager
def draining(rig: Rig, node: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A drain in a process of its own that waits for the client, and the line that says so."""
    arguments = ("nodes", "drain", node, "--timeout", "60")
    command = [sys.executable, "-m", "proxyctl", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        waited = next((line for line in process.stderr if "1 connection in use" in line), "")
        assert waited, "it ended without waiting"
        until(lambda: rig.statuses()["10 127.0.0.1"] == "OFFLINE_SOFT")
        yield process, waited
