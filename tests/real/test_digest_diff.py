"""Counters of a real ProxySQL that are cleared, restart, or end while proxyctl reads them."""

from __future__ import annotations

from contextlib import closing

import pymysql
import pytest

from proxyctl.errors import ConnectionLostError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.stats.read import streamed_digests
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.servers.instances import ProxySQL
from tests.support.waiting import until

pytestmark = pytest.mark.real

SET_UP = (
    "INSERT INTO mysql_users (username, password) VALUES ('app', 'app')",
    "INSERT INTO mysql_query_rules (rule_id, active, OK_msg, apply) VALUES (1, 1, '', 1)",
)


@pytest.fixture
def proxysql(fresh_proxysql: ProxySQL, offline: Project) -> ProxySQL:
    """A ProxySQL that counts every query, and answers it by a rule without a server."""
    fresh_proxysql.instance.execute(*SET_UP)
    fresh_proxysql.instance.load("MYSQL USERS", "MYSQL QUERY RULES", saves=True)
    offline.connect(fresh_proxysql.instance)
    return fresh_proxysql


def done(*arguments: str) -> Outcome:
    found = proxyctl("digest", *arguments)
    assert found.code == 0, found.text
    return found


def send(proxysql: ProxySQL, calls: int) -> None:
    with closing(
        pymysql.connect(host="127.0.0.1", port=proxysql.traffic_port, user="app", password="app")
    ) as session:
        for number in range(calls):
            with session.cursor() as cursor:
                cursor.execute(f"SELECT a FROM t WHERE id={number}")


def sums(proxysql: ProxySQL) -> tuple[int, int]:
    [row] = proxysql.instance.query(
        "SELECT sum(count_star), sum(sum_time) FROM stats_mysql_query_digest"
    )
    return int(row[0] or 0), int(row[1] or 0)


def keep(proxysql: ProxySQL, name: str) -> None:
    """Take a snapshot, and wait for the next second: a comparison needs a time difference."""
    done("snapshot", "-o", name)
    clock = "SELECT strftime('%s','now')"
    taken = proxysql.instance.query(clock)
    until(lambda: proxysql.instance.query(clock) != taken)


def wait_for_uptime(proxysql: ProxySQL, seconds: int) -> None:
    """Wait for a positive uptime: 0 may mean that ProxySQL does not report it."""
    asked = (
        "SELECT 1 FROM stats_mysql_global WHERE Variable_Name='ProxySQL_Uptime'"
        f" AND CAST(Variable_Value AS INTEGER) >= {seconds}"
    )
    until(lambda: proxysql.instance.query(asked))


def test_counters_that_somebody_cleared_and_a_restart(proxysql: ProxySQL) -> None:
    send(proxysql, 40)
    wait_for_uptime(proxysql, 4)
    keep(proxysql, "before.gz")
    proxysql.instance.query("SELECT 1 FROM stats_mysql_query_digest_reset LIMIT 1")
    for calls in (10, 50):
        send(proxysql, calls)
        found = done("diff", "before.gz", "--format", "json").json
        assert (found["is_cleared"], len(found["notes"])) == (True, 1)
        assert (found["after"]["count_star"], found["after"]["sum_time"]) == sums(proxysql)
        if calls == 10:
            proxysql.restart()
            wait_for_uptime(proxysql, 1)


def test_a_reader_that_leaves_half_way_does_not_wait_for_the_rest(proxysql: ProxySQL) -> None:
    proxysql.instance.execute("PROXYSQLTEST 1 20")
    [(count,)] = proxysql.instance.query("SELECT count(*) FROM stats_mysql_query_digest")
    with AdminClient(Login(port=proxysql.port, password="admin")) as client:
        with streamed_digests(client) as snapshot:
            assert next(iter(snapshot.rows)).digest.startswith("0x")
        client.connect()
        with streamed_digests(client) as snapshot:
            assert sum(1 for _ in snapshot.rows) == int(str(count))
        assert client.query("SELECT 1") == [("1",)]


def test_a_proxysql_that_dies_while_it_is_read(proxysql: ProxySQL) -> None:
    proxysql.instance.execute("PROXYSQLTEST 1 200")
    login = Login(port=proxysql.port, password="admin")
    with AdminClient(login) as client, streamed_digests(client) as snapshot:
        rows = iter(snapshot.rows)
        next(rows)
        proxysql.kill()
        with pytest.raises(ConnectionLostError):
            list(rows)
