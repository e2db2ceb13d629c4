"""Speed of the history of digests: collecting from a ProxySQL, and a list of a week.

The yardstick of a collection is the mariadb client that reads the whole digest table. The store
of a week is generated: ten instances with five thousand digests each, which ran in every hour.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pymysql

from proxyctl.stats.store.file import opened_store, writing
from tests.support.commands.measure import Fastest, Line, Run, client, login, run
from tests.support.servers.instances import ProxySQL, proxysql_binary

ROUNDS = 3
DIGESTS, CHANGED = 100_000, 1_000
FIRST_BAR, SECOND_BAR = 2.0, 1.2
INSTANCES, SERIES, HOURS = 10, 5_000, 168
TOP_S, STORE_MEGABYTES = 10.0, 500.0
_GREETING = 2
"""The statements with which every connection begins."""
_SET_UP = (
    "INSERT INTO mysql_users (username, password) VALUES ('app', 'app')",
    "INSERT INTO mysql_query_rules (rule_id, active, OK_msg, apply) VALUES (1, 1, '', 1)",
)


def lines(folder: Path) -> Iterator[Line]:
    """Measure everything; nothing at the instance where a program is missing."""
    binary = proxysql_binary()
    if binary is not None and client(0):
        with ProxySQL(binary, folder / "proxysql") as server:
            yield from _collect_lines(server, folder)
    yield from _week_lines(folder / "week.db")


def _collect_lines(server: ProxySQL, folder: Path) -> Iterator[Line]:
    """Measure a first and a second collection, and the client, in turns."""
    server.instance.execute(*_SET_UP, f"PROXYSQLTEST 1 {DIGESTS // 1_000}")
    server.instance.load("MYSQL USERS", "MYSQL QUERY RULES")
    fastest, read = Fastest(), "SELECT * FROM stats_mysql_query_digest"
    for number in range(ROUNDS):
        _send(server)
        store = folder / f"{number}.db"
        fastest.add("read", _read(server, read))
        fastest.add("first", _collect(server, store))
        _send(server)
        second = _collect(server, store)
        assert f"{CHANGED + _GREETING:,} queries" in second.output, second.output
        fastest.add("second", second)
    first, second, whole = (fastest[name] for name in ("first", "second", "read"))
    yield Line("digest collect of 100,000 / client reads them", first.seconds, whole.seconds,
               FIRST_BAR)  # fmt: skip
    yield Line("digest collect of 100,000: CPU", first.cpu_s, whole.cpu_s, FIRST_BAR)
    yield Line("digest collect, 1 % changed / client reads all", second.seconds, whole.seconds,
               SECOND_BAR)  # fmt: skip
    yield Line("digest collect, 1 % changed: CPU", second.cpu_s, whole.cpu_s, SECOND_BAR)


def _send(server: ProxySQL) -> None:
    """Send queries with CHANGED digests, which a rule answers."""
    with (
        closing(
            pymysql.connect(host="127.0.0.1", port=server.traffic_port, user="app", password="app")
        ) as session,
        session.cursor() as cursor,
    ):
        for number in range(CHANGED):
            cursor.execute(f"SELECT a{number} FROM t")


def _read(server: ProxySQL, statement: str) -> Run:
    command = [*client(server.port), "--quick", "-N", "-e", statement]
    return run(command, discard=True, server=server.pid)


def _collect(server: ProxySQL, store: Path) -> Run:
    command = [sys.executable, "-m", "proxyctl", "digest", "collect", "--store", str(store)]
    found = run(command, env=login(server.port), server=server.pid)
    assert found.code == 0, found.output
    return found


# -- a week ----------------------------------------------------------------------------------------


def write_week(path: Path) -> None:
    """Generate the store: each row has the figures of a query that runs some times a second."""
    end = int(time.time()) // 3_600 * 3_600
    count = INSTANCES * SERIES
    with opened_store(path, is_new_allowed=True) as store, writing(store):
        store.execute("PRAGMA cache_size = -200000")
        numbers = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "
        store.execute(
            f"{numbers.format(INSTANCES - 1)} INSERT INTO instance SELECT i + 1, 'px' || i,"
            f" '10.0.0.' || i || ':6032', 2, {end}, 1000000, 0, 0, 0, 0, 0, 0, NULL FROM n"
        )
        store.execute(
            "INSERT INTO settings SELECT id, 0, '2.7.1', '{}' FROM instance",
        )
        store.execute(
            f"{numbers.format(SERIES - 1)} INSERT INTO digest SELECT printf('0x%016X', i * 7919),"
            " 'SELECT a, b, c FROM table' || i || ' WHERE id = ? AND state IN (?,?,?) ORDER BY a'"
            " FROM n"
        )
        store.execute(
            f"{numbers.format(count - 1)} INSERT INTO series SELECT i + 1, i / {SERIES} + 1,"
            f" printf('0x%016X', i % {SERIES} * 7919), 10 + i % 2 * 10, 'shop' || i % 50,"
            " 'app' || i % 20, '', 0, 0, 0, 0, 0, 0 FROM n"
        )
        store.execute(
            f"{numbers.format(HOURS - 1)} INSERT INTO period SELECT id, {end} - 3600 * i, 3600, 0"
            " FROM instance, n"
        )
        store.execute(
            f"{numbers.format(HOURS - 1)} INSERT INTO older SELECT id, {end} - 3600 * i,"
            " 1 + abs(id * 7919 + i * 104729) % 20000,"
            " (1 + abs(id * 7919 + i * 104729) % 20000) * (200 + id * 31 % 3000), 90 + id % 50,"
            " 50000 + id % 100000, 0, abs(id * 7919 + i * 104729) % 20000"
            " FROM series CROSS JOIN n ORDER BY id, i DESC"
        )


def _week_lines(path: Path) -> Iterator[Line]:
    write_week(path)
    rows = INSTANCES * SERIES * HOURS
    yield Line(f"store of {rows:,} hours: size", path.stat().st_size / 1e6, STORE_MEGABYTES, 1.0,
               "MB")  # fmt: skip
    command = [sys.executable, "-m", "proxyctl", "digest", "top", "--store", str(path)]
    fastest = Fastest()
    for _ in range(ROUNDS):
        found = run([*command, "--since", "7d"])
        assert found.code == 0, found.output
        fastest.add("top", found)
        if found.seconds <= TOP_S:
            break
    top = fastest["top"]
    yield Line(f"digest top --store of {rows:,} hours", top.seconds, TOP_S, 1.0)
    yield Line("digest top --store: CPU", top.cpu_s, TOP_S, 1.0)
    yield Line("digest top --store: peak memory", top.megabytes, 300.0, 1.0, "MB")
