"""A server leaves while a client holds a transaction on it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pymysql
import pytest

from tests.support.commands.cli import Project, proxyctl
from tests.support.servers.instances import ProxySQL, needed_binary
from tests.support.servers.mariadb import MISSING, PASSWORD, USER, MariaDB
from tests.support.waiting import until

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]

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
    """A ProxySQL with applied files, and a client in the middle of a transaction."""

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


@pytest.fixture
def rig(tmp_path: Path, offline: Project) -> Iterator[Rig]:
    """Apply the files, and begin a transaction."""
    with (
        MariaDB(tmp_path, setup=SETUP) as mariadb,
        ProxySQL(needed_binary(), tmp_path / "proxysql") as proxysql,
    ):
        offline.connect(proxysql.instance)
        offline.write(FILES.format(port=mariadb.port))
        done = proxyctl("apply", "--auto-approve")
        assert done.code == 0, done.text
        client = pymysql.connect(
            host="127.0.0.1", port=proxysql.traffic_port, user=USER, password=PASSWORD
        )
        with closing(client):
            found = Rig(proxysql, offline, client, mariadb.port)
            found.insert()
            yield found


def test_a_transaction_on_a_leaving_server_is_lost_as_the_plan_warned(rig: Rig) -> None:
    rig.without_the_first()
    found = proxyctl("apply", "--auto-approve")
    assert found.code == 0, found.text
    drain = f"drain it first: proxyctl nodes drain 127.0.0.1:{rig.port}\n"
    assert f"1 connection in use will be cut; {drain}" in found.out
    with pytest.raises(pymysql.MySQLError):
        rig.insert()


def test_a_transaction_ends_before_a_server_leaves_that_is_drained_first(rig: Rig) -> None:
    command = [sys.executable, "-m", "proxyctl", "nodes", "drain", f"127.0.0.1:{rig.port}"]
    with subprocess.Popen(
        [*command, "--timeout", "60"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert any("1 connection in use" in line for line in process.stderr), "it did not wait"
        until(lambda: rig.statuses()["10 127.0.0.1"] == "OFFLINE_SOFT")
        rig.insert()
        rig.client.commit()
        process.communicate(timeout=60)
    assert process.returncode == 0
    rig.without_the_first()
    found = proxyctl("apply", "--auto-approve")
    assert found.code == 0, found.text
    assert "in use will be cut" not in found.out
    assert rig.statuses() == {"10 127.1": "ONLINE"}
    assert rig.count() == ((2,),)
    assert proxyctl("plan", "--detailed-exitcode").code == 0
