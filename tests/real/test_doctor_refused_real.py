"""Servers that answer, and take no new connection: what the doctor says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress

import pymysql
import pytest

from tests.real.test_doctor_hostgroups_real import assert_not_reached
from tests.real.test_doctor_real import (  # noqa: F401 - two are fixtures
    POOR,
    examined,
    load,
    mariadb,
    message,
    proxysql,
    pytestmark,
    query,
    until_found,
)
from tests.real.test_draining_real import until
from tests.support.mariadb_server import PASSWORD, USER, MariaDB
from tests.support.servers import ProxySQL

__all__ = ["pytestmark"]

FEWEST = 10
"""The smallest max_connections that MariaDB takes."""


@contextmanager
def full(server: MariaDB) -> Iterator[None]:
    """Let a server have as many connections as it may have."""

    def connected(name: str, password: str) -> pymysql.Connection:
        return pymysql.connect(host="127.0.0.1", port=server.port, user=name, password=password)

    with closing(connected(USER, PASSWORD)) as admin, ExitStack() as stack:
        admin.cursor().execute(f"SET GLOBAL max_connections={FEWEST}")
        try:
            with suppress(pymysql.err.OperationalError):
                for _ in range(FEWEST):
                    stack.enter_context(closing(connected(POOR, POOR)))
            with pytest.raises(pymysql.err.OperationalError, match="Too many connections"):
                connected(POOR, POOR)
            yield
        finally:
            admin.cursor().execute("SET GLOBAL max_connections=151")


def last_line(server: ProxySQL, log: str) -> int:
    """Return when the monitor has written into one of its logs, in microseconds."""
    ((at,),) = server.instance.query(f"SELECT max(time_start_us) FROM monitor.mysql_server_{log}")
    return int(at or 0)


def test_a_server_that_is_full(proxysql: ProxySQL, mariadb: MariaDB) -> None:  # noqa: F811
    """The monitor pings by a connection that it had before, and no client comes through."""
    load(
        proxysql.instance,
        "SET mysql-connect_timeout_server_max=500",
        # An account that is no administrator, for whom MariaDB keeps a connection.
        f"SET mysql-monitor_username='{POOR}'",
        f"SET mysql-monitor_password='{POOR}'",
        "SET mysql-monitor_connect_interval=2000",
        module="MYSQL VARIABLES",
    )
    load(
        proxysql.instance,
        f"UPDATE mysql_users SET username='{POOR}', password='{POOR}'",
        module="MYSQL USERS",
    )
    with until_found(proxysql):
        pass
    with full(mariadb):
        with until_found(proxysql, "backend-unreachable") as found:
            where = f"127.0.0.1:{mariadb.port}: no connection for "
            assert message(found, "backend-unreachable").startswith(where)
            assert found.findings[0].message.endswith("Too many connections")
            assert found.findings[0].way_out == (
                "raise max_connections there, or lower that of the server in mysql_servers"
            )
        until(lambda: last_line(proxysql, "ping_log") > last_line(proxysql, "connect_log"))
        assert [one.code for one in examined(proxysql).findings] == ["backend-unreachable"]
        assert_not_reached(proxysql, POOR)
    until(lambda: is_reached(proxysql))
    with until_found(proxysql):
        pass


def is_reached(server: ProxySQL) -> bool:
    """Return whether a query is answered; ProxySQL tries a SHUNNED server again for one only."""
    try:
        return query(server, "SELECT 7", POOR) == ((7,),)
    except pymysql.err.MySQLError:
        return False
