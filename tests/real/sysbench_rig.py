"""A ProxySQL in front of a MariaDB in which sysbench has made its tables; reads go to a reader."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.mariadb_server import PASSWORD, USER, MariaDB, sysbench
from tests.support.servers import NO_BINARY, ProxySQL, proxysql_binary

WRITER, READER = 10, 20


@contextmanager
def sysbench_rig(folder: Path) -> Iterator[tuple[ProxySQL, MariaDB]]:
    """Yield the two servers. Both hostgroups are the one MariaDB."""
    binary = proxysql_binary()
    if binary is None:
        pytest.skip(NO_BINARY)
    with MariaDB(folder) as mariadb, ProxySQL(binary, folder / "proxysql") as server:
        for statement in (
            "INSERT INTO mysql_servers (hostgroup_id, hostname, port) VALUES"
            f" ({WRITER}, '127.0.0.1', {mariadb.port}), ({READER}, '127.0.0.1', {mariadb.port})",
            "INSERT INTO mysql_users (username, password, default_hostgroup)"
            f" VALUES ('{USER}', '{PASSWORD}', {WRITER})",
            "INSERT INTO mysql_query_rules (rule_id, active, match_digest,"
            f" destination_hostgroup, apply) VALUES (10, 1, '^SELECT.*FOR UPDATE', {WRITER}, 1),"
            f" (20, 1, '^SELECT', {READER}, 1)",
            "LOAD MYSQL SERVERS TO RUNTIME",
            "LOAD MYSQL USERS TO RUNTIME",
            "LOAD MYSQL QUERY RULES TO RUNTIME",
            "SAVE MYSQL SERVERS TO DISK",
            "SAVE MYSQL USERS TO DISK",
            "SAVE MYSQL QUERY RULES TO DISK",
        ):
            server.instance.execute(statement)
        sysbench(server.traffic_port, "prepare")
        yield server, mariadb
