"""Digest regressions on a real ProxySQL names the rule that caught a query before and after."""

from __future__ import annotations

import zlib
from contextlib import closing
from pathlib import Path

import pymysql
import pytest

from proxyctl.stats.store.file import opened_store
from tests.support.commands.cli import Project, proxyctl
from tests.support.digests.stored import age, change_store
from tests.support.servers.instances import ProxySQL
from tests.support.waiting import until

pytestmark = pytest.mark.real

STORE = Path("digests.db")
MOVED, MAYBE = "SELECT name FROM item", "SELECT note FROM item WHERE id"
HASH = "*94BDCEBE19083CE2A1F959FD02F964C7AF4CFC29"


@pytest.fixture
def proxysql(fresh_proxysql: ProxySQL, offline: Project) -> ProxySQL:
    """A ProxySQL with two users that answers every query by rule 10."""
    fresh_proxysql.instance.execute(
        "INSERT INTO mysql_users (username, password) VALUES ('app', 'app-password'),"
        f" ('other', '{HASH}')",
        "INSERT INTO mysql_query_rules (rule_id, active, OK_msg, apply) VALUES (10, 1, '', 1)",
    )
    fresh_proxysql.instance.load("MYSQL USERS", "MYSQL QUERY RULES", saves=True)
    offline.connect(fresh_proxysql.instance)
    return fresh_proxysql


def collect(*arguments: str) -> str:
    found = proxyctl(*arguments, "digest", "collect", "--store", str(STORE))
    assert found.code == 0, found.text
    return found.err


def send(proxysql: ProxySQL, calls: int) -> None:
    with closing(
        pymysql.connect(
            host="127.0.0.1", port=proxysql.traffic_port, user="app", password="app-password"
        )
    ) as session:
        for number in range(calls):
            with session.cursor() as cursor:
                cursor.execute(MOVED)
                cursor.execute(f"{MAYBE} = {number}")


def add_rule(proxysql: ProxySQL, values: str) -> None:
    proxysql.instance.execute(
        "INSERT INTO mysql_query_rules (rule_id, match_digest, match_pattern, active, OK_msg,"
        f" apply) VALUES ({values}, 1, '', 1)"
    )
    proxysql.instance.load("MYSQL QUERY RULES", saves=True)


def hits(proxysql: ProxySQL) -> dict[object, object]:
    """Return the hits of the rules 5 and 6, which ProxySQL shows some seconds late."""
    rows = proxysql.instance.query(
        "SELECT rule_id, hits FROM stats_mysql_query_rules WHERE rule_id < 10"
    )
    return dict(row[:2] for row in rows)


def next_second(proxysql: ProxySQL) -> None:
    clock = "SELECT strftime('%s','now')"
    began = proxysql.instance.query(clock)
    until(lambda: proxysql.instance.query(clock) > began)


def test_a_rule_that_was_changed_between_two_collections(proxysql: ProxySQL) -> None:
    send(proxysql, 1)
    collect()
    send(proxysql, 40)
    collect()
    age(STORE, 3600)
    add_rule(proxysql, "5, '^SELECT name', NULL")
    add_rule(proxysql, "6, NULL, 'id = 7$'")
    send(proxysql, 200)
    collect()
    change_store(STORE, "UPDATE period SET seconds = 3600")
    command = ("digest", "regressions", "--store", str(STORE), "--since", "30min")
    options = ("--against", "2h", "--min-share", "0")
    found = proxyctl(*command, *options)
    assert found.code == 2, found.text
    text = f"{' '.join(found.out.split())} "
    assert f"by rule 10 -> rule 5 {MOVED} " in text
    assert f"by rule 10 -> rule 10 or rule 6 {MAYBE} = ? " in text
    until(lambda: hits(proxysql) == {"5": "200", "6": "1"}, what="ProxySQL's own hits")


def test_only_a_load_or_a_restart_makes_rules_be_read_again(proxysql: ProxySQL) -> None:
    read = "runtime_mysql_query_rules"
    assert read in collect("--debug")
    assert read not in collect("--debug")
    for module in ("MYSQL QUERY RULES", "MYSQL USERS", "MYSQL VARIABLES"):
        proxysql.instance.load(module)
        assert read in collect("--debug"), module
        assert read not in collect("--debug"), module
    next_second(proxysql)
    proxysql.restart()
    assert read in collect("--debug")
    with opened_store(STORE) as store:
        [(content,)] = store.execute("SELECT content FROM configuration").fetchall()
    texts = zlib.decompress(content), STORE.read_bytes()
    assert b'"other"' in texts[0]
    for text in texts:
        assert HASH[1:].encode() not in text
        assert b"app-password" not in text
