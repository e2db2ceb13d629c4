"""What `validate` refuses never works on a real ProxySQL, and what it takes works."""

from __future__ import annotations

import socket
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pymysql
import pytest

from proxyctl.catalog.variable_rules import interfaces_complaint
from proxyctl.proxysql.flaws import flaws
from tests.support.servers.instances import CONFIG, ProxySQL, free_port, needed_binary
from tests.support.servers.mariadb import MISSING, PASSWORD, USER, MariaDB
from tests.support.waiting import until

pytestmark = pytest.mark.real

# -- hosts ----------------------------------------------------------------------------------------

DEAD = (
    *("", "127.0.0.1:{port}", "mysql://127.0.0.1", "127.0.0.1 ", "[::ffff:127.0.0.1]"),
    *("127.0.0.256", "127.0.0.0/8", "127.0.0.%", f"{USER}@127.0.0.1"),
)
ALIVE = ("127.0.0.1", "127.1", "::ffff:127.0.0.1")


class Row(NamedTuple):
    """A row of mysql_servers for the one MariaDB."""

    hostname: str
    port: int


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Row, bool]]:
    """Whether a query reached MariaDB, by the row of its hostgroup."""
    if MISSING:
        pytest.skip(f"needs {', '.join(MISSING)}")
    folder: Path = tmp_path_factory.mktemp("flaws")
    setup = f"CREATE USER {USER}@localhost IDENTIFIED BY '{PASSWORD}'"
    with (
        MariaDB(folder, setup=setup) as mariadb,
        ProxySQL(needed_binary(), folder / "proxysql") as server,
    ):
        path = str(folder / "s")
        rows = [Row(name.format(port=mariadb.port), mariadb.port) for name in (*DEAD, *ALIVE)]
        rows += [Row(path, 0), Row(path, mariadb.port)]
        server.instance.execute(
            "SET mysql-connect_timeout_server_max=2000",
            "SET mysql-poll_timeout=50",
            f"INSERT INTO mysql_users (username, password) VALUES ('{USER}', '{PASSWORD}')",
            *(
                f"INSERT INTO mysql_servers (hostgroup_id, hostname, port)"
                f" VALUES ({hostgroup}, '{name}', {port})"
                for hostgroup, (name, port) in enumerate(rows)
            ),
        )
        server.instance.load("MYSQL VARIABLES", "MYSQL USERS", "MYSQL SERVERS")
        yield {row: _is_reached(server, hostgroup) for hostgroup, row in enumerate(rows)}


def _is_reached(server: ProxySQL, hostgroup: int) -> bool:
    with (
        pymysql.connect(
            host="127.0.0.1", port=server.traffic_port, user=USER, password=PASSWORD
        ) as connection,
        connection.cursor() as cursor,
    ):
        try:
            cursor.execute(f"/* hostgroup={hostgroup} */ SELECT 7")
        except pymysql.err.Error as error:
            if error.args[0] != 9001:
                raise
            return False
        return True


def test_no_query_reaches_a_server_whose_host_name_is_refused(answers: dict[Row, bool]) -> None:
    refused = {row for row in answers if list(flaws("mysql_servers", row._asdict()))}
    assert len(refused) == len(DEAD) + 1
    assert {row for row, is_reached in answers.items() if not is_reached} == refused


# -- programs and routes --------------------------------------------------------------------------


def test_no_refused_program_or_route_runs(tmp_path: Path) -> None:
    script = tmp_path / "with blank" / "a.sh"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\necho >> {tmp_path}/ran.$1\necho '{{}}'\n", encoding="utf-8")
    script.chmod(0o755)
    jobs = {"plain": str(script), "argument": f"{script} --x=1", "blank": f"{script} "}
    port = free_port()
    routes = ("plain", "a/b", "/c", "o'hara")
    with ProxySQL(needed_binary(), tmp_path / "proxysql") as server:
        for name, path in jobs.items():
            server.instance.execute(
                "INSERT INTO scheduler (interval_ms, filename, arg1)"
                f" VALUES (200, '{path}', '{name}')"
            )
        for uri in routes:
            quoted = uri.replace("'", "''")
            server.instance.execute(
                "INSERT INTO restapi_routes (timeout_ms, method, uri, script)"
                f" VALUES (9000, 'GET', '{quoted}', '{script}')"
            )
        server.instance.execute(
            "SET admin-restapi_enabled='true'", f"SET admin-restapi_port={port}"
        )
        server.instance.load("RESTAPI", "ADMIN VARIABLES", "SCHEDULER")
        until(lambda: (tmp_path / "ran.plain").exists())
        time.sleep(1)  # five more turns of the scheduler
        ran = {name for name in jobs if (tmp_path / f"ran.{name}").exists()}
        assert ran == {name for name, path in jobs.items() if _is_taken("filename", path)}
        until(lambda: _runs(port, "plain"))
        reached = {uri for uri in routes if _runs(port, uri)}
        assert reached == {uri for uri in routes if _is_taken("uri", uri)} == {"plain"}


def _is_taken(column: str, value: str) -> bool:
    if column == "filename":
        return not list(flaws("scheduler", {column: value}))
    return not list(flaws("restapi_routes", {column: value, "script": "/a", "method": "GET"}))


def _runs(port: int, uri: str) -> bool:
    try:
        path = urllib.parse.quote(uri)
        with urllib.request.urlopen(
            f"http://127.0.0.1:{port}/sync/{path}?x=1", timeout=5
        ) as response:
            return bool(response.read().strip() == b"{}")
    except (urllib.error.URLError, ConnectionError):
        return False


# -- interfaces -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "is_taken"),
    [
        ("127.0.0.1:{port};127.0.0.1:{other}", True),
        ("127.0.0.1:{port} ;*:{other}", True),
        ("127.0.0.1:{port},127.0.0.1:{other}", False),
        ("127.0.0.1:{port}; 127.0.0.1:{other}", False),
        ("127.0.0.1:{port};tcp://127.0.0.1:{other}", False),
        ("127.0.0.1:{port};:{other}", False),
    ],
)
def test_proxysql_listens_on_each_interface_that_is_taken(
    template: str, is_taken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a wrong entry makes a socket in the working directory
    port, other = free_port(), free_port()
    text = template.format(port=port, other=other)
    assert (interfaces_complaint(text) is None) is is_taken
    config = CONFIG.replace("127.0.0.1:{traffic_port}", text)
    with ProxySQL(needed_binary(), tmp_path / "proxysql", config=config):
        until(lambda: _listens(port))
        if is_taken:
            until(lambda: _listens(other))
        else:
            time.sleep(0.5)
            assert not _listens(other)


def _listens(port: int) -> bool:
    with closing(socket.socket()) as client:
        client.settimeout(2)
        return client.connect_ex(("127.0.0.1", port)) == 0
