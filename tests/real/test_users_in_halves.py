"""A user with a row for clients and another for servers, on a real ProxySQL before MariaDB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest

from tests.support.servers.instances import ProxySQL, needed_binary
from tests.support.servers.mariadb import MISSING, MariaDB

pytestmark = pytest.mark.real

CLIENTS, SERVERS = 1, 2
"""default_hostgroup of the two rows."""


@pytest.fixture
def proxysql(tmp_path: Path) -> Iterator[ProxySQL]:
    """Users whose rows differ; the name of each is its password on MariaDB."""
    if MISSING:
        pytest.skip(f"needs {', '.join(MISSING)}")
    names = ("clients", "servers")
    setup = ";".join(f"CREATE USER {name}@'127.0.0.1' IDENTIFIED BY '{name}'" for name in names)
    with (
        MariaDB(tmp_path, setup=setup) as mariadb,
        ProxySQL(needed_binary(), tmp_path / "proxysql") as server,
    ):
        server.instance.execute(
            "SET mysql-connect_timeout_server_max=2000",
            *(
                f"INSERT INTO mysql_servers (hostgroup_id, hostname, port)"
                f" VALUES ({hostgroup}, '127.0.0.1', {mariadb.port})"
                for hostgroup in (CLIENTS, SERVERS)
            ),
            *(
                "INSERT INTO mysql_users (username, password, default_hostgroup, frontend, backend)"
                f" VALUES ('{name}', 'clients', {CLIENTS}, 1, 0),"
                f" ('{name}', 'servers', {SERVERS}, 0, 1)"
                for name in names
            ),
        )
        server.instance.load("MYSQL VARIABLES", "MYSQL SERVERS", "MYSQL USERS")
        yield server


def test_the_row_for_clients_counts_for_both_sides(proxysql: ProxySQL) -> None:
    with login(proxysql, "clients", "clients") as session, session.cursor() as cursor:
        cursor.execute("SELECT 1")
    with (
        pytest.raises(pymysql.err.OperationalError, match="Access denied"),
        login(proxysql, "servers", "clients") as session,
        session.cursor() as cursor,
    ):
        cursor.execute("SELECT 1")
    with pytest.raises(pymysql.err.OperationalError, match="ProxySQL Error: Access denied"):
        login(proxysql, "clients", "servers")
    used = proxysql.instance.query("SELECT DISTINCT hostgroup FROM stats_mysql_query_digest")
    assert used == [(str(CLIENTS),)]


def login(server: ProxySQL, username: str, password: str) -> pymysql.Connection:
    """Return a session through ProxySQL."""
    return pymysql.connect(
        host="127.0.0.1", port=server.traffic_port, user=username, password=password
    )
