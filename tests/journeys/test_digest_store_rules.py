"""The rules in a store: collect notes them, regressions says which of them caught a digest."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pytest

from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.instance.read import read_configuration
from proxyctl.routing.router import ROUTING_TABLES, routing_likeness
from proxyctl.rows.row import Layer
from proxyctl.stats.store.file import opened_store
from proxyctl.stats.store.routing import MOST_ROWS, NotedRouting, noted_routing
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.digests.stored import CountingSandbox, age, change_store
from tests.support.servers.instances import Instance

STORE = Path("digests.db")
DAY_S = 86_400
SLOW, NEW, GONE = "SELECT slow FROM t", "SELECT new FROM t", "SELECT gone FROM t"
HASH = "*94BDCEBE19083CE2A1F959FD02F964C7AF4CFC29"


def collect(*arguments: str) -> Outcome:
    found = proxyctl(*arguments, "digest", "collect", "--store", str(STORE))
    assert found.code == 0, found.text
    return found


def regressions(*arguments: str) -> Outcome:
    found = proxyctl("digest", "regressions", "--store", str(STORE), *arguments)
    assert found.code == 2, found.text
    return found


def load_rules(instance: Instance, *values: str, apply: int = 1) -> None:
    """Let RUNTIME have these rules: rule_id, match_digest, match_pattern, destination_hostgroup."""
    instance.execute("DELETE FROM mysql_query_rules")
    for row in values:
        instance.execute(
            "INSERT INTO mysql_query_rules (rule_id, match_digest, match_pattern,"
            f" destination_hostgroup, active, apply) VALUES ({row}, 1, {apply})"
        )
    instance.load("MYSQL QUERY RULES")


@pytest.fixture
def shop(sandbox_project: Project, sandbox_instance: Instance) -> CountingSandbox:
    """A sandbox with a rule, a route and users, which has run two queries the day before."""
    sandbox_instance.execute(
        "INSERT INTO mysql_users (username, password, default_hostgroup)"
        f" VALUES ('app', '{HASH}', 10), ('batch', 'a-clear-password', 30)",
        "INSERT INTO mysql_query_rules_fast_routing VALUES ('app', 'cart', 0, 40, 'comment')",
    )
    sandbox_instance.load("MYSQL USERS")
    load_rules(sandbox_instance, "1, '^SELECT', NULL, 10")
    counting = CountingSandbox(sandbox_instance)
    counting.run("SELECT begin FROM t")
    collect()
    counting.run(SLOW, 100, 10_000)
    counting.run(GONE, 100, 10_000)
    collect()
    age(STORE, 2 * DAY_S)
    return counting


def run_again(shop: CountingSandbox) -> None:
    """Let a query be slower, and one be new; collect."""
    shop.run(SLOW, 100, 20_000)
    shop.run(NEW, 100, 20_000)
    collect()


def catchers(found: Outcome, query: str) -> tuple[Any, Any]:
    """Return the rule_ids of each part of a digest's queries, before and after."""
    [digest] = [digest for digest in found.json["digests"] if digest["digest_text"] == query]
    before, after = (
        digest[side]
        and [[outcome["rule_id"] for outcome in part["outcomes"]] for part in digest[side]]
        for side in ("rules_before", "rules_after")
    )
    return before, after


def test_the_rules_that_caught_a_digest_then_and_now(shop: CountingSandbox) -> None:
    load_rules(shop.instance, "1, '^SELECT', NULL, 10", "0, ' slow ', NULL, 20")
    run_again(shop)
    found = regressions("--format", "json")
    assert "rules" not in found.err
    assert catchers(found, SLOW) == ([[1]], [[0]])
    assert catchers(found, NEW) == ([[1]], [[1]])
    assert catchers(found, GONE) == ([[1]], [[1]])
    [slow] = [digest for digest in found.json["digests"] if digest["digest_text"] == SLOW]
    [part] = slow["rules_after"]
    assert (part["count_star"], part["outcomes"][0]["hostgroup"]) == (100, 20)
    text = regressions().out
    assert "hostgroup 10  by rule 1 -> rule 0\n" in text
    assert "hostgroup 10  by rule 1\n" in text
    assert r"| rule 1 -\> rule 0 |" in regressions("--format", "markdown").out


