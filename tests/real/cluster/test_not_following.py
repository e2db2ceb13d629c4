"""A native cluster of real ProxySQL: who does not follow an apply is named, with the reason."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.admin.connect import Login
from proxyctl.admin.lock import Lock
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
from tests.real.cluster.rig import members, other_binary, set_admin, wait_until
from tests.support.cli import Project, proxyctl
from tests.support.servers import ProxySQL

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]


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


def started(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "proxyctl", "apply", "--auto-approve", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def read_until(text: str, running: subprocess.Popen[str]) -> None:
    assert running.stderr is not None
    while text not in (line := running.stderr.readline()):
        assert line, running.communicate()


def test_a_peer_that_hangs_is_not_waited_for_longer(
    three: list[ProxySQL], project: Project
) -> None:
    keep_apart(three)
    second, third = three[1:]
    set_admin(third, cluster_mysql_users_diffs_before_sync=1000)
    write(project, USER.format(10))
    running = started("--peer-timeout", "6")
    try:
        read_until("waiting for 2 peers", running)
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


def test_a_dead_peer_does_not_follow_back_to_what_it_last_held(
    three: list[ProxySQL], project: Project
) -> None:
    write(project, USER.format(10))
    assert apply().code == 0
    third = three[2]
    third.stop()
    write(project, USER.format(20))
    assert apply("--peer-timeout", "2").code == 4
    write(project, USER.format(10))
    done = apply("--peer-timeout", "2")
    assert done.code == 4, done.text
    assert f"peer {name(third)} does not follow:\n  MYSQL USERS: not reached (" in done.out


def test_a_checksum_that_is_off_is_named(three: list[ProxySQL], project: Project) -> None:
    keep_apart(three)
    set_admin(three[1], checksum_mysql_users="false")
    write(project, USER.format(10))
    done = apply("--peer-timeout", "30")
    assert done.code == 4, done.text
    assert "MYSQL USERS: admin-checksum_mysql_users is false there; it holds" in done.out
    there = ("--host", "127.0.0.1", "--port", str(three[1].port))
    assert (
        "MYSQL USERS: admin-checksum_mysql_users is false here; a peer where it is so as well takes"
    ) in proxyctl("plan", *there).out
    way_out = "admin-checksum_mysql_users: true, admin-cluster_mysql_users_diffs_before_sync: 3"
    write(project, f"variables: {{{way_out}}}\n")
    assert apply(*there, "--peer-timeout", "0").code == 0
    wait_until(lambda: hostgroups(three[1]) == {"10"})


def test_a_peer_that_hangs_when_an_apply_begins(three: list[ProxySQL], project: Project) -> None:
    first, second, third = sorted(three, key=name)
    project.connect(first.instance)
    write(project, USER.format(10))
    os.kill(third.pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        done = apply("--peer-timeout", "2")
        took_s = time.monotonic() - began
    finally:
        os.kill(third.pid, signal.SIGCONT)
    assert done.code == 4, done.text
    assert took_s < 20
    assert f"{name(third)} does not answer yet: 5 s at most\n" in done.err
    assert f"{name(third)}: no lock there (cannot connect to {name(third)}: no answer" in done.err
    assert f"peer {name(third)} does not follow:\n  MYSQL USERS: not reached (" in done.out
    assert hostgroups(second) == {"10"}


def uuid(one: ProxySQL) -> str | None:
    """Return by what a member knows itself: locks are taken in that order."""
    question = "SELECT variable_value FROM disk.global_settings WHERE variable_name='uuid'"
    return one.instance.query(question)[0][0]


def test_a_peer_that_hangs_before_it_is_locked(three: list[ProxySQL], project: Project) -> None:
    """The apply has connected to all and waits for another lock; then the peer stops."""
    first, second, third = sorted(three, key=uuid)
    project.connect(second.instance)
    write(project, USER.format(10))
    with AdminClient(Login(port=first.port, password="admin")) as client:
        lock = Lock(client, "another apply")
        lock.take(timeout_s=0)
        running = started("--peer-timeout", "2")
        try:
            read_until("waiting for the lock", running)
            os.kill(third.pid, signal.SIGSTOP)
            lock.release()
            began = time.monotonic()
            out, err = running.communicate(timeout=300)
            took_s = time.monotonic() - began
        finally:
            os.kill(third.pid, signal.SIGCONT)
    assert running.returncode == 4, out + err
    assert took_s < 30
    assert f"{name(third)} does not answer yet: 5 s at most\n" in err
    assert f"{name(third)}: no lock there ({name(third)}: no answer within 5 s" in err
    assert hostgroups(first) == {"10"}


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
