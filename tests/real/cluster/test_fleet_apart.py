"""plan --all and apply --all where members pull nothing of a module: each is named and changed."""

from __future__ import annotations

import pytest

from tests.real.cluster.files import RULE, USER, fleet_of, hostgroups, keep_apart
from tests.real.cluster.rig import set_admin
from tests.support.cli import Project, proxyctl
from tests.support.servers import ProxySQL

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]

APPLY = ("apply", "--all", "--auto-approve", "--settle", "0")
SWITCH = {"cluster_mysql_users_diffs_before_sync": 0}
CHECKSUM = {"checksum_mysql_users": "false"}


@pytest.mark.parametrize(
    ("off", "why"),
    [
        (SWITCH, "admin-cluster_mysql_users_diffs_before_sync is 0"),
        (CHECKSUM, "admin-checksum_mysql_users is false"),
    ],
)
def test_nobody_follows(
    three: list[ProxySQL], project: Project, off: dict[str, object], why: str
) -> None:
    keep_apart(three)
    for one in three:
        set_admin(one, **off)
    project.write("version: 1\n" + fleet_of(*three) + USER.format(10))
    plan = proxyctl("plan", "--all")
    assert plan.out.endswith(
        "One ProxySQL Cluster: px1, px2, px3.\n"
        f"px2, px3 take no MYSQL USERS over ({why}): each is changed by itself.\n"
    ), plan.text
    assert "travels to the others" not in plan.out

    done = proxyctl(*APPLY)
    assert done.code == 0, done.text
    assert "changed first" not in done.text
    assert "px1: waiting" not in done.err
    assert done.err.count("LOAD MYSQL USERS TO RUNTIME") == 3
    assert "3 applied: px1, px2, px3.\n" in done.out
    assert [hostgroups(one) for one in three] == [{"10"}] * 3
    assert proxyctl("drift", "--all").code == 0


def test_one_of_them_does_not_follow(three: list[ProxySQL], project: Project) -> None:
    keep_apart(three)
    set_admin(three[1], **SWITCH)
    project.write("version: 1\n" + fleet_of(*three) + USER.format(10) + RULE.format(10))
    plan = proxyctl("plan", "--all")
    assert plan.out.endswith(
        "One ProxySQL Cluster: px1, px2, px3; px1 is changed first, and the others follow.\n"
        "px2 takes no MYSQL USERS over (admin-cluster_mysql_users_diffs_before_sync is 0): it is"
        " changed by itself.\n"
    ), plan.text
    done = proxyctl(*APPLY)
    assert done.code == 0, done.text
    assert "px1 is changed first, and the others follow\n" in done.err
    assert "px2: LOAD MYSQL USERS TO RUNTIME\n" in done.err
    assert done.err.count("LOAD MYSQL QUERY RULES TO RUNTIME") == 1
    assert "2 applied: px1, px2; 1 followed: px3.\n" in done.out
    assert proxyctl("drift", "--all").code == 0

    set_admin(three[1], cluster_mysql_query_rules_diffs_before_sync=0)
    project.write("version: 1\n" + fleet_of(*three) + USER.format(20) + RULE.format(20))
    assert (
        "; px1 is changed first, and px3 follows.\n"
        "px2 takes no MYSQL QUERY RULES over (admin-cluster_mysql_query_rules_diffs_before_sync is"
        " 0): it is changed by itself.\n"
        "px2 takes no MYSQL USERS over"
    ) in proxyctl("plan", "--all").out
