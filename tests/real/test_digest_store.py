"""A store holds, to the microsecond, what a real ProxySQL counted: with clears, dumps, restarts."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pymysql
import pytest

from tests.support.commands.cli import Project, proxyctl
from tests.support.digests.stored import stored_sums
from tests.support.protocol.faulty_proxy import FaultyProxy
from tests.support.servers.instances import Instance, ProxySQL, needed_binary
from tests.support.waiting import until

pytestmark = pytest.mark.real

STORE = Path("digests.db")
SET_UP = (
    "INSERT INTO mysql_users (username, password) VALUES ('app', 'app')",
    "INSERT INTO mysql_query_rules (rule_id, active, OK_msg, apply) VALUES (1, 1, '', 1)",
)
GREETING = 2
"""The statements with which every connection begins."""
Sums = dict[str, tuple[int, int]]


@pytest.fixture
def proxysql(fresh_proxysql: ProxySQL, offline: Project) -> ProxySQL:
    """A ProxySQL that counts every query, and answers it by a rule without a server."""
    fresh_proxysql.instance.execute(*SET_UP)
    fresh_proxysql.instance.load("MYSQL USERS", "MYSQL QUERY RULES", saves=True)
    offline.connect(fresh_proxysql.instance)
    return fresh_proxysql


def collect() -> str:
    found = proxyctl("digest", "collect", "--store", str(STORE))
    assert found.code == 0, found.text
    return found.err


def send(proxysql: ProxySQL, calls: int) -> None:
    with closing(
        pymysql.connect(host="127.0.0.1", port=proxysql.traffic_port, user="app", password="app")
    ) as session:
        for number in range(calls):
            with session.cursor() as cursor:
                cursor.execute(f"SELECT a FROM t{number % 7} WHERE id={number}")


def sums(proxysql: ProxySQL, table: str = "stats_mysql_query_digest") -> Sums:
    rows = proxysql.instance.query(
        f"SELECT digest_text, sum(count_star), sum(sum_time) FROM {table} GROUP BY digest_text"
    )
    return {str(text): (int(str(calls)), int(str(time))) for text, calls, time in rows}


def added(*parts: Sums) -> Sums:
    total: Sums = {}
    for part in parts:
        for text, (calls, time) in part.items():
            before = total.get(text, (0, 0))
            total[text] = before[0] + calls, before[1] + time
    return {text: load for text, load in total.items() if load[0]}


def less(after: Sums, before: Sums) -> Sums:
    minus = {text: (-calls, -time) for text, (calls, time) in before.items()}
    return added(after, minus)


def next_second(proxysql: ProxySQL, seconds: int = 1) -> None:
    clock = "SELECT strftime('%s','now')"
    began = int(str(proxysql.instance.query(clock)[0][0]))
    until(lambda: int(str(proxysql.instance.query(clock)[0][0])) >= began + seconds)


def test_growth_clears_and_a_restart(proxysql: ProxySQL) -> None:
    send(proxysql, 20)
    collect()
    base = sums(proxysql)
    for calls in (40, 3):
        send(proxysql, calls)
        assert f"{calls + GREETING} queries" in collect()
        assert stored_sums(STORE) == less(sums(proxysql), base)
    held = less(sums(proxysql), base)
    next_second(proxysql, 4)  # a clear is told by a first_seen that is later
    proxysql.instance.query("SELECT 1 FROM stats_mysql_query_digest_reset LIMIT 1")
    send(proxysql, 90)
    assert "cleared" in collect()
    assert stored_sums(STORE) == added(held, sums(proxysql))
    send(proxysql, 5)
    next_second(proxysql, 8)  # a restart is told by an uptime that is shorter
    collect()
    held = added(held, sums(proxysql))
    assert stored_sums(STORE) == held
    proxysql.restart()
    send(proxysql, 200)
    assert "cleared" in collect()
    assert stored_sums(STORE) == added(held, sums(proxysql))


def test_another_proxysql_behind_the_address(
    proxysql: ProxySQL, offline: Project, tmp_path: Path
) -> None:
    with ProxySQL(needed_binary(), tmp_path / "other") as other:
        other.instance.execute(*SET_UP)
        other.instance.load("MYSQL USERS", "MYSQL QUERY RULES")
        send(proxysql, 20)
        send(other, 90)
        next_second(proxysql, 7)
        with FaultyProxy("127.0.0.1", proxysql.port) as address:
            offline.connect(Instance("127.0.0.1", address.port))
            collect()
            send(proxysql, 5)
            collect()
            address.lead_to("127.0.0.1", other.port)
            assert "a different ProxySQL answers here" in collect()
            send(other, 30)
            collect()
            address.lead_to("127.0.0.1", proxysql.port)
            assert "a different ProxySQL answers here" in collect()
    assert sum(calls for calls, _ in stored_sums(STORE).values()) == 35 + 2 * GREETING


def test_a_time_is_compared_with_the_time_before(proxysql: ProxySQL) -> None:
    send(proxysql, 20)
    collect()
    base = sums(proxysql)
    send(proxysql, 70)
    collect()
    middle = sums(proxysql)
    [[moment]] = proxysql.instance.query("SELECT strftime('%Y-%m-%dT%H:%M:%S','now')")
    next_second(proxysql, 2)
    send(proxysql, 140)
    collect()
    found = proxyctl(
        *("digest", "diff", "--store", str(STORE), "--since", str(moment), "--against", "1h"),
        *("--format", "json", "--limit", "100"),
    ).json
    for side, grown in (("before", less(middle, base)), ("after", less(sums(proxysql), middle))):
        listed = {digest["digest_text"]: digest[side] for digest in found["digests"]}
        assert {
            text: (digest["count_star"], digest["sum_time"]) for text, digest in listed.items()
        } == grown
        assert found[side]["sum_time"] == sum(time for _, time in grown.values())


DUMPS = "stats_history.history_mysql_query_digest"


def test_dumps_to_disk_are_read_where_they_lie(proxysql: ProxySQL) -> None:
    send(proxysql, 20)
    collect()
    base = sums(proxysql)
    send(proxysql, 30)
    collect()
    for calls in (10, 50):
        send(proxysql, calls)
        proxysql.instance.execute("SAVE MYSQL DIGEST TO DISK")
        next_second(proxysql)
    send(proxysql, 4)
    added_text = collect()
    assert "note" not in added_text
    assert f"{64 + 3 * GREETING} queries" in added_text  # those of the dumps, too
    assert stored_sums(STORE) == less(added(sums(proxysql, DUMPS), sums(proxysql)), base)
    collect()
    proxysql.instance.execute("SAVE MYSQL DIGEST TO DISK")
    next_second(proxysql)
    collect()
    assert stored_sums(STORE) == less(added(sums(proxysql, DUMPS), sums(proxysql)), base)


def test_a_first_collection_reads_the_dumps_that_there_are(proxysql: ProxySQL) -> None:
    for calls in (10, 20, 30):
        send(proxysql, calls)
        proxysql.instance.execute("SAVE MYSQL DIGEST TO DISK")
        next_second(proxysql)
    send(proxysql, 40)
    assert "note" not in collect()  # the first dump is the beginning
    assert sum(calls for calls, _ in stored_sums(STORE).values()) == 90 + 3 * GREETING
    send(proxysql, 5)
    collect()
    assert sum(calls for calls, _ in stored_sums(STORE).values()) == 95 + 4 * GREETING
