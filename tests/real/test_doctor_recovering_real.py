"""Servers that are SHUNNED, of which only some come back by themselves: what the doctor says."""

from __future__ import annotations

import signal
from contextlib import closing

import pymysql
import pytest

from tests.real.test_doctor_hostgroups_real import assert_not_reached
from tests.real.test_doctor_real import (  # noqa: F401 - two are fixtures
    POOR,
    load,
    mariadb,
    message,
    proxysql,
    pytestmark,
    query,
    until_found,
)
from tests.support.mariadb_server import PASSWORD, USER, MariaDB
from tests.support.servers import ProxySQL

__all__ = ["pytestmark"]

ALONE = ("hostgroup-without-servers", "users-without-servers")


def test_a_server_that_was_away_while_no_query_came(proxysql: ProxySQL, mariadb: MariaDB) -> None:  # noqa: F811
    """ProxySQL tries it again for a query only, and that one is answered."""
    load(
        proxysql.instance,
        "SET mysql-connect_timeout_server_max=2000",
        "SET mysql-monitor_ping_timeout=200",
        module="MYSQL VARIABLES",
    )
    with until_found(proxysql):
        pass
    mariadb.send_signal(signal.SIGSTOP)
    try:
        with until_found(proxysql, "backend-unreachable", *ALONE):
            pass
    finally:
        mariadb.send_signal(signal.SIGCONT)
    with until_found(proxysql, "server-shunned") as found:
        assert message(found, "server-shunned") == (
            f"127.0.0.1:{mariadb.port}: it takes no queries: SHUNNED in hostgroup 10, though the"
            " monitor gets through to it"
        )
        assert "next query" in found.findings[0].way_out
        assert query(proxysql, "SELECT 7") == ((7,),)
    with until_found(proxysql):
        pass


def test_a_server_that_lags(proxysql: ProxySQL, mariadb: MariaDB) -> None:  # noqa: F811
    """The monitor gets through to it as well, and no query brings it back."""
    load(
        proxysql.instance,
        "SET mysql-connect_timeout_server_max=2000",
        "SET mysql-monitor_replication_lag_interval=500",
        module="MYSQL VARIABLES",
    )
    with closing(
        pymysql.connect(host="127.0.0.1", port=mariadb.port, user=USER, password=PASSWORD)
    ) as admin:
        # Of a replica that stands still the lag is not known: it counts as a minute.
        admin.cursor().execute("CHANGE MASTER TO MASTER_HOST='127.0.0.2'")
        try:
            load(proxysql.instance, "UPDATE mysql_servers SET max_replication_lag=5")
            with until_found(proxysql, "server-shunned", *ALONE):
                assert_not_reached(proxysql)
        finally:
            admin.cursor().execute("RESET SLAVE ALL")
    load(proxysql.instance, "UPDATE mysql_servers SET max_replication_lag=0")
    with until_found(proxysql):
        pass


def test_a_server_that_lets_the_monitor_in_and_not_the_user(
    proxysql: ProxySQL,  # noqa: F811
    mariadb: MariaDB,  # noqa: F811
) -> None:
    """Its queries fail for as long as that is so, and the monitor knows nothing of it."""
    load(
        proxysql.instance,
        "SET mysql-connect_timeout_server_max=2000",
        module="MYSQL VARIABLES",
    )
    load(
        proxysql.instance,
        f"UPDATE mysql_users SET username='{POOR}', password='{POOR}'",
        module="MYSQL USERS",
    )
    with closing(
        pymysql.connect(host="127.0.0.1", port=mariadb.port, user=USER, password=PASSWORD)
    ) as admin:
        admin.cursor().execute(f"ALTER USER {POOR}@'127.0.0.1' ACCOUNT LOCK")
        try:
            with pytest.raises(pymysql.err.MySQLError):
                query(proxysql, "SELECT 7", POOR)
            with (
                until_found(proxysql, "server-shunned", *ALONE),
                pytest.raises(pymysql.err.MySQLError),
            ):
                query(proxysql, "SELECT 7", POOR)
        finally:
            admin.cursor().execute(f"ALTER USER {POOR}@'127.0.0.1' ACCOUNT UNLOCK")
