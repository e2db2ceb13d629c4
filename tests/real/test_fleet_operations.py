"""Two real ProxySQL with clients: a server drained everywhere, and a rollout taken back."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
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

FILES = """\
version: 1
instances:
  - {{name: px1, host: 127.0.0.1, port: {px1}, user: admin, password: admin}}
  - {{name: px2, host: 127.0.0.1, port: {px2}, user: admin, password: admin}}
mysql_servers:
  - {{hostgroup_id: 10, hostname: 127.0.0.1, port: {db1}}}
  - {{hostgroup_id: 10, hostname: 127.0.0.1, port: {db2}}}
mysql_users: [{{username: sb, password: sb, default_hostgroup: 10}}]
mysql_query_rules:
  - {{rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 10, apply: true{more}}}
"""


@dataclass
class Traffic:
    """Clients that send one query after the other."""

    counts: dict[int, int] = field(default_factory=dict)
    """The answers by port of the ProxySQL."""
    errors: list[str] = field(default_factory=list)

    def until_answered(self) -> None:
        """Wait until every ProxySQL has answered queries that were sent after now."""
        before = dict(self.counts)
        until(lambda: all(self.counts[port] > count + 3 for port, count in before.items()))


@contextmanager
def clients(ports: list[int]) -> Iterator[Traffic]:
    """Send transactions and single queries to these ports until the end of the block."""
    traffic, is_over = Traffic(dict.fromkeys(ports, 0)), threading.Event()

    def ask(port: int) -> None:
        while not is_over.wait(0.05):
            try:
                client = pymysql.connect(host="127.0.0.1", port=port, user=USER, password=PASSWORD)
                with client, client.cursor() as cursor:
                    for sql in ("BEGIN", "SELECT 1 FROM DUAL", "COMMIT", "SELECT 2 FROM DUAL"):
                        cursor.execute(sql)
                        time.sleep(0.01)
                traffic.counts[port] += 1
            except (pymysql.Error, OSError) as error:
                traffic.errors.append(str(error))

    threads = [threading.Thread(target=ask, args=(port,)) for port in ports for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield traffic
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def queries(server: ProxySQL, port: int) -> int:
    """Return how many queries a ProxySQL has sent to a server."""
    [(count,)] = server.instance.query(
        f"SELECT sum(Queries) FROM stats_mysql_connection_pool WHERE srv_port={port}"
    )
    return int(count or 0)


def has_more(server: ProxySQL, port: int, count: int) -> bool:
    """Return whether a ProxySQL has sent a server more queries than this."""
    return queries(server, port) > count


@pytest.fixture
def rig(tmp_path: Path, offline: Project) -> Iterator[tuple[list[ProxySQL], list[MariaDB]]]:
    """Two ProxySQL, as px1 and px2, in front of two MariaDB."""
    binary = needed_binary()
    with ExitStack() as stack:
        databases = [stack.enter_context(MariaDB(tmp_path / name)) for name in ("db1", "db2")]
        proxies = [
            stack.enter_context(ProxySQL(binary, tmp_path / name)) for name in ("px1", "px2")
        ]
        yield proxies, databases


def test_under_traffic(rig: tuple[list[ProxySQL], list[MariaDB]], offline: Project) -> None:
    proxies, (db1, db2) = rig
    px1, px2 = proxies
    files = partial(FILES.format, px1=px1.port, px2=px2.port, db1=db1.port, db2=db2.port)
    offline.write(files(more=""))
    done = proxyctl("apply", "--all", "--auto-approve")
    assert done.code == 0, done.text
    with clients([px1.traffic_port, px2.traffic_port]) as traffic:
        until(lambda: all(queries(server, db2.port) > 20 for server in proxies))
        drained = proxyctl("nodes", "drain", f"127.0.0.1:{db2.port}", "--all")
        assert drained.code == 0, drained.text
        assert drained.out.startswith("Fleet of 2 instances: 2 drained: px1, px2.\n")
        before = [queries(server, db2.port) for server in proxies]
        db2.send_signal(signal.SIGSTOP)  # a query there would hang
        for _ in range(3):
            traffic.until_answered()
        assert [queries(server, db2.port) for server in proxies] == before
        db2.send_signal(signal.SIGCONT)
        restored = proxyctl("nodes", "restore", f"127.0.0.1:{db2.port}", "--all")
        assert restored.code == 0, restored.text
        for server, count in zip(proxies, before, strict=True):
            until(partial(has_more, server, db2.port, count))
        assert traffic.errors == []

        offline.write(files(more=", error_msg: closed"))
        bad = proxyctl("apply", "--all", "--auto-approve")
        assert bad.code == 0, bad.text
        until(lambda: any("closed" in error for error in traffic.errors))
        back = proxyctl("rollback", "--all", "--auto-approve")
        assert back.code == 0, back.text
        assert back.out.endswith("Fleet of 2 instances: 2 applied: px1, px2.\n")
        traffic.until_answered()  # what was sent before the rollback has ended by then
        traffic.errors.clear()
        for _ in range(3):
            traffic.until_answered()
        assert traffic.errors == []
    offline.write(files(more=""))
    assert proxyctl("drift", "--all").out == "Fleet of 2 instances: 2 without drift.\n"
