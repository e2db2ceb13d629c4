"""What a drain leaves that was killed half-way, and who puts it right."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.admin.drains import record_drain
from proxyctl.admin.lock import Lock
from proxyctl.admin.login import Login
from proxyctl.admin.read import TableReader, read_layouts
from proxyctl.leftovers import as_on_record
from proxyctl.state import Layer
from tests.faults.proxy import FaultyProxy
from tests.journeys.drained_servers import FILES, drained, layer, servers, statuses
from tests.journeys.layers import in_layers
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

__all__ = ["servers"]


def test_what_a_dead_drain_left_in_memory_is_put_right(servers: Instance) -> None:
    before = layer(servers, "mysql_servers")
    die_half_way(servers)
    assert layer(servers, "mysql_servers") != before
    said = proxyctl("nodes", "restore", "db2")
    assert said.code == 0, said.text
    assert layer(servers, "mysql_servers") == before
    assert statuses(servers, "db2") == {"ONLINE"}
    assert proxyctl("plan", "--detailed-exitcode").code == 0


def test_a_dead_drain_is_finished_by_a_second_one(servers: Instance) -> None:
    before = layer(servers, "mysql_servers")
    die_half_way(servers)
    drained("db2")
    assert layer(servers, "mysql_servers") == before
    assert statuses(servers, "db2") == {"OFFLINE_SOFT"}
    assert proxyctl("nodes", "restore", "db2").code == 0
    assert proxyctl("plan", "--detailed-exitcode").code == 0


def die_half_way(instance: Instance, host: str = "db2", *, loads: bool = True) -> None:
    """Leave what a drain leaves that is killed after its LOAD: its rows in MEMORY, and its lock.

    `loads` False: it was killed just before.
    """
    login = Login(instance.host, instance.port, instance.user, instance.password)
    with AdminClient(login) as client:
        lock = Lock(client, f"nodes drain {host}")
        lock.take(timeout_s=5)
        layout = read_layouts(client)["mysql_servers"]
        memory = TableReader(client).read(layout, Layer.MEMORY)
        record_drain(client, (host, 3306), "anna on ops1", "", memory)
        lock.mark("staging MEMORY", ("MYSQL SERVERS", as_on_record((host, 3306))))
    instance.execute(f"UPDATE mysql_servers SET status='OFFLINE_SOFT' WHERE hostname='{host}'")
    if loads:
        instance.execute("LOAD MYSQL SERVERS TO RUNTIME")
    instance.execute("UPDATE proxyctl_lock SET expires=0")


def test_one_that_dies_beside_an_older_one_does_not_bring_back_what_was_there_then(
    servers: Instance, project: Project
) -> None:
    """The record of the older one has the weight that an apply has changed since."""
    more = FILES + "  - {hostgroup_id: 10, hostname: db4}\n"
    project.write(more)
    assert proxyctl("apply", "--auto-approve").code == 0
    die_half_way(servers, "db2")
    for command in ("drain", "restore"):
        assert proxyctl("nodes", command, "db4").code == 0
    project.write(more.replace("weight: 5", "weight: 77"))
    assert proxyctl("apply", "--auto-approve").code == 0
    before = layer(servers, "mysql_servers")
    die_half_way(servers, "db4", loads=False)
    assert proxyctl("nodes", "restore", "db4").code == 0
    assert layer(servers, "mysql_servers") == before
    assert statuses(servers, "db2") == {"OFFLINE_SOFT"}
    assert proxyctl("plan", "--detailed-exitcode").code == 0


@pytest.mark.parametrize(
    "when", ["staging MEMORY", "LOAD MYSQL SERVERS TO RUNTIME", "DELETE FROM proxyctl_drains"]
)
@pytest.mark.parametrize("command", ["drain", "restore"])
def test_a_restore_that_was_killed_is_finished_by_either_command(
    servers: Instance, when: str, command: str
) -> None:
    before = layer(servers, "mysql_servers")
    drained("db2", "--reason", "new disks")
    killed_at(servers, when, "nodes", "restore", "db2")
    done = proxyctl("nodes", command, "db2")
    assert done.code == 0, done.text
    assert layer(servers, "mysql_servers") == before
    assert statuses(servers, "db2") == {"ONLINE" if command == "restore" else "OFFLINE_SOFT"}
    assert proxyctl("nodes", "restore", "db2").code == 0
    assert "on record" not in proxyctl("nodes", "list", "--no-ask").out
    assert proxyctl("plan", "--detailed-exitcode").code == 0


def killed_at(instance: Instance, when: str, *arguments: str) -> None:
    """Kill a command once a statement with this text was carried out."""
    with FaultyProxy(instance.host, instance.port) as proxy:
        process = subprocess.Popen(
            [sys.executable, "-m", "proxyctl", *arguments],
            env={**os.environ, "PROXYCTL_PORT": str(proxy.port)},
        )

        def kill(_connection: int, sql: str, _answer: bytes) -> None:
            if when in sql:
                process.kill()
                process.wait()

        proxy.watch = kill
        process.wait()
    assert process.returncode == -signal.SIGKILL


def test_an_apply_that_ends_a_half_drain_leaves_no_record_of_it(
    servers: Instance, project: Project
) -> None:
    die_half_way(servers)
    for sql in (
        "UPDATE mysql_servers SET status='ONLINE', weight=2 WHERE hostname='db2'",
        "LOAD MYSQL SERVERS TO RUNTIME",
    ):
        servers.execute(sql)
    assert "half drained" in proxyctl("nodes", "list", "--no-ask").out
    assert proxyctl("apply", "--auto-approve").code == 0
    assert "drained" not in proxyctl("nodes", "list", "--no-ask").out
    assert proxyctl("drift").code == 0


def test_whoever_is_told_of_a_half_drain_is_told_the_way_out(
    servers: Instance, project: Project
) -> None:
    """Also where an apply has put MEMORY right since, and RUNTIME has it drained."""
    die_half_way(servers)
    project.write(FILES.replace("weight: 5", "weight: 6"))
    assert proxyctl("apply", "--auto-approve").code == 0
    assert statuses(servers, "db2") == {"OFFLINE_SOFT"}
    for command in (("drift",), ("plan",), ("nodes", "list", "--no-ask")):
        said = " ".join(proxyctl(*command).out.split())
        assert "half drained by anna on ops1" in said, command
        assert "proxyctl nodes restore db2:3306" in said, command
    assert proxyctl("nodes", "restore", "db2:3306").code == 0
    assert "half drained" not in proxyctl("drift").out
    drained("db2")
    assert "nodes restore" not in proxyctl("drift").out


def test_a_restore_that_was_killed_at_its_very_end_holds_nobody_up(servers: Instance) -> None:
    before = layer(servers, "mysql_servers")
    drained("db2")
    killed_at(servers, "DELETE FROM proxyctl_drains", "nodes", "restore", "db2")
    for node in ("db2", "db1"):
        for command in ("drain", "restore"):
            done = proxyctl("nodes", command, node, "--force")
            assert done.code == 0, done.text
    assert layer(servers, "mysql_servers") == before


def test_an_apply_ends_what_a_drain_staged_that_was_killed(servers: Instance) -> None:
    """The files say no status: the one that is in MEMORY then is nobody's decision."""
    before = layer(servers, "mysql_servers")
    killed_at(servers, "OFFLINE_SOFT", "nodes", "drain", "db2")
    assert layer(servers, "mysql_servers") != before
    assert "OFFLINE_SOFT -> ONLINE" in proxyctl("plan").out
    assert "OFFLINE_SOFT, as it was staged; the files do not say it" in proxyctl("drift").out
    assert proxyctl("apply", "--auto-approve").code == 0
    assert layer(servers, "mysql_servers") == before
    assert proxyctl("nodes", "restore", "db2").code == 0
    assert proxyctl("plan", "--detailed-exitcode").code == 0


