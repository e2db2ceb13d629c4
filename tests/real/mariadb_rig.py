"""Fixtures: a MariaDB, and a real ProxySQL in front of it with a server, a user and a rule."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest

from tests.support.mariadb_server import PASSWORD, USER, MariaDB
from tests.support.servers import NO_BINARY, Instance, ProxySQL, proxysql_binary

NOT_REACHED = 9001


@pytest.fixture(scope="module")
def mariadb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDB]:
    with MariaDB(tmp_path_factory.mktemp("mariadb")) as server:
        yield server


@pytest.fixture
def proxysql(tmp_path: Path, mariadb: MariaDB) -> Iterator[ProxySQL]:
    """A ProxySQL in which nothing is wrong."""
    binary = proxysql_binary()
    if binary is None:
        pytest.skip(NO_BINARY)
    with ProxySQL(binary, tmp_path / "proxysql", monitor=True) as server:
        run = server.instance.execute
        for name, value in {
            "monitor_username": USER,
            "monitor_password": PASSWORD,
            "monitor_connect_interval": "500",
            "monitor_ping_interval": "500",
            "server_version": "10.11.6-MariaDB",
        }.items():
            run(f"SET mysql-{name}='{value}'")
        for statement in (
            f"INSERT INTO mysql_servers (hostgroup_id,hostname,port)"
            f" VALUES (10,'127.0.0.1',{mariadb.port})",
            f"INSERT INTO mysql_users (username,password,default_hostgroup)"
            f" VALUES ('{USER}','{PASSWORD}',10)",
            "INSERT INTO mysql_query_rules (rule_id,active,match_digest,destination_hostgroup,"
            "apply) VALUES (5,1,'^SELECT',10,1)",
        ):
            run(statement)
        for module in ("MYSQL VARIABLES", "MYSQL SERVERS", "MYSQL USERS", "MYSQL QUERY RULES"):
            run(f"LOAD {module} TO RUNTIME")
            run(f"SAVE {module} TO DISK")
        yield server


def load(instance: Instance, *statements: str, module: str = "MYSQL SERVERS") -> None:
    """Change, load and save."""
    for statement in (*statements, f"LOAD {module} TO RUNTIME", f"SAVE {module} TO DISK"):
        instance.execute(statement)


def query(server: ProxySQL, sql: str, account: str = USER) -> tuple[tuple[object, ...], ...]:
    """Return what a client gets; the accounts of these tests are their own passwords."""
    connection = pymysql.connect(
        host="127.0.0.1", port=server.traffic_port, user=account, password=account
    )
    with connection, connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall()


def assert_not_reached(server: ProxySQL) -> None:
    """Assert that no server takes a query."""
    with pytest.raises(pymysql.err.MySQLError) as failed:
        query(server, "SELECT 7")
    assert failed.value.args[0] == NOT_REACHED
