"""Did it help? Real traffic on a real server, before and after a rewriting rule is applied."""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pymysql
import pytest

from proxyctl.errors import ConnectionLostError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.stats.read import streamed_digests
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.servers import NO_BINARY, ProxySQL, free_port, proxysql_binary

pytestmark = pytest.mark.real

NO_SERVER = "no mariadbd and mariadb-install-db on PATH"
FILES = """\
version: 1
hostgroups: {writer: {id: 10}}
mysql_servers:
  - {hostgroup_id: writer, hostname: 127.0.0.1, port: %d}
mysql_users:
  - {username: shop, password: shop, default_hostgroup: writer, default_schema: shop}
"""
RULE = r"""
mysql_query_rules:
  - rule_id: 10
    match_pattern: "LOWER\\(email\\) = LOWER\\(('[^']*')\\)"
    replace_pattern: 'email = \1'
"""
ACCOUNTS = 20_000
QUERY = "SELECT id FROM account WHERE LOWER(email) = LOWER('User{}@example.org')"
CALLS = 60


class MariaDB:
    """A server with a table that has an index on email, and a function stands in its way."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._socket = folder / "s"
        data, log = folder / "data", (folder / "log").open("wb")
        with log:
            subprocess.run(
                ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--user=root"],
                check=True,
                stdout=log,
                stderr=log,
            )
            self._process = subprocess.Popen(
                [
                    *("mariadbd", "--no-defaults", "--user=root", f"--datadir={data}"),
                    *(f"--socket={self._socket}", f"--port={self.port}", "--bind=127.0.0.1"),
                    "--skip-name-resolve",
                ],
                stdout=log,
                stderr=log,
            )

    def fill(self) -> None:
        for statement in (
            "CREATE DATABASE shop",
            "CREATE USER shop@'%' IDENTIFIED BY 'shop'",
            "GRANT ALL ON shop.* TO shop@'%'",
            "CREATE TABLE shop.account (id INT PRIMARY KEY, email VARCHAR(60), KEY (email))"
            " DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_general_ci",
            "INSERT INTO shop.account SELECT seq, CONCAT('user', seq, '@example.org')"
            f" FROM shop.seq_1_to_{ACCOUNTS}",
        ):
            self._run(statement)

    def _run(self, statement: str) -> None:
        with closing(
            pymysql.connect(unix_socket=str(self._socket), user="root", autocommit=True)
        ) as root:
            root.cursor().execute(statement)

    def wait(self) -> None:
        while self._process.poll() is None:
            with closing(socket.socket(socket.AF_UNIX)) as probe:
                if probe.connect_ex(str(self._socket)) == 0:
                    return
            select.select([], [], [], 0.05)
        raise RuntimeError("mariadbd did not start")

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(30)


@pytest.fixture(scope="module")
def mariadb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDB]:
    if not shutil.which("mariadbd") or not shutil.which("mariadb-install-db"):
        pytest.skip(NO_SERVER)
    server = MariaDB(tmp_path_factory.mktemp("m"))
    try:
        server.wait()
        server.fill()
        yield server
    finally:
        server.stop()


@pytest.fixture
def proxysql(tmp_path: Path) -> Iterator[ProxySQL]:
    binary = proxysql_binary()
    if binary is None:
        pytest.skip(NO_BINARY)
    with ProxySQL(binary, tmp_path / "proxysql") as server:
        yield server


@pytest.fixture
def shop(
    mariadb: MariaDB, proxysql: ProxySQL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Project:
    """A folder connected to a ProxySQL in front of the server."""
    folder = tmp_path / "files"
    folder.mkdir()
    project = Project(folder, monkeypatch)
    project.connect(proxysql.instance)
    project.write(FILES % mariadb.port)
    done(proxyctl("apply", "--auto-approve"))
    return project


def done(found: Outcome) -> Outcome:
    assert found.code == 0, found.text
    return found


def send(proxysql: ProxySQL, calls: int = CALLS) -> None:
    with closing(
        pymysql.connect(
            host="127.0.0.1",
            port=proxysql.traffic_port,
            user="shop",
            password="shop",
            database="shop",
        )
    ) as session:
        for number in range(1, calls + 1):
            with session.cursor() as cursor:
                cursor.execute(QUERY.format(number))
                assert cursor.fetchall() == ((number,),)


def sums(proxysql: ProxySQL) -> tuple[int, int]:
    [row] = proxysql.instance.query(
        "SELECT sum(count_star), sum(sum_time) FROM stats_mysql_query_digest"
    )
    return int(row[0] or 0), int(row[1] or 0)


def keep(proxysql: ProxySQL, name: str) -> None:
    """Take a snapshot, and wait for the next second of the clock: what is compared needs one."""
    done(proxyctl("digest", "snapshot", "-o", name))
    [(second,)] = proxysql.instance.query("SELECT strftime('%s','now')")
    while proxysql.instance.query("SELECT strftime('%s','now')") == [(second,)]:
        select.select([], [], [], 0.05)


def wait_for_uptime(proxysql: ProxySQL, seconds: int) -> None:
    """A ProxySQL that says 0 may be one that does not say."""
    while not proxysql.instance.query(
        "SELECT 1 FROM stats_mysql_global WHERE Variable_Name='ProxySQL_Uptime'"
        f" AND CAST(Variable_Value AS INTEGER) >= {seconds}"
    ):
        select.select([], [], [], 0.1)


def test_a_rewrite_that_helps(shop: Project, proxysql: ProxySQL, mariadb: MariaDB) -> None:
    send(proxysql)
    keep(proxysql, "before.gz")
    before = sums(proxysql)
    shop.write(FILES % mariadb.port + RULE)
    done(proxyctl("apply", "--auto-approve"))
    send(proxysql)
    done(proxyctl("digest", "snapshot", "-o", "after.gz"))
    after = sums(proxysql)
    found = done(proxyctl("digest", "diff", "before.gz", "after.gz", "--format", "json")).json
    assert found["remarks"] == []
    assert (found["before"]["count_star"], found["before"]["sum_time"]) == before
    assert found["after"]["count_star"] == after[0] - before[0]
    assert found["after"]["sum_time"] == after[1] - before[1]
    by_text = {one["digest_text"]: one for one in found["digests"]}
    # How long either side took decides whether that is enough to say that one vanished.
    old = by_text["SELECT id FROM account WHERE LOWER(email) = LOWER(?)"]
    assert (old["after"]["count_star"], old["verdict"] in ("vanished", "few_calls")) == (0, True)
    new = by_text["SELECT id FROM account WHERE email = ?"]
    assert (new["before"]["count_star"], new["verdict"] in ("new", "few_calls")) == (0, True)
    by_user = ("--group", "user", "--format", "json")
    [user] = done(proxyctl("digest", "diff", "--before", "before.gz", *by_user)).json["digests"]
    assert user["verdict"] == "faster"


def test_counters_that_somebody_cleared(shop: Project, proxysql: ProxySQL) -> None:
    send(proxysql, 40)
    keep(proxysql, "before.gz")
    proxysql.instance.query("SELECT 1 FROM stats_mysql_query_digest_reset LIMIT 1")
    send(proxysql, 10)
    found = done(proxyctl("digest", "diff", "before.gz", "--format", "json")).json
    assert [one["code"] for one in found["remarks"]] == ["cleared"]
    assert (found["after"]["count_star"], found["after"]["sum_time"]) == sums(proxysql)


def test_a_restart_in_between(shop: Project, proxysql: ProxySQL) -> None:
    send(proxysql, 5)
    wait_for_uptime(proxysql, 4)
    keep(proxysql, "before.gz")
    proxysql.restart()
    wait_for_uptime(proxysql, 1)
    send(proxysql, 50)
    found = done(proxyctl("digest", "diff", "before.gz", "--format", "json")).json
    assert [one["code"] for one in found["remarks"]] == ["restarted"]
    assert found["after"]["count_star"] == sums(proxysql)[0]


def test_a_reader_that_leaves_half_way_does_not_wait_for_the_rest(
    shop: Project, proxysql: ProxySQL
) -> None:
    proxysql.instance.execute("PROXYSQLTEST 1 20")
    instance = proxysql.instance
    login = Login(instance.host, instance.port, instance.user, instance.password)
    [(count,)] = instance.query("SELECT count(*) FROM stats_mysql_query_digest")
    with AdminClient(login) as client:
        with streamed_digests(client) as snapshot:
            assert next(iter(snapshot.rows)).digest.startswith("0x")
        client.connect()
        with streamed_digests(client) as snapshot:
            assert sum(1 for _ in snapshot.rows) == int(count)
        assert client.query("SELECT 1") == [("1",)]


def test_a_proxysql_that_dies_while_it_is_read(
    shop: Project, proxysql: ProxySQL, tmp_path: Path
) -> None:
    proxysql.instance.execute("PROXYSQLTEST 1 200")
    instance = proxysql.instance
    login = Login(instance.host, instance.port, instance.user, instance.password)
    with AdminClient(login) as client, streamed_digests(client) as snapshot:
        rows = iter(snapshot.rows)
        next(rows)
        proxysql.kill()
        with pytest.raises(ConnectionLostError):
            list(rows)


def _read(handle: int) -> bytes:
    try:
        return os.read(handle, 65536)
    except OSError:  # Linux: the last process has closed its side
        return b""
