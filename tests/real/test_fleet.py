"""Two real ProxySQL with clients: a change that breaks their queries stops at the first."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pymysql
import pytest

from tests.support.commands.cli import Project, proxyctl
from tests.support.servers.instances import ProxySQL, free_port, needed_binary
from tests.support.servers.mariadb import MISSING, PASSWORD, USER, MariaDB

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
mysql_users: [{{username: sb, password: sb, default_hostgroup: 10}}]
"""


@contextmanager
def clients(ports: list[int]) -> Iterator[None]:
    """Send one query after the other to these ports, and ignore errors."""
    is_over = threading.Event()

    def ask(port: int) -> None:
        while not is_over.wait(0.02):
            with suppress(pymysql.Error, OSError):
                client = pymysql.connect(host="127.0.0.1", port=port, user=USER, password=PASSWORD)
                with client, client.cursor() as cursor:
                    cursor.execute("SELECT 1 FROM DUAL")

    threads = [threading.Thread(target=ask, args=(port,)) for port in ports]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def test_what_breaks_the_queries_of_one_does_not_reach_the_other(
    tmp_path: Path, offline: Project
) -> None:
    binary, apply = needed_binary(), ("apply", "--all", "--auto-approve", "--force")
    with (
        MariaDB(tmp_path) as mariadb,
        ProxySQL(binary, tmp_path / "px1") as px1,
        ProxySQL(binary, tmp_path / "px2") as px2,
    ):
        files = partial(FILES.format, px1=px1.port, px2=px2.port)
        offline.write(files(server=mariadb.port))
        good = proxyctl(*apply)
        assert good.code == 0, good.text
        with clients([px1.traffic_port, px2.traffic_port]):
            broken = free_port()
            offline.write(files(server=broken))
            found = proxyctl(*apply)
        assert found.code == 4, found.text
        problem = (
            f"px1  127.0.0.1:{px1.port}: applied\n  SHUNNED since the change: 127.0.0.1:{broken}\n"
        )
        assert problem in found.out
        assert found.out.endswith("1 applied: px1; 1 not touched: px2.\n")
        servers = "SELECT port FROM runtime_mysql_servers"
        assert px2.instance.query(servers) == [(str(mariadb.port),)]

        # The way back is a command of its own.
        back = proxyctl("rollback", "--instance", "px1", "--auto-approve", "--force")
        assert back.code == 0, back.text
        offline.write(files(server=mariadb.port))
        assert proxyctl("drift", "--all").out == "Fleet of 2 instances: 2 without drift.\n"
