"""A native cluster of real ProxySQL: a change goes to one member; what becomes of the others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.admin.lock import Lock
from proxyctl.admin.login import Login
from tests.cli import Outcome, Project, proxyctl
from tests.real.cluster_rig import ACCOUNT, checksums, members, other_binary, set_admin, wait_until
from tests.servers import ProxySQL

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]

USER = "mysql_users: [{{username: app, password: x, default_hostgroup: {0}}}]\n"
SERVERS = "mysql_servers: [{hostgroup_id: 1, hostname: a}, {hostgroup_id: 1, hostname: b}]\n"
RULE = "mysql_query_rules: [{{rule_id: 1, match_digest: '^SELECT', destination_hostgroup: {0}}}]\n"


@pytest.fixture
def three(tmp_path: Path) -> Iterator[list[ProxySQL]]:
    with members(tmp_path) as found:
        yield found


@pytest.fixture
def project(three: list[ProxySQL], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Files that are applied at the first member, if nothing else is said."""
    (tmp_path / "files").mkdir()
    found = Project(tmp_path / "files", monkeypatch)
    found.connect(three[0].instance)
    return found


def write(project: Project, text: str) -> None:
    project.write("version: 1\n" + text)


def apply(*arguments: str) -> Outcome:
    return proxyctl("apply", "--auto-approve", *arguments)


def hostgroups(one: ProxySQL, table: str = "mysql_users", layer: str = "runtime_") -> set[Any]:
    column = "default_hostgroup" if table == "mysql_users" else "destination_hostgroup"
    return {row[0] for row in one.instance.query(f"SELECT {column} FROM {layer}{table}")}


def name(one: ProxySQL) -> str:
    return f"127.0.0.1:{one.port}"


def keep_apart(three: list[ProxySQL]) -> None:
    """Let variables of the administration be a member's own."""
    for one in three:
        set_admin(one, cluster_admin_variables_diffs_before_sync=0)
        one.instance.execute("SAVE ADMIN VARIABLES TO DISK")


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


def test_peers_that_do_not_follow_are_named(three: list[ProxySQL], project: Project) -> None:
    keep_apart(three)
    first, second, third = three
    set_admin(second, cluster_mysql_users_diffs_before_sync=0)
    third.stop()
    write(project, USER.format(10) + RULE.format(10))
    done = apply("--peer-timeout", "3", "--format", "json")
    assert done.code == 4, done.text
    assert done.json["applied"] is True
    reasons = {
        peer["name"]: {(one["module"], one["code"]) for one in peer["reasons"]}
        for peer in done.json["peers"]
    }
    assert reasons == {
        name(second): {("MYSQL USERS", "switched_off")},
        name(third): {("MYSQL USERS", "not_reached"), ("MYSQL QUERY RULES", "not_reached")},
    }
    assert f"{name(third)}: no lock there" in done.err
    assert hostgroups(first) == hostgroups(first, layer="disk.") == {"10"}
    assert hostgroups(second, "mysql_query_rules") == {"10"}

    write(project, USER.format(20))
    text = apply("--peer-timeout", "1")
    assert text.code == 4, text.text
    assert (
        f"peer {name(second)} does not follow:\n"
        "  MYSQL USERS: admin-cluster_mysql_users_diffs_before_sync is 0 there; it holds what it"
    ) in text.out
    assert f"  mend that, or apply at {name(second)} as well\n" in text.out
    assert f"peer {name(third)} does not follow:\n  MYSQL USERS: not reached (" in text.out
    third.start()
    wait_until(lambda: hostgroups(third) == {"20"})


