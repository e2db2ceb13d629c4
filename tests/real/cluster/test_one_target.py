"""A native cluster of three real ProxySQL is one target: a change at one member reaches all."""

from __future__ import annotations

import pytest

from tests.real.cluster.rig import (
    RULE,
    SERVERS,
    USER,
    apply,
    checksums,
    fall_behind,
    hostgroups,
    keep_apart,
    name,
    set_admin,
    write,
)
from tests.support.commands.cli import Project, proxyctl
from tests.support.servers.instances import ProxySQL
from tests.support.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]


@pytest.fixture
def project(three: list[ProxySQL], offline: Project) -> Project:
    """Files that apply to the first member by default."""
    offline.connect(three[0].instance)
    return offline


def at(one: ProxySQL) -> tuple[str, ...]:
    return ("--host", "127.0.0.1", "--port", str(one.port))


def test_a_change_at_one_member_reaches_all(three: list[ProxySQL], project: Project) -> None:
    write(
        project,
        USER.format(10)
        + RULE.format(10)
        + "mysql_servers: [{hostgroup_id: 10, hostname: db1}]\n"
        + "variables: {mysql-max_connections: 3000, admin-refresh_interval: 1999}\n",
    )
    done = apply()
    assert done.code == 0, done.text
    assert "All 3 members of the ProxySQL Cluster have copied the change.\n" in done.out
    for member in three:
        assert hostgroups(member) == hostgroups(member, layer="disk.") == {"10"}
        found = proxyctl("plan", "--detailed-exitcode", *at(member))
        assert found.code == 0, found.text


def test_a_rollback_reaches_all(three: list[ProxySQL], project: Project) -> None:
    for hostgroup in (10, 20):
        write(project, USER.format(hostgroup))
        assert apply().code == 0
    done = proxyctl("rollback", "--auto-approve")
    assert done.code == 0, done.text
    assert [hostgroups(member) for member in three] == [{"10"}] * 3


def test_what_does_not_synchronise_is_shown_in_the_plan(
    three: list[ProxySQL], project: Project
) -> None:
    write(
        project,
        "mysql_query_rules:\n"
        "  - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 10}\n"
        "  - {rule_id: 2, active: false, match_digest: '^SHOW', destination_hostgroup: 10}\n"
        "scheduler: [{id: 1, interval_ms: 60000, filename: /bin/true}]\n",
    )
    found = proxyctl("plan", "--format", "json").json["instances"][0]
    assert found["cluster_members"] == sorted(map(name, three))
    assert found["warnings"] == [
        "SCHEDULER does not synchronise with other members: apply to each",
        "rule 2 is inactive and stays here; the other members copy the active ones and drop"
        " their own inactive ones",
    ]
    assert apply().code == 0
    ids = "SELECT rule_id FROM mysql_query_rules"
    assert [member.instance.query(ids) for member in three] == [
        [("1",), ("2",)],
        [("1",)],
        [("1",)],
    ]


def test_members_that_do_not_follow_are_named(three: list[ProxySQL], project: Project) -> None:
    """One member has the module switched off, and one is down."""
    keep_apart(three)
    first, second, third = three
    set_admin(second, cluster_mysql_users_diffs_before_sync=0)
    third.stop()
    write(project, USER.format(10) + RULE.format(10))
    done = apply("--peer-timeout", "8", "--format", "json")
    assert done.code == 4, done.text
    assert done.json["applied"] is True
    found = {peer["name"]: peer["reasons"] for peer in done.json["peers"]}
    assert found[name(first)] == []
    (switched_off,) = found[name(second)]
    assert switched_off.startswith("MYSQL USERS: it answers, but has not copied the change; check")
    assert "admin-cluster_mysql_users_diffs_before_sync there" in switched_off
    down = found[name(third)]
    assert [text.partition(":")[0] for text in down] == ["MYSQL QUERY RULES", "MYSQL USERS"]
    assert all("it has not answered for" in text for text in down)
    assert hostgroups(first) == hostgroups(first, layer="disk.") == {"10"}
    assert hostgroups(second, "mysql_query_rules") == {"10"}

    write(project, USER.format(20))
    text = apply("--peer-timeout", "1")
    assert text.code == 4, text.text
    assert (
        f"member {name(second)} has not copied the change:\n  MYSQL USERS: it answers" in text.out
    )
    third.start()
    until(lambda: hostgroups(third) == {"20"})


def test_a_member_that_is_behind_is_not_made_the_newest(
    three: list[ProxySQL], project: Project
) -> None:
    write(project, USER.format(10))
    assert apply().code == 0
    keep_apart(three)
    set_admin(three[0], cluster_mysql_users_diffs_before_sync=1000)
    fall_behind(three)
    write(project, USER.format(20))
    before = checksums(three[0])["mysql_users"]
    (refusal,) = proxyctl("plan", "--format", "json").json["instances"][0]["refusals"]
    assert (refusal["code"], refusal["allow"]) == ("stale_member", "--force")
    done = apply()
    assert done.code == 3, done.text
    assert f"{name(three[1])}" in done.err
    assert "has newer content, which this member has not copied yet" in done.err
    assert checksums(three[0])["mysql_users"] == before
    # What is not behind is no reason.
    write(project, RULE.format(20))
    assert apply().code == 0
    write(project, USER.format(20))
    assert apply("--force").code == 0
    assert [hostgroups(member) for member in three] == [{"20"}] * 3


def test_a_load_is_later_than_the_last_one_of_the_cluster(
    three: list[ProxySQL], project: Project
) -> None:
    write(project, USER.format(10))
    for _ in range(3):
        three[2].instance.execute("LOAD MYSQL USERS TO RUNTIME")
        epoch = checksums(three[2])["mysql_users"][1]
        write(project, USER.format(epoch % 1000))
        done = apply()
        assert done.code == 0, done.text
        assert checksums(three[0])["mysql_users"][1] > epoch


def test_a_server_is_drained_and_restored_at_one_member(
    three: list[ProxySQL], project: Project
) -> None:
    write(project, SERVERS)
    assert apply().code == 0
    refused = proxyctl("nodes", "drain", "a")
    assert refused.code == 3
    assert "an apply on one of them will make it permanent here" in refused.err
    until_all_show(three, "ONLINE")
    assert proxyctl("nodes", "drain", "a", "--force").code == 0
    until_all_show(three, "OFFLINE_SOFT")
    assert proxyctl("plan", "--detailed-exitcode").code == 0
    elsewhere = proxyctl("nodes", "restore", "a", *at(three[1]))
    assert elsewhere.code == 3
    assert "on the ProxySQL Cluster member where it was drained" in elsewhere.err
    write(project, SERVERS + RULE.format(1))
    assert apply(*at(three[1])).code == 0
    until_all_show(three, "OFFLINE_SOFT")
    assert proxyctl("nodes", "restore", "a").code == 0
    until_all_show(three, "ONLINE")
    assert proxyctl("plan", "--detailed-exitcode").code == 0


def until_all_show(three: list[ProxySQL], status: str) -> None:
    """Wait until every member has the server `a` in this state at RUNTIME."""
    asked = "SELECT status FROM runtime_mysql_servers WHERE hostname='a'"
    until(lambda: [member.instance.query(asked) for member in three] == [[(status,)]] * 3)
