"""mysql-threads and mysql-interfaces of a peer that wait for its restart, while it follows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.faults.proxy import FaultyProxy
from tests.real.cluster.files import apply, name, write
from tests.real.cluster.rig import wait_until
from tests.support.cli import Project
from tests.support.servers import ProxySQL

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]

LIMIT = "variables: {{mysql-max_connections: {0}}}\n"
RUNNING, WAITING = "4", "7"
ADDRESS = "127.0.0.1:6099"
APPLY = [sys.executable, "-m", "proxyctl", "apply", "--auto-approve"]


@pytest.fixture
def peer(three: list[ProxySQL], project: Project) -> ProxySQL:
    """A peer whose threads are to be others after its restart."""
    write(project, LIMIT.format(1000))
    assert apply().code == 0
    peer = three[2]
    assert held(peer) == (RUNNING, RUNNING)
    peer.instance.execute(f"SET mysql-threads={WAITING}")
    peer.instance.execute("SAVE MYSQL VARIABLES TO DISK")
    return peer


def held(one: ProxySQL, named: str = "mysql-threads") -> tuple[str | None, str | None]:
    """Return what MEMORY and DISK have of a variable."""
    (memory,), (disk,) = (
        one.instance.query(
            f"SELECT variable_value FROM {schema}.global_variables WHERE variable_name='{named}'"
        )[0]
        for schema in ("main", "disk")
    )
    return memory, disk


def limit(one: ProxySQL) -> str | None:
    return one.instance.query(
        "SELECT variable_value FROM runtime_global_variables"
        " WHERE variable_name='mysql-max_connections'"
    )[0][0]


def test_they_are_put_back_when_it_has_followed(
    three: list[ProxySQL], project: Project, peer: ProxySQL
) -> None:
    peer.instance.execute(f"SET mysql-interfaces='{ADDRESS}'")
    peer.instance.execute("SAVE MYSQL VARIABLES TO DISK")
    write(project, LIMIT.format(2000))
    done = apply()
    assert done.code == 0, done.text
    assert (
        f"note: peer {name(peer)}: MYSQL VARIABLES: put back there, for its next restart:"
        " mysql-interfaces, mysql-threads\n"
    ) in done.out
    assert limit(peer) == "2000"
    assert held(peer) == (WAITING, WAITING)
    assert held(peer, "mysql-interfaces") == (ADDRESS, ADDRESS)
    assert held(three[1]) == (RUNNING, RUNNING)


def test_also_after_a_load_there_which_leaves_them_on_disk_only(
    three: list[ProxySQL], project: Project, peer: ProxySQL
) -> None:
    peer.instance.execute("LOAD MYSQL VARIABLES TO RUNTIME")
    assert held(peer) == (RUNNING, WAITING)
    write(project, LIMIT.format(2000))
    done = apply()
    assert done.code == 0, done.text
    assert held(peer)[1] == WAITING


def test_where_it_is_not_waited_for_they_are_named(
    three: list[ProxySQL], project: Project, peer: ProxySQL
) -> None:
    write(project, LIMIT.format(2000))
    done = apply("--peer-timeout", "0")
    assert done.code == 0, done.text
    assert (
        f"note: {name(peer)}: mysql-threads there waits for a restart, and is gone when the peer"
        " takes MYSQL VARIABLES over: set it there again\n"
    ) in done.out
    wait_until(lambda: held(peer) == (RUNNING, RUNNING))


GONE = (
    "mysql-threads there waits for a restart, and is gone when the peer takes MYSQL VARIABLES over"
)


def test_they_are_named_where_the_wait_is_interrupted(project: Project, peer: ProxySQL) -> None:
    write(project, LIMIT.format(2000))
    said = ""
    with subprocess.Popen(
        APPLY, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        for line in process.stderr or ():
            said += line
            if "waiting for" in line:
                process.send_signal(signal.SIGINT)
    assert process.returncode == 130
    assert f"{name(peer)}: {GONE}: set it there again\n" in said, said


def test_they_are_named_where_all_is_restored(
    three: list[ProxySQL], project: Project, peer: ProxySQL
) -> None:
    """The peer may have taken over by then what was loaded first."""
    write(project, LIMIT.format(2000) + "mysql_users: [{username: app, password: x}]\n")
    here = three[0].instance
    with FaultyProxy(here.host, here.port) as proxy:
        environment = {**os.environ, "PROXYCTL_PORT": str(proxy.port)}
        process = subprocess.Popen(
            APPLY, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )

        def interrupt(_connection: int, sql: str, _answer: bytes) -> None:
            if sql == "LOAD MYSQL VARIABLES TO RUNTIME":
                process.send_signal(signal.SIGINT)

        proxy.watch = interrupt
        _, said = process.communicate()
    assert process.returncode == 130
    assert "restored" in said
    assert f"{name(peer)}: {GONE}: set it there again\n" in said, said


def test_where_nothing_is_taken_over_nothing_is_said_of_them(
    three: list[ProxySQL], project: Project, peer: ProxySQL
) -> None:
    write(project, "mysql_users: [{username: app, password: x}]\n")
    done = apply()
    assert done.code == 0, done.text
    assert "restart" not in done.text
    assert held(peer) == (WAITING, WAITING)
