"""A member of a cluster whose clock is ahead: a LOAD elsewhere waits until it is the later one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from proxyctl.sandbox import Sandbox
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

USERS = "version: 1\nmysql_users: [{username: app, password: x, default_hostgroup: 10}]\n"
ACCOUNT = {"admin-cluster_username": "radmin", "admin-cluster_password": "radmin"}


@contextmanager
def beside_one_ahead(offline: Project, ahead_s: float) -> Iterator[tuple[Instance, Instance]]:
    """Yield a sandbox that lists another one, and that one, whose clock is ahead."""
    with (
        Sandbox(variables=ACCOUNT) as here,
        Sandbox(variables=ACCOUNT, clock=lambda: time.time() + ahead_s) as there,
    ):
        instance = Instance("127.0.0.1", here.port)
        for port in (here.port, there.port):
            instance.execute(f"INSERT INTO proxysql_servers VALUES ('127.0.0.1', {port}, 0, '')")
        instance.execute("LOAD PROXYSQL SERVERS TO RUNTIME")
        offline.connect(instance)
        offline.write(USERS)
        other = Instance("127.0.0.1", there.port)
        yield instance, other
        instance.close()
        other.close()


def loaded_at(instance: Instance) -> int:
    question = "SELECT epoch FROM runtime_checksums_values WHERE name='mysql_users'"
    return int(instance.query(question)[0][0] or 0)


def test_the_wait_for_a_clock_that_is_ahead_is_said(offline: Project) -> None:
    with beside_one_ahead(offline, 5) as (instance, there):
        theirs = loaded_at(there)
        done = proxyctl("apply", "--auto-approve", "--peer-timeout", "0")
        assert done.code == 0, done.text
        said = [line for line in done.err.splitlines() if "waiting" in line]
        assert len(said) == 1
        assert said[0].startswith("MYSQL USERS: waiting ")
        assert said[0].endswith(" s: its last LOAD at a member is that far ahead of the clock here")
        assert loaded_at(instance) > theirs


def test_no_wait_is_said_where_clocks_agree(offline: Project) -> None:
    with beside_one_ahead(offline, 0):
        done = proxyctl("apply", "--auto-approve", "--peer-timeout", "0")
        assert done.code == 0, done.text
        assert "waiting" not in done.err


def test_nobody_waits_for_a_clock_that_is_far_ahead(offline: Project) -> None:
    with beside_one_ahead(offline, 100) as (instance, _):
        before = loaded_at(instance)
        done = proxyctl("apply", "--auto-approve", "--peer-timeout", "0")
        assert done.code == 3, done.text
        assert "MYSQL USERS: loaded last by a clock that is " in done.err
        assert loaded_at(instance) == before