def test_a_peer_that_hangs_is_not_waited_for_longer(
    three: list[ProxySQL], project: Project
) -> None:
    keep_apart(three)
    second, third = three[1:]
    set_admin(third, cluster_mysql_users_diffs_before_sync=1000)
    write(project, USER.format(10))
    running = subprocess.Popen(
        [sys.executable, "-m", "proxyctl", "apply", "--auto-approve", "--peer-timeout", "6"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stderr is not None
    try:
        while "waiting for 2 peers" not in (line := running.stderr.readline()):
            assert line, running.communicate()
        began = time.monotonic()
        os.kill(third.pid, signal.SIGSTOP)
        out, err = running.communicate(timeout=120)
        took_s = time.monotonic() - began
    finally:
        os.kill(third.pid, signal.SIGCONT)
    assert running.returncode == 4, out + err
    assert took_s < 30
    assert f"peer {name(third)} does not follow" in out
    assert f"MYSQL USERS: not reached ({name(third)}: no answer within " in out, out
    assert hostgroups(second) == {"10"}


def test_a_peer_that_does_not_save_is_noted(three: list[ProxySQL], project: Project) -> None:
    keep_apart(three)
    set_admin(three[1], cluster_mysql_users_save_to_disk="false")
    write(project, USER.format(10))
    done = apply()
    assert done.code == 0, done.text
    assert f"note: peer {name(three[1])}: MYSQL USERS: admin-cluster_mysql_users_save" in done.out
    assert hostgroups(three[1], layer="disk.") == set()


def test_a_peer_of_another_version_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "files").mkdir()
    project = Project(tmp_path / "files", monkeypatch)
    with members(tmp_path, 1, other=other_binary("2.5")) as (one, other):
        project.connect(one.instance)
        write(project, USER.format(10))
        done = apply("--format", "json")
        assert done.code == 4, done.text
        (peer,) = done.json["peers"]
        assert (peer["name"], [reason["code"] for reason in peer["reasons"]]) == (
            name(other),
            ["other_version"],
        )
        assert "it is ProxySQL 2.5.5" in peer["reasons"][0]["text"]
        assert f"apply at {name(other)} as well" in peer["reasons"][0]["way_out"]
        assert hostgroups(other) == set()
        # The other one holds older content, and takes nothing over: nothing of it is in the way.
        there = apply("--host", "127.0.0.1", "--port", str(other.port))
        assert there.code == 0, there.text
        assert [hostgroups(at) for at in (one, other)] == [{"10"}] * 2
        write(project, USER.format(20) + fleet_of(one, other))
        done = proxyctl("apply", "--all", "--auto-approve")
        assert done.code == 0, done.text
        assert "2 applied" in done.out
        assert [hostgroups(at) for at in (one, other)] == [{"20"}] * 2


def fleet_of(*instances: ProxySQL) -> str:
    rows = (
        f"  - {{name: px{number}, host: 127.0.0.1, port: {one.port}, password: admin}}\n"
        for number, one in enumerate(instances, 1)
    )
    return "instances:\n" + "".join(rows)


def fall_behind(three: list[ProxySQL]) -> None:
    """Load users at the second member that the first one sees, and does not take over yet."""
    first, second, _ = three
    run = second.instance.execute
    run("INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('new','x',30)")
    run("LOAD MYSQL USERS TO RUNTIME")
    loaded = checksums(second)["mysql_users"]
    wait_until(
        lambda: (
            first.instance.query(
                "SELECT checksum FROM stats_proxysql_servers_checksums"
                f" WHERE port={second.port} AND name='mysql_users'"
            )
            == [(loaded[2],)]
        )
    )


def test_a_stale_member_is_not_made_the_newest(three: list[ProxySQL], project: Project) -> None:
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
    assert "would make the old content the newest" in done.err
    assert checksums(three[0])["mysql_users"] == before
    assert hostgroups(three[1]) == {"10", "30"}
    # What is not behind is no reason, and where it is meant the files win everywhere.
    write(project, RULE.format(20))
    assert apply().code == 0
    write(project, USER.format(20))
    forced = apply("--force")
    assert forced.code == 0, forced.text
    assert [hostgroups(one) for one in three] == [{"20"}] * 3


def test_a_member_that_has_just_started_is_not_made_the_newest(
    three: list[ProxySQL], project: Project
) -> None:
    write(project, USER.format(10))
    assert apply().code == 0
    keep_apart(three)
    first = three[0]
    set_admin(first, cluster_mysql_users_diffs_before_sync=1000)
    first.instance.execute("SAVE ADMIN VARIABLES TO DISK")
    first.restart()
    fall_behind(three)
    assert checksums(first)["mysql_users"][0] == 1
    write(project, USER.format(20))
    (refusal,) = proxyctl("plan", "--format", "json").json["instances"][0]["refusals"]
    assert refusal["code"] == "fresh_member"
    assert apply().code == 3
    assert checksums(first)["mysql_users"][0] == 1
    write(project, USER.format(20) + "guards: {fresh_member: warn}\n")
    assert apply().code == 0
    assert [hostgroups(one) for one in three] == [{"20"}] * 3


def test_a_load_is_later_than_the_last_one_at_a_peer(
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


def test_who_is_listed_by_two_addresses_counts_once(
    three: list[ProxySQL], project: Project
) -> None:
    for one in three[:2]:
        three[0].instance.execute(
            f"INSERT INTO proxysql_servers (hostname, port) VALUES ('localhost', {one.port})"
        )
    three[0].instance.execute("LOAD PROXYSQL SERVERS TO RUNTIME")
    write(project, USER.format(10))
    done = apply("--format", "json")
    assert done.code == 0, done.text
    assert [one["name"] for one in done.json["peers"]] == sorted(map(name, three[1:]))


def test_who_is_no_member_any_more_is_named(three: list[ProxySQL], project: Project) -> None:
    listed = "proxysql_servers:\n" + "".join(
        f"  - {{hostname: 127.0.0.1, port: {one.port}}}\n" for one in three[:2]
    )
    write(project, USER.format(10) + listed)
    done = apply()
    assert done.code == 0, done.text
    gone = f"{name(three[2])} is no member any more: not waited for\n"
    assert gone in done.err
    assert f"1 peer follows: {name(three[1])}" in done.out
    write(project, "proxysql_servers: []\n")
    done = apply("--force")
    assert done.code == 0, done.text
    assert f"{name(three[1])} is no member any more: not waited for\n" in done.err


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


def test_the_lock_of_a_peer_is_respected(three: list[ProxySQL], project: Project) -> None:
    write(project, USER.format(10))
    with AdminClient(Login(port=three[1].port, password="admin")) as client:
        lock = Lock(client, "another apply")
        lock.take(timeout_s=0)
        done = apply("--lock-timeout", "0")
        assert done.code == 3, done.text
        assert f"{name(three[1])} is locked: another apply by pid" in done.err
        lock.release()
    assert hostgroups(three[0]) == set()
    assert apply().code == 0
    for one in three:
        assert one.instance.query("SELECT count(*) FROM proxyctl_lock") == [("0",)]


def test_a_drain_takes_the_locks_and_a_later_second(
    three: list[ProxySQL], project: Project
) -> None:
    write(project, SERVERS)
    assert apply().code == 0
    with AdminClient(Login(port=three[1].port, password="admin")) as client:
        lock = Lock(client, "another apply")
        lock.take(timeout_s=0)
        done = proxyctl("nodes", "drain", "a", "--lock-timeout", "0")
        assert done.code == 3, done.text
        lock.release()
    for action, status in (("drain", "OFFLINE_SOFT"), ("restore", "ONLINE")):
        three[2].instance.execute("LOAD MYSQL SERVERS TO RUNTIME")
        epoch = checksums(three[2])["mysql_servers_v2"][1]
        done = proxyctl("nodes", action, "a")
        assert done.code == 0, done.text
        assert checksums(three[0])["mysql_servers_v2"][1] > epoch
        question = "SELECT status FROM runtime_mysql_servers WHERE hostname='a'"
        everywhere = [[(status,)]] * 3
        while [one.instance.query(question) for one in three] != everywhere:
            time.sleep(0.1)


def test_a_stale_member_drains_nothing(three: list[ProxySQL], project: Project) -> None:
    write(project, SERVERS)
    assert apply().code == 0
    keep_apart(three)
    set_admin(three[0], cluster_mysql_servers_diffs_before_sync=1000)
    three[1].instance.execute("UPDATE mysql_servers SET weight=7")
    time.sleep(1.1)  # a LOAD within the second of the last one would be no later one
    three[1].instance.execute("LOAD MYSQL SERVERS TO RUNTIME")
    done = proxyctl("nodes", "drain", "a")
    assert done.code == 3, done.text
    assert f"MYSQL SERVERS: {name(three[1])} was loaded later" in done.err
    weights = "SELECT DISTINCT weight FROM runtime_mysql_servers"
    assert [one.instance.query(weights) for one in three[:2]] == [[("1",)], [("7",)]]


def test_two_applies_at_two_members_at_once(three: list[ProxySQL], project: Project) -> None:
    rule = (
        "mysql_query_rules: [{rule_id: %d, match_digest: '^SELECT %d', destination_hostgroup: 1}]\n"
    )
    scope = "manage: {mysql_query_rules: {rule_id: '%d-%d'}}\n"
    command = [sys.executable, "-m", "proxyctl", "apply", "--auto-approve"]
    for round_ in range(3):
        running = []
        for number, one in enumerate(three[:2]):
            first_id = 100 * (number + 1)
            project.write(
                "version: 1\n"
                + rule % (first_id + round_, round_)
                + scope % (first_id, first_id + 99),
                f"team{number}.yaml",
            )
            running.append(
                subprocess.Popen(
                    [*command, "-f", f"team{number}.yaml", "--port", str(one.port)],
                    env={**os.environ, "PROXYCTL_HOST": "127.0.0.1"},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
            )
        for process in running:
            text, _ = process.communicate(timeout=120)
            assert process.returncode == 0, text
        ids = "SELECT rule_id FROM runtime_mysql_query_rules ORDER BY rule_id"
        wanted = [(str(100 + round_),), (str(200 + round_),)]
        for one in three:
            assert one.instance.query(ids) == wanted
        assert len({checksums(one)["mysql_query_rules"][2] for one in three}) == 1
