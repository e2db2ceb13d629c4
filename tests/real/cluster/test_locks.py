"""A native cluster of real ProxySQL: several operators at several members."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.admin.lock import Lock
from proxyctl.admin.login import Login
from tests.real.cluster.files import (
    SERVERS,
    USER,
    apply,
    hostgroups,
    keep_apart,
    name,
    write,
)
from tests.real.cluster.rig import checksums, set_admin, wait_until
from tests.support.cli import Project, proxyctl
from tests.support.servers import ProxySQL

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]


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


def lists(one: ProxySQL, *peers: tuple[str, ProxySQL]) -> None:
    """Let a member list these by these names."""
    run = one.instance.execute
    run("DELETE FROM proxysql_servers")
    for host, peer in peers:
        run(f"INSERT INTO proxysql_servers (hostname, port) VALUES ('{host}', {peer.port})")
    run("LOAD PROXYSQL SERVERS TO RUNTIME")


def test_members_that_list_one_another_by_different_names_are_locked_in_one_order(
    three: list[ProxySQL], project: Project
) -> None:
    """Each lists the other one first, by its name, then the third, then itself."""
    keep_apart(three)
    for one in three:
        set_admin(one, cluster_proxysql_servers_diffs_before_sync=0)
    first, second, third = three
    for one, other in ((first, second), (second, first)):
        lists(one, ("127.0.0.1", other), ("127.1", third), ("localhost", one))
    write(project, USER.format(10))
    command = [sys.executable, "-m", "proxyctl", "apply", "--auto-approve"]
    running = []
    with AdminClient(Login(port=third.port, password="admin")) as client:
        lock = Lock(client, "another apply")
        lock.take(timeout_s=0)
        for one in (first, second):
            said = project.folder / f"said{one.port}"
            with said.open("w") as log:
                process = subprocess.Popen(
                    [*command, "--port", str(one.port)],
                    env={**os.environ, "PROXYCTL_HOST": "127.0.0.1"},
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
            running.append((process, said))
        for _, said in running:
            wait_until(lambda said=said: "waiting for the lock" in said.read_text())
        lock.release()
        for process, said in running:
            assert process.wait(timeout=120) == 0, said.read_text()


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
