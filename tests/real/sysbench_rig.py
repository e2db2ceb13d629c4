"""A ProxySQL in front of a MariaDB in which sysbench has made its tables; reads go to readers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.mariadb_server import PASSWORD, USER, MariaDB, sysbench
from tests.support.servers import ProxySQL, needed_binary


@contextmanager
def sysbench_rig(folder: Path) -> Iterator[tuple[ProxySQL, MariaDB]]:
    """Yield the two servers. DISK holds what RUNTIME does; all servers are the one MariaDB."""
    with (
        MariaDB(folder) as mariadb,
        ProxySQL(needed_binary(), folder / "proxysql", monitor=True) as server,
    ):
        for statement in (
            "INSERT INTO mysql_servers (hostgroup_id, hostname, port, status) VALUES"
            f" (10, '127.0.0.1', {mariadb.port}, 'ONLINE'),"
            f" (20, '127.0.0.1', {mariadb.port}, 'ONLINE'),"
            f" (20, '127.0.0.2', {mariadb.port}, 'OFFLINE_SOFT')",
            "INSERT INTO mysql_users (username, password, default_hostgroup,"
            f" transaction_persistent) VALUES ('{USER}', '{PASSWORD}', 10, 0)",
            "INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup,"
            " apply) VALUES (100, 1, '^SELECT.*FOR UPDATE', 10, 1), (200, 1, '^SELECT', 20, 1)",
            f"SET mysql-monitor_username='{USER}'",
            f"SET mysql-monitor_password='{PASSWORD}'",
            "SET mysql-monitor_ping_interval=1000",
        ):
            server.instance.execute(statement)
        for module in ("MYSQL VARIABLES", "MYSQL SERVERS", "MYSQL USERS", "MYSQL QUERY RULES"):
            server.instance.execute(f"LOAD {module} TO RUNTIME")
            server.instance.execute(f"SAVE {module} TO DISK")
        sysbench(server.traffic_port, "prepare")
        yield server, mariadb