def test_what_a_digest_leaves_open_and_what_users_have_apart(shop: CountingSandbox) -> None:
    load_rules(shop.instance, "5, NULL, 'slow.*secret', 20", apply=0)
    row = shop.rows[SLOW]
    shop.rows["batch"] = row._replace(username="batch", schemaname="cart", count_star=500)
    shop.rows["cart"] = row._replace(schemaname="cart", count_star=300)
    run_again(shop)
    found = regressions("--format", "json")
    assert catchers(found, SLOW) == ([[1]], [[None, 5], [None, 5], [None, 5]])
    [slow] = [digest for digest in found.json["digests"] if digest["digest_text"] == SLOW]
    hostgroups = [
        [outcome["hostgroup"] for outcome in part["outcomes"]] for part in slow["rules_after"]
    ]
    assert hostgroups == [[30, 20], [40, 40], [10, 20]]  # those with most queries first
    text = " ".join(regressions().out.split())
    assert "by rule 1 -> no rule or rule 5; fast_routing " in text


def test_a_change_within_a_time_is_noted(shop: CountingSandbox) -> None:
    run_again(shop)
    age(STORE, 3600)
    load_rules(shop.instance, "7, '^SELECT', NULL, 10")
    run_again(shop)
    found = regressions("--format", "json")
    assert ": rules or users changed in this period: those at the end of it are shown" in found.err
    assert catchers(found, SLOW) == ([[1]], [[7]])


def test_a_load_that_changes_nothing_adds_nothing(shop: CountingSandbox) -> None:
    reads_rules = "runtime_mysql_query_rules"
    assert reads_rules not in collect("--debug").err
    shop.instance.load("MYSQL USERS", "MYSQL QUERY RULES", "MYSQL VARIABLES")
    assert reads_rules in collect("--debug").err
    assert reads_rules not in collect("--debug").err
    with opened_store(STORE) as store:
        assert store.execute("SELECT count(*) FROM routing").fetchone() == (1,)


def test_a_store_has_what_routing_reads_and_no_password(shop: CountingSandbox) -> None:
    shop.instance.execute(
        "UPDATE global_variables SET variable_value='0'"
        " WHERE variable_name='mysql-query_digests_grouping_limit'",
        "UPDATE global_variables SET variable_value='s3cret'"
        " WHERE variable_name='mysql-monitor_password'",
    )
    shop.instance.load("MYSQL VARIABLES")
    run_again(shop)
    login = Login(host=shop.instance.host, port=shop.instance.port, password="admin")
    with AdminClient(login) as client:
        held = read_configuration(client, Layer.RUNTIME, ROUTING_TABLES)
    with opened_store(STORE) as store:
        noted = noted_routing(store, 1, 0, 1 << 40)
        packed = store.execute("SELECT content FROM configuration").fetchall()
    assert isinstance(noted, NotedRouting)
    assert routing_likeness(noted.configuration) == routing_likeness(held)
    texts = [zlib.decompress(content) for (content,) in packed]
    assert any(b'"batch"' in text for text in texts)
    for text in (*texts, STORE.read_bytes()):
        for secret in (HASH[1:], "a-clear-password", "s3cret"):
            assert secret.encode() not in text


def test_too_many_rules_are_not_kept(shop: CountingSandbox) -> None:
    rows = ",".join(f"('app', 's{number}', 0, 10, '')" for number in range(MOST_ROWS))
    shop.instance.execute(f"INSERT INTO mysql_query_rules_fast_routing VALUES {rows}")
    shop.instance.load("MYSQL QUERY RULES")
    run_again(shop)
    found = regressions("--format", "json")
    assert "this period: more than 10,000 rules, routes and users are not kept" in found.err
    assert catchers(found, SLOW) == ([[1]], None)
    assert "by rule 1 -> -\n" in regressions().out


def test_a_time_before_the_first_rules(shop: CountingSandbox) -> None:
    change_store(STORE, "DELETE FROM routing")
    run_again(shop)
    found = regressions("--format", "json")
    assert "the store has no rules for the period before" in found.err
    assert catchers(found, SLOW) == (None, [[1]])
    change_store(STORE, "DELETE FROM routing")
    assert "hostgroup 10\n" in regressions().out


def test_keep_deletes_rules_of_which_no_time_is_left(shop: CountingSandbox) -> None:
    load_rules(shop.instance, "7, '^SELECT', NULL, 10")
    run_again(shop)
    with opened_store(STORE) as store:
        assert store.execute("SELECT count(*) FROM configuration").fetchone() == (2,)
    for days, left in ((3, 2), (1, 2)):
        proxyctl("digest", "collect", "--store", str(STORE), "--keep", f"{days}d")
        with opened_store(STORE) as store:
            assert store.execute("SELECT count(*) FROM configuration").fetchone() == (left,)
    age(STORE, 2 * DAY_S)
    proxyctl("digest", "collect", "--store", str(STORE), "--keep", "1d")
    with opened_store(STORE) as store:
        assert store.execute("SELECT count(*) FROM configuration").fetchone() == (1,)
