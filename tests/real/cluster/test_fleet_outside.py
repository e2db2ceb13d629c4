"""apply --all beside a member of the cluster that is no instance of the fleet, and does not follow.

Those of the fleet are changed one after the other, and each waits for it.
"""

from __future__ import annotations

import time

import pytest

from tests.real.cluster.files import RULE, USER, fleet_of, hostgroups, keep_apart, name
from tests.real.cluster.rig import set_admin
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.servers import ProxySQL

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]

BEHIND = "applied, and peers do not follow: px1"
USERS_OFF = {"cluster_mysql_users_diffs_before_sync": 0}
RULES_OFF = {"cluster_mysql_query_rules_diffs_before_sync": 0}


def apply_all(*arguments: str) -> Outcome:
    return proxyctl("apply", "--all", "--auto-approve", "--peer-timeout", "5", *arguments)


def test_that_it_follows_another_one_in_something_else_is_no_excuse(
    three: list[ProxySQL], project: Project
) -> None:
    keep_apart(three)
    _, second, outside = three
    set_admin(second, **RULES_OFF)
    set_admin(outside, **USERS_OFF)
    project.write("version: 1\n" + fleet_of(*three[:2]) + USER.format(10) + RULE.format(10))
    done = apply_all("--settle", "0")
    assert done.code == 4, done.text
    assert f"1 applied: px2; 1 {BEHIND}.\n" in done.out
    assert (
        f"  peer {name(outside)} does not follow:\n"
        "  MYSQL USERS: admin-cluster_mysql_users_diffs_before_sync is 0 there;"
    ) in done.out
    assert hostgroups(outside) == set()


def test_it_is_named_where_another_one_fails_then(
    three: list[ProxySQL], project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That one finds an edit that nobody has seen when the plans were approved."""
    keep_apart(three)
    _, second, outside = three
    for one in (second, outside):
        set_admin(one, **USERS_OFF)
    sleep = time.sleep

    def edit_and_sleep(seconds: float) -> None:
        if not second.instance.query("SELECT 1 FROM mysql_users"):
            second.instance.execute("INSERT INTO mysql_users (username) VALUES ('theirs')")
        sleep(seconds)

    monkeypatch.setattr(time, "sleep", edit_and_sleep)
    project.write("version: 1\n" + fleet_of(*three[:2]) + USER.format(10))
    done = apply_all("--settle", "1")
    assert done.code == 4, done.text
    assert f"1 {BEHIND}; 1 failed: px2.\n" in done.out
    assert f"  peer {name(outside)} does not follow:\n" in done.out


def test_it_follows_also_where_another_one_calls_it_by_another_name(
    three: list[ProxySQL], project: Project
) -> None:
    """It knows the second one only, which takes nothing over and is changed by itself."""
    first, second, outside = three
    keep_apart(three)
    for one in three:
        set_admin(one, cluster_proxysql_servers_diffs_before_sync=0)
    set_admin(second, **USERS_OFF)
    edits = (
        (first, f"UPDATE proxysql_servers SET hostname='127.1' WHERE port={outside.port}"),
        (outside, f"DELETE FROM proxysql_servers WHERE port={first.port}"),
    )
    for one, edit in edits:
        one.instance.execute(edit)
        one.instance.execute("LOAD PROXYSQL SERVERS TO RUNTIME")
    project.write("version: 1\n" + fleet_of(first, second) + USER.format(10))
    done = apply_all("--settle", "0")
    assert done.code == 0, done.text
    assert "2 applied: px1, px2.\n" in done.out
    assert [hostgroups(one) for one in three] == [{"10"}] * 3
