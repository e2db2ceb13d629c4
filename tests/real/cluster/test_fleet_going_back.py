"""apply --all where the members of a cluster go back, or one of them is left out."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from proxyctl.sandbox import Sandbox
from tests.journeys.test_fleet import lock
from tests.real.cluster.files import USER, fleet_of, hostgroups, keep_apart, name
from tests.real.cluster.rig import set_admin, wait_until
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.servers import ProxySQL

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]

JOB = "scheduler: [{{id: 1, interval_ms: 60000, filename: /bin/job{0}}}]\n"
OFF = {"cluster_mysql_users_diffs_before_sync": 0}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    (tmp_path / "files").mkdir()
    return Project(tmp_path / "files", monkeypatch)


def apply_all(*arguments: str) -> Outcome:
    return proxyctl("apply", "--all", "--auto-approve", "--force", *arguments)


def fail_at_the_last(project: Project, instances: str, text: str, *arguments: str) -> Outcome:
    """Apply to a cluster, and then to an instance whose lock somebody holds."""
    with Sandbox() as alone:
        last = f"  - {{name: alone, host: 127.0.0.1, port: {alone.port}, password: admin}}\n"
        lock(alone.port)
        project.write("version: 1\n" + instances + last + text)
        return apply_all("--rollback-on-failure", "--lock-timeout", "0", *arguments)


def users_then(text: str) -> tuple[str, str]:
    return USER.format(10) + text.format(10), USER.format(20) + text.format(20)


@pytest.mark.parametrize("beside", ["", JOB])
def test_those_that_followed_go_back_by_following(
    three: list[ProxySQL], project: Project, beside: str
) -> None:
    before, after = users_then(beside)
    project.write("version: 1\n" + fleet_of(*three) + before)
    assert apply_all("--settle", "0").code == 0
    done = fail_at_the_last(project, fleet_of(*three), after, "--settle", "0", "--peer-timeout=0")
    assert done.code == 4, done.text
    assert "; 3 rolled back: px1, px2, px3.\n" in done.out
    assert "follow" not in done.out.splitlines()[-1]
    assert [hostgroups(one) for one in three] == [{"10"}] * 3


def test_so_does_one_that_is_reached_by_a_socket(
    three: list[ProxySQL], project: Project, tmp_path: Path
) -> None:
    keep_apart(three)
    socket = tmp_path / "s"
    set_admin(three[1], mysql_ifaces=f"127.0.0.1:{three[1].port};{socket}")
    wait_until(socket.exists)
    address = f"host: 127.0.0.1, port: {three[1].port},"
    listed = fleet_of(*three).replace(address, f"socket: {socket},")
    project.write("version: 1\n" + listed + USER.format(10))
    assert apply_all("--settle", "0").code == 0
    done = fail_at_the_last(project, listed, USER.format(20), "--settle", "0")
    assert done.code == 4, done.text
    assert "; 3 rolled back: px1, px2, px3.\n" in done.out
    assert [hostgroups(one) for one in three] == [{"10"}] * 3


@pytest.mark.parametrize("beside", ["", JOB])
def test_one_that_does_not_is_named(
    three: list[ProxySQL], project: Project, monkeypatch: pytest.MonkeyPatch, beside: str
) -> None:
    before, after = users_then(beside)
    project.write("version: 1\n" + fleet_of(*three) + before)
    assert apply_all("--settle", "0").code == 0
    keep_apart(three)
    sleep = time.sleep

    def switch_off_and_sleep(seconds: float) -> None:
        if hostgroups(three[2]) == {"20"}:
            set_admin(three[2], **OFF)
        sleep(seconds)

    monkeypatch.setattr(time, "sleep", switch_off_and_sleep)
    done = fail_at_the_last(project, fleet_of(*three), after, "--settle", "1")
    assert done.code == 4, done.text
    assert "; 2 rolled back: px1, px2; 1 not rolled back: px3.\n" in done.out
    assert (
        f"px3  {name(three[2])}: not rolled back\n"
        f"  peer {name(three[2])} does not follow:\n"
        "  MYSQL USERS: admin-cluster_mysql_users_diffs_before_sync is 0 there;"
    ) in done.out
    assert [hostgroups(one) for one in three] == [{"10"}, {"10"}, {"20"}]


def test_the_way_back_takes_the_locks_with_the_accounts_of_the_fleet(
    three: list[ProxySQL], project: Project
) -> None:
    keep_apart(three)
    set_admin(three[1], admin_credentials="cluster:cluster;theirs:own")
    listed = fleet_of(*three).replace(
        f"port: {three[1].port}, password: admin",
        f"port: {three[1].port}, user: theirs, password: own",
    )
    project.write("version: 1\n" + listed + USER.format(10))
    assert apply_all("--settle", "0").code == 0
    done = fail_at_the_last(project, listed, USER.format(20), "--settle", "0")
    assert "; 3 rolled back: px1, px2, px3.\n" in done.out, done.text
    assert "no lock there" not in done.err


def test_nobody_goes_back_because_of_a_member_that_is_left_out(
    three: list[ProxySQL], project: Project
) -> None:
    three[2].stop()
    project.write("version: 1\n" + fleet_of(*three) + USER.format(10))
    done = apply_all(
        *("--skip-unreachable", "--rollback-on-failure", "--settle", "0", "--peer-timeout", "2")
    )
    assert done.code == 4, done.text
    assert done.out.endswith("1 applied: px1; 1 followed: px2; 1 not read: px3.\n")
    assert [hostgroups(one) for one in three[:2]] == [{"10"}] * 2


def test_one_that_is_done_goes_back_also_where_its_lock_is_gone_before_the_peers_follow(
    three: list[ProxySQL], project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("version: 1\n" + fleet_of(*three) + USER.format(10))
    assert apply_all("--settle", "0").code == 0
    keep_apart(three)
    sleep, unlocked = time.sleep, list[ProxySQL]()

    def unlock_and_sleep(seconds: float) -> None:
        # Once: the way back has a lock of its own.
        if not unlocked and hostgroups(three[0]) == {"20"}:
            unlocked.append(three[0])
            set_admin(three[2], cluster_check_interval_ms=60_000)
            three[0].instance.execute("DROP TABLE IF EXISTS proxyctl_lock")
        sleep(seconds)

    monkeypatch.setattr(time, "sleep", unlock_and_sleep)
    project.write("version: 1\n" + fleet_of(*three) + USER.format(20))
    done = apply_all("--rollback-on-failure", "--settle", "0")
    assert done.code == 4, done.text
    assert "applied and read back, but then: " in done.text
    assert " rolled back: px1" in done.out
    assert hostgroups(three[0]) == {"10"}


@pytest.mark.parametrize(
    ("beside", "last", "note"),
    [
        ("", "2 followed: px2, px3", ""),
        (JOB, "2 not touched: px2, px3", "note: it has taken over what px1 was loaded with"),
    ],
)
def test_those_that_followed_one_that_died_are_named(
    three: list[ProxySQL],
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    beside: str,
    last: str,
    note: str,
) -> None:
    """It dies while it is waited for its peers: nobody comes to those, and they hold the change."""
    before, after = users_then(beside)
    project.write("version: 1\n" + fleet_of(*three) + before)
    assert apply_all("--settle", "0").code == 0
    sleep = time.sleep

    def stop_and_sleep(seconds: float) -> None:
        if stops and hostgroups(three[0]) == {"20"}:
            while not {"20"} == hostgroups(three[1]) == hostgroups(three[2]):
                sleep(0.1)
            stops.pop().stop()
        sleep(seconds)

    stops = three[:1]
    monkeypatch.setattr(time, "sleep", stop_and_sleep)
    project.write("version: 1\n" + fleet_of(*three) + after)
    done = apply_all("--settle", "0")
    assert done.code == 4, done.text
    states = done.out.splitlines()[-1].removesuffix(".").partition(": ")[2].split("; ")
    assert sorted(states) == sorted(["1 failed: px1", last])
    assert done.out.count("  note: ") == (2 if note else 0)
    assert note in done.out


def test_what_one_apply_notes_is_said(three: list[ProxySQL], project: Project) -> None:
    """Here of a member that is no instance of the fleet."""
    keep_apart(three)
    set_admin(three[2], cluster_mysql_users_save_to_disk="false")
    project.write("version: 1\n" + fleet_of(*three[:2]) + USER.format(10))
    done = apply_all("--settle", "0")
    assert done.code == 0, done.text
    assert (
        f"px1  {name(three[0])}: applied\n"
        f"  note: peer {name(three[2])}: MYSQL USERS: admin-cluster_mysql_users_save_to_disk is"
        " false there: not saved"
    ) in done.out
    project.write("version: 1\n" + fleet_of(*three[:2]) + USER.format(20))
    px1, px2 = apply_all("--settle", "0", "--format", "json").json["instances"]
    assert [len(px1["notes"]), px2["notes"]] == [1, []]
