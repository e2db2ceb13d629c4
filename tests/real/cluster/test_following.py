"""A native cluster of real ProxySQL: a change at one member arrives at the others."""

from __future__ import annotations

import pytest

from tests.real.cluster.files import (
    RULE,
    USER,
    apply,
    fleet_of,
    hostgroups,
    keep_apart,
    name,
    write,
)
from tests.real.cluster.rig import ACCOUNT, set_admin
from tests.support.cli import Project, proxyctl
from tests.support.servers import ProxySQL

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]


def test_a_change_at_one_arrives_at_all(three: list[ProxySQL], project: Project) -> None:
    write(
        project,
        USER.format(10)
        + RULE.format(10)
        + "mysql_servers: [{hostgroup_id: 10, hostname: db1}]\n"
        + "variables: {mysql-max_connections: 3000, admin-refresh_interval: 1999}\n",
    )
    done = apply("--format", "json")
    assert done.code == 0, done.text
    peers = sorted(map(name, three[1:]))
    assert [
        (one["name"], one["follows"], one["rows_read"], one["reasons"])
        for one in done.json["peers"]
    ] == [(peer, True, True, []) for peer in peers]
    for one in three:
        assert hostgroups(one) == hostgroups(one, layer="disk.") == {"10"}
        found = proxyctl("plan", "--port", str(one.port), "--host", "127.0.0.1")
        assert found.out.startswith(f"{name(one)}  ProxySQL 2.7"), found.text
        assert "No changes" in found.out, found.text


def test_a_rollback_arrives_at_all(three: list[ProxySQL], project: Project) -> None:
    for hostgroup in (10, 20):
        write(project, USER.format(hostgroup))
        assert apply().code == 0
    done = proxyctl("rollback", "--auto-approve")
    assert done.code == 0, done.text
    assert "2 peers follow" in done.out
    assert [hostgroups(one) for one in three] == [{"10"}] * 3


def test_what_does_not_travel_is_said_before(three: list[ProxySQL], project: Project) -> None:
    write(
        project,
        "mysql_query_rules:\n"
        "  - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 10}\n"
        "  - {rule_id: 2, active: false, match_digest: '^SHOW', destination_hostgroup: 10}\n"
        "scheduler: [{id: 1, interval_ms: 60000, filename: /bin/true}]\n",
    )
    three[1].instance.execute("INSERT INTO mysql_query_rules (rule_id, active) VALUES (7, 0)")
    three[1].instance.execute("SAVE MYSQL QUERY RULES TO DISK")
    found = proxyctl("plan", "--format", "json").json["instances"][0]
    assert found["cluster_members"] == sorted(map(name, three))
    assert found["warnings"] == [
        "SCHEDULER: does not travel to the peers; apply at each member",
        "MYSQL QUERY RULES: 1 rule that is not active stays here; peers take the active ones, and"
        " drop their own others",
    ]
    done = apply()
    assert done.code == 0, done.text
    ids = "SELECT rule_id FROM mysql_query_rules"
    assert [one.instance.query(ids) for one in three] == [[("1",), ("2",)], [("1",)], [("1",)]]
    assert three[1].instance.query("SELECT count(*) FROM scheduler") == [("0",)]

    write(project, USER.format(10))
    assert proxyctl("plan", "--format", "json").json["instances"][0]["warnings"] == []


def test_routes_of_restapi_and_the_firewall_stay_where_they_are_applied(
    three: list[ProxySQL], project: Project
) -> None:
    write(
        project,
        "restapi_routes: [{id: 1, timeout_ms: 1000, method: GET, uri: a, script: /bin/true}]\n"
        "mysql_firewall_whitelist_users: [{username: a, client_address: '', mode: DETECTING}]\n",
    )
    done = apply()
    assert done.code == 0, done.text
    stays = "MYSQL FIREWALL, RESTAPI: do not travel to the peers; apply at each member"
    assert f"warning      {stays}\n" in done.out
    assert "travels to the others" not in done.out
    # A change that travels arrives later: by then these would have, too.
    write(project, USER.format(10))
    assert apply().code == 0
    for table in ("restapi_routes", "mysql_firewall_whitelist_users"):
        count = f"SELECT count(*) FROM runtime_{table}"
        assert [one.instance.query(count) for one in three] == [[("1",)], [("0",)], [("0",)]]

    write(
        project,
        fleet_of(*three) + "scheduler: [{id: 1, interval_ms: 60000, filename: /bin/true}]\n",
    )
    every = proxyctl("apply", "--all", "--auto-approve")
    assert every.code == 0, every.text
    assert "3 applied: px1, px2, px3" in every.out


def test_a_peer_that_does_not_save_is_noted(three: list[ProxySQL], project: Project) -> None:
    keep_apart(three)
    set_admin(three[1], cluster_mysql_users_save_to_disk="false")
    write(project, USER.format(10))
    done = apply()
    assert done.code == 0, done.text
    assert f"note: peer {name(three[1])}: MYSQL USERS: admin-cluster_mysql_users_save" in done.out
    assert hostgroups(three[1], layer="disk.") == set()


def test_the_account_is_changed_one_step_after_the_other(
    three: list[ProxySQL], project: Project
) -> None:
    def account(credentials: str, user: str) -> None:
        known = f"admin-admin_credentials: 'admin:admin;radmin:radmin;{credentials}'"
        used = f"admin-cluster_username: {user}, admin-cluster_password: {user}"
        write(project, f"variables: {{{known}, {used}}}\n")

    account("new:new", "new")
    warnings = proxyctl("plan", "--format", "json").json["instances"][0]["warnings"]
    assert any("loses the account that the peers log in with" in text for text in warnings)
    steps = (("cluster:cluster;new:new", ACCOUNT), ("cluster:cluster;new:new", "new"))
    for step in (*steps, ("new:new", "new")):
        account(*step)
        plan = proxyctl("plan", "--format", "json").json["instances"][0]
        assert not any("account" in text for text in plan["warnings"])
        done = apply()
        assert done.code == 0, done.text
        assert "2 peers follow" in done.out
    write(project, USER.format(10))
    assert apply().code == 0
    assert [hostgroups(one) for one in three] == [{"10"}] * 3