@pytest.mark.parametrize("when", ["SET status='OFFLINE_SOFT'", "LOAD MYSQL SERVERS TO RUNTIME"])
@pytest.mark.parametrize(
    "change",
    [
        FILES.replace("weight: 5", "weight: 77"),
        "manage: {mysql_servers: {hostname: db1}}\n"
        "mysql_servers: [{hostgroup_id: 10, hostname: db1, weight: 77}]\n",
        "mysql_hostgroup_attributes: [{hostgroup_id: 10, max_num_online_servers: 9}]\n",
    ],
    ids=["of all servers", "of other servers", "of no server"],
)
def test_an_apply_that_was_killed_beside_a_drained_node_is_finished_by_the_next(
    servers: Instance, project: Project, change: str, when: str
) -> None:
    """It had staged that the node stays drained, which is nobody's decision for good."""
    drained("db2")
    project.write(change if change.startswith("version") else f"version: 1\n{change}")
    killed_at(servers, when, "apply", "--auto-approve")
    assert proxyctl("nodes", "restore", "db2").code == 3
    done = proxyctl("apply", "--auto-approve")
    assert done.code == 0, done.text
    assert statuses(servers, "db2") == {"OFFLINE_SOFT"}
    held = in_layers(servers, "SELECT DISTINCT status FROM {}mysql_servers")
    assert held["MEMORY"] == held["DISK"] == [("ONLINE",)]
    assert proxyctl("nodes", "restore", "db2").code == 0
    assert statuses(servers, "db2") == {"ONLINE"}
    assert proxyctl("plan", "--detailed-exitcode").code == 0


def test_so_is_one_beside_a_drained_node_that_a_failover_had_moved(
    project: Project, instance: Instance
) -> None:
    """RUNTIME has it in another hostgroup than MEMORY, and the files say nothing of it."""
    project.connect(instance)
    insert = "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES"
    for sql in (
        "SET mysql-monitor_enabled='true'",
        "LOAD MYSQL VARIABLES TO RUNTIME",
        "INSERT INTO mysql_replication_hostgroups VALUES (10, 20, 'read_only', '')",
        f"{insert} (10, 'db2'), (20, 'db1'), (20, 'db3')",
        "LOAD MYSQL SERVERS TO RUNTIME",
        "DELETE FROM mysql_servers",
        f"{insert} (10, 'db1'), (20, 'db2'), (20, 'db3')",
        "SAVE MYSQL SERVERS TO DISK",
    ):
        instance.execute(sql)
    files = "version: 1\nmanage: {{mysql_servers: {{hostgroup_id: [1]}}}}\n" + (
        "mysql_servers: [{{hostgroup_id: 1, hostname: plain, weight: {0}}}]\n"
    )
    project.write(files.format(1))
    assert proxyctl("apply", "--auto-approve").code == 0
    drained("db1")
    project.write(files.format(7))
    killed_at(instance, "LOAD MYSQL SERVERS TO RUNTIME", "apply", "--auto-approve")
    done = proxyctl("apply", "--auto-approve")
    assert done.code == 0, done.text
    held = in_layers(instance, "SELECT DISTINCT status FROM {}mysql_servers")
    assert held["MEMORY"] == held["DISK"] == [("ONLINE",)]
    assert proxyctl("nodes", "restore", "db1").code == 0
    assert statuses(instance, "db1") == {"ONLINE"}
