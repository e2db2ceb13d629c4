"""A ProxySQL with a writer and two readers, its monitor on, for sysbench to go through."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.mariadb_server import PASSWORD, USER, MariaDB, sysbench
from tests.support.servers import ProxySQL

_RULES = (
    "INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup, apply)"
    " VALUES (100, 1, '^SELECT.*FOR UPDATE', 10, 1), (200, 1, '^SELECT', 20, 1)"
)


@contextmanager
def proxysql_for_traffic(binary: str, folder: Path) -> Iterator[ProxySQL]:
    """Yield a ProxySQL through which sysbench has made its tables. DISK holds what RUNTIME does."""
    with MariaDB(folder) as mariadb, ProxySQL(binary, folder / "p", monitor=True) as server:
        for statement in (
            "INSERT INTO mysql_servers (hostgroup_id, hostname, port, status) VALUES"
            f" (10, '127.0.0.1', {mariadb.port}, 'ONLINE'),"
            f" (20, '127.0.0.1', {mariadb.port}, 'ONLINE'),"
            f" (20, '127.0.0.2', {mariadb.port}, 'OFFLINE_SOFT')",
            "INSERT INTO mysql_users (username, password, default_hostgroup,"
            f" transaction_persistent) VALUES ('{USER}', '{PASSWORD}', 10, 0)",
            _RULES,
            f"SET mysql-monitor_username='{USER}'",
            f"SET mysql-monitor_password='{PASSWORD}'",
            "SET mysql-monitor_ping_interval=1000",
            "LOAD MYSQL VARIABLES TO RUNTIME",
            "LOAD MYSQL SERVERS TO RUNTIME",
            "LOAD MYSQL USERS TO RUNTIME",
            "LOAD MYSQL QUERY RULES TO RUNTIME",
            "SAVE MYSQL VARIABLES TO DISK",
            "SAVE MYSQL SERVERS TO DISK",
            "SAVE MYSQL USERS TO DISK",
            "SAVE MYSQL QUERY RULES TO DISK",
        ):
            server.instance.execute(statement)
        sysbench(server.traffic_port, "prepare")
        yield server
