"""A LOAD of the servers of a Galera cluster at one member: who may write at the others meanwhile.

A member hands SHUNNED on as ONLINE, so that peers have further writers until their monitors' next
check. Real ProxySQL with simulated nodes, RUNTIME of all members looked at all the while.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from tests.real.cluster.files import apply, fleet_of, keep_apart, name, write
from tests.real.cluster.rig import set_admin, wait_until
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.galera_nodes import GaleraCluster
from tests.support.placement_samples import Sampler, online, placement
from tests.support.servers import ProxySQL, free_port

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]

HOSTS = ["127.0.5.1", "127.0.5.2", "127.0.5.3"]
WRITER = HOSTS[-1]
"""The monitor chooses it: among equal weights the greatest name wins."""
CHECK_MS = 4000
FAMILY = (
    "mysql_galera_hostgroups:\n"
    "  - {writer_hostgroup: 10, backup_writer_hostgroup: 20, reader_hostgroup: 30,\n"
    "     offline_hostgroup: 40, writer_is_also_reader: 2}\n"
)


@pytest.fixture
def nodes() -> Iterator[GaleraCluster]:
    with GaleraCluster(HOSTS, free_port()) as running:
        yield running


@pytest.fixture
def settled(three: list[ProxySQL], project: Project, nodes: GaleraCluster) -> list[ProxySQL]:
    """The members, each with a monitor that has placed the nodes. The files are applied."""
    for one in three:
        # Each keeps its own, as the interval of each is what the test is about.
        set_admin(one, cluster_mysql_variables_diffs_before_sync=0)
        for variable, value in {
            "monitor_enabled": "true",
            "monitor_ping_interval": "1000",
            "monitor_galera_healthcheck_interval": str(CHECK_MS),
        }.items():
            one.instance.execute(f"SET mysql-{variable}='{value}'")
        one.instance.execute("LOAD MYSQL VARIABLES TO RUNTIME")
        one.instance.execute("SAVE MYSQL VARIABLES TO DISK")
    write(project, files(nodes))
    done = apply()
    assert done.code == 0, done.text
    wait_until(lambda: all(writers(one) == {WRITER} for one in three))
    wait_until(lambda: all(len(online(placement(one.instance)[30])) == 2 for one in three))
    return three


def files(nodes: GaleraCluster, most: int = 1000) -> str:
    rows = "".join(
        f"  - {{hostgroup_id: 10, hostname: {host}, port: {nodes.port}, max_connections: {most}}}\n"
        for host in HOSTS
    )
    return FAMILY + "mysql_servers:\n" + rows


def writers(one: ProxySQL) -> set[str]:
    return online(placement(one.instance)[10])


def test_a_plan_tells_that_peers_have_further_writers_for_a_while(
    settled: list[ProxySQL], project: Project, nodes: GaleraCluster
) -> None:
    further = ", ".join(f"{host}:{nodes.port}" for host in HOSTS if host != WRITER)
    write(project, files(nodes, most=77))
    assert proxyctl("plan", "--format", "json").json["instances"][0]["warnings"] == [
        f"MYSQL SERVERS: a peer that takes this over has {further} ONLINE in 10 as well, until its"
        " monitor's next check (mysql-monitor_galera_healthcheck_interval, 4000 ms here)"
    ]
    # What loads no servers says nothing of it.
    write(project, files(nodes) + "mysql_users: [{username: a, password: x}]\n")
    assert proxyctl("plan", "--format", "json").json["instances"][0]["warnings"] == []


def test_an_apply_waits_until_the_monitors_of_the_peers_have_placed_the_nodes(
    settled: list[ProxySQL], project: Project, nodes: GaleraCluster
) -> None:
    write(project, files(nodes, most=77))
    with Sampler(settled[0].instance) as here, Sampler(settled[1].instance) as there:
        done = apply()
        at_the_end = [writers(one) for one in settled]
    assert done.code == 0, done.text
    assert at_the_end == [{WRITER}] * 3
    here.check()
    assert max(len(online(sample[10])) for sample in there.samples) == 3


def test_so_does_a_rollback(
    settled: list[ProxySQL], project: Project, nodes: GaleraCluster
) -> None:
    write(project, files(nodes, most=77))
    assert apply().code == 0
    done = proxyctl("rollback", "--auto-approve")
    at_the_end = [writers(one) for one in settled]
    assert done.code == 0, done.text
    assert "ONLINE in 10 as well, until its monitor's next check" in done.out
    assert at_the_end == [{WRITER}] * 3


def test_peers_whose_monitors_have_not_placed_them_in_time_are_named(
    settled: list[ProxySQL], project: Project, nodes: GaleraCluster
) -> None:
    slow = settled[2].instance
    slow.execute("SET mysql-monitor_galera_healthcheck_interval=60000")
    slow.execute("LOAD MYSQL VARIABLES TO RUNTIME")
    write(project, files(nodes, most=77))
    # Its check that is due by the old interval may still come after the LOAD.
    for most in (77, 78):
        write(project, files(nodes, most=most))
        done = apply("--format", "json", "--peer-timeout", str(CHECK_MS // 1000 + 2))
    assert done.code == 4, done.text
    (late,) = [one for one in done.json["peers"] if not one["follows"]]
    assert late["name"] == name(settled[2])
    (reason,) = late["reasons"]
    assert reason["code"] == "placing"
    assert reason["text"] == "3 ONLINE writers in 10, where 1 may be: its monitor places them"


def test_members_that_are_each_changed_by_themselves_never_have_a_second_writer(
    settled: list[ProxySQL], project: Project, nodes: GaleraCluster
) -> None:
    keep_apart(settled)
    for one in settled:
        set_admin(one, cluster_mysql_servers_diffs_before_sync=0)
        one.instance.execute("SAVE ADMIN VARIABLES TO DISK")
    write(project, fleet_of(*settled) + files(nodes, most=77))
    with ExitStack() as stack:
        samplers = [stack.enter_context(Sampler(one.instance)) for one in settled]
        done = proxyctl("apply", "--all", "--auto-approve")
    assert done.code == 0, done.text
    for sampler in samplers:
        sampler.check()
    assert "3 applied: px1, px2, px3" in done.out


@pytest.mark.parametrize("algorithm", [1, 2])
def test_peers_save_the_placement_and_nobody_takes_it_for_a_difference(
    settled: list[ProxySQL], project: Project, nodes: GaleraCluster, algorithm: int
) -> None:
    keep_apart(settled)
    for one in settled:
        set_admin(one, cluster_mysql_servers_sync_algorithm=algorithm)
        one.instance.execute("SAVE ADMIN VARIABLES TO DISK")
    write(project, files(nodes, most=77))
    done = apply()
    assert done.code == 0, done.text
    here, peer, _ = settled
    saved = "SELECT DISTINCT hostgroup_id FROM disk.mysql_servers ORDER BY hostgroup_id"
    assert here.instance.query(saved) == [("10",)]
    assert peer.instance.query(saved) == [("10",), ("20",), ("30",)]
    there = ("--host", "127.0.0.1", "--port", str(peer.port))
    assert "No changes" in proxyctl("plan", *there).out
    assert proxyctl("drift", *there).code == 0


def nodes_command(*arguments: str, at_the_end: list[ProxySQL]) -> tuple[Outcome, list[set[str]]]:
    done = proxyctl("nodes", *arguments)
    return done, [writers(one) for one in at_the_end]


def test_a_drain_and_its_end_wait_for_them_too(
    settled: list[ProxySQL], project: Project, nodes: GaleraCluster
) -> None:
    reader, port = HOSTS[0], nodes.port
    done, now = nodes_command("drain", reader, at_the_end=settled)
    assert done.code == 0, done.text
    assert now == [{WRITER}] * 3
    further = "warning: MYSQL SERVERS: a peer that takes this over has {0} ONLINE in 10 as well"
    assert further.format(f"{HOSTS[1]}:{port}") in done.err
    assert "to choose the writers\n" in done.err

    back, now = nodes_command("restore", reader, at_the_end=settled)
    assert back.code == 0, back.text
    assert now == [{WRITER}] * 3
    assert further.format(f"{reader}:{port}, {HOSTS[1]}:{port}") in back.err
    assert f"{reader}:{port}: 2 peers follow\n" in back.out

    assert proxyctl("nodes", "drain", reader, "--no-wait").code == 0
    back = proxyctl("nodes", "restore", reader, "--format", "json")
    assert set(back.json["back_at"]) == {name(one) for one in settled[1:]}


def test_a_drain_names_peers_whose_monitors_have_not_placed_them_in_time(
    settled: list[ProxySQL], project: Project, nodes: GaleraCluster
) -> None:
    slow = settled[2].instance
    slow.execute("SET mysql-monitor_galera_healthcheck_interval=60000")
    slow.execute("LOAD MYSQL VARIABLES TO RUNTIME")
    # Its check that is due by the old interval may still come after the first LOAD.
    time.sleep(CHECK_MS / 1000)
    late = f"{name(settled[2])} has more ONLINE writers than there may be after 6 s"
    done = proxyctl("nodes", "drain", HOSTS[0], "--timeout", "6")
    assert done.code == 4, done.text
    assert late in done.err
    back = proxyctl("nodes", "restore", HOSTS[0], "--peer-timeout", "6")
    assert back.code == 4, back.text
    assert "is back (drained by" in back.out
    assert late in back.err
    assert proxyctl("nodes", "drain", HOSTS[0], "--no-wait").code == 0
    form = ("--format", "json", "--peer-timeout")
    back = proxyctl("nodes", "restore", HOSTS[0], *form, "6")
    assert back.code == 4, back.text
    assert late in back.json["error"]["message"]
    assert (back.json["format"], back.json["hostname"]) == (1, HOSTS[0])
    assert (back.json["was_drained"], back.json["changed"]) == (True, False)
    assert (back.json["gone"], back.json["unsaved"]) == (False, False)
    assert back.json["drain"]["method"] == "proxysql"
    assert "back_at" not in back.json
    assert proxyctl("nodes", "drain", HOSTS[0], "--no-wait").code == 0
    back = proxyctl("nodes", "restore", HOSTS[0], *form, "0")
    assert (back.code, back.json["back_at"]) == (0, [])


def test_peers_that_still_have_it_drained_are_named(
    settled: list[ProxySQL], project: Project, nodes: GaleraCluster
) -> None:
    keep_apart(settled)
    assert proxyctl("nodes", "drain", HOSTS[0]).code == 0
    set_admin(settled[1], cluster_mysql_servers_diffs_before_sync=0)
    settled[2].stop()
    back = proxyctl("nodes", "restore", HOSTS[0], "--peer-timeout", "10")
    assert back.code == 4, back.text
    assert f"{HOSTS[0]}:{nodes.port} is back (drained by" in back.out
    said = f"{name(settled[1])} takes no servers over from here, and has it drained"
    assert f"{said}: restore it there, too, with --force where it is not on record\n" in back.err
    lost = f"{name(settled[2])} could not be asked, and may have it drained (cannot"
    assert lost in back.err

    again = proxyctl("nodes", "restore", HOSTS[0], "--peer-timeout", "10")
    assert again.code == 4, again.text
    assert again.out == f"{HOSTS[0]}:{nodes.port} is not drained: nothing to do\n"
    assert f"error: {HOSTS[0]}:{nodes.port} is not drained here, but {said}: restore" in again.err
    port = ("--host", "127.0.0.1", "--port", str(settled[1].port))
    assert proxyctl("nodes", "restore", HOSTS[0], *port).code == 3
    there = proxyctl("nodes", "restore", HOSTS[0], *port, "--force", "--peer-timeout", "0")
    assert there.code == 0, there.text
    again = proxyctl("nodes", "restore", HOSTS[0])
    assert again.code == 0, again.text
    assert lost in again.err


def test_weights_that_a_peer_sends_back_while_the_writer_moves_are_not_kept(
    settled: list[ProxySQL], project: Project, nodes: GaleraCluster
) -> None:
    """A member whose monitor is first may do that: then RUNTIME is written into MEMORY and DISK."""
    here = settled[0].instance
    weights = "SELECT DISTINCT weight FROM {0}mysql_servers"

    def follow() -> None:
        wait_until(lambda: here.query(weights.format("runtime_")) != [("1",)])
        here.execute("SAVE MYSQL SERVERS TO MEMORY")
        here.execute("SAVE MYSQL SERVERS TO DISK")

    with ThreadPoolExecutor() as pool:
        followed = pool.submit(follow)
        done = proxyctl("nodes", "drain", WRITER)
        followed.result()
    assert done.code == 0, done.text
    assert here.query(weights.format("")) == here.query(weights.format("disk.")) == [("1",)]
    back = proxyctl("nodes", "restore", WRITER)
    assert back.code == 0, back.text
    assert "changed in the meantime" not in back.out
    for one in settled:
        for layer in ("runtime_", "", "disk."):
            assert one.instance.query(weights.format(layer)) == [("1",)], (one.port, layer)
