"""The queries that lint makes of a pattern are SQL: a server can parse every one of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest
from pymysql.constants import ER

from proxyctl.lint.pattern_queries import queries_of
from proxyctl.routing.probes import MYSQL_SAMPLES
from tests.support.servers.mariadb import MISSING, PASSWORD, USER, MariaDB

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}"),
]

STARTS = (
    *("SELECT", "SELECT .*", "SELECT .* FROM", "SELECT .* FROM orders", "SELECT .* FROM a b"),
    *(r"SELECT COUNT\(", r"SELECT COUNT\(\*\) FROM", r"SELECT SLEEP\(", "SELECT @@", "SELECT a,"),
    *("SELECT DISTINCT", "SELECT SQL_NO_CACHE", r"SELECT /\* cached \*/", r"\(SELECT", "WITH .*"),
    *("FROM orders", "orders", "`orders`", r"shop\.orders", r"/\* ro \*/", "INSERT", "INSERT INTO"),
    *("INSERT INTO orders", "UPDATE", "UPDATE orders", "DELETE", "DELETE FROM orders", "CALL f"),
    *("REPLACE INTO orders", "TRUNCATE TABLE orders", "SHOW", "user", "count", "EXPLAIN SELECT"),
)
ENDS = (
    "", " WHERE", " WHERE id", " WHERE id =", r" WHERE id = \?", " WHERE .* AND", " WHERE a LIKE",
    r" WHERE id IN \(", " WHERE a BETWEEN", " WHERE NOT", " JOIN", " LEFT JOIN b", " ORDER BY",
    " GROUP BY .* HAVING", " LIMIT", " LIMIT 5,", " UNION", " FOR UPDATE", " SET a", ";",
    r"\b", "$",
)  # fmt: skip


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pymysql.Connection]:
    folder: Path = tmp_path_factory.mktemp("mariadb")
    with (
        MariaDB(folder) as server,
        pymysql.connect(
            host="127.0.0.1", port=server.port, user=USER, password=PASSWORD, database="sbtest"
        ) as connection,
    ):
        yield connection


def test_they_are_sql(connection: pymysql.Connection) -> None:
    made = {
        probe.query
        for start in STARTS
        for end in ENDS
        for pattern in (start + end, f"^{start}{end}")
        for probe in queries_of(pattern, MYSQL_SAMPLES)
        if not probe.name.startswith("FOR SHARE")  # MariaDB has none
    }
    assert len(made) > 200
    assert [query for query in sorted(made) if not is_sql(connection, query)] == []


def is_sql(connection: pymysql.Connection, query: str) -> bool:
    """Whether the server can parse a query. Whether its tables exist does not matter."""
    with connection.cursor() as cursor:
        try:
            cursor.execute("PREPARE one FROM %s", (query,))
        except pymysql.MySQLError as error:
            return error.args[0] not in (ER.PARSE_ERROR, ER.EMPTY_QUERY)
    return True
