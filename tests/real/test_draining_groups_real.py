"""Nodes of group replication and of Aurora are drained, behind a real ProxySQL."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.admin.nodes import read_nodes
from proxyctl.catalog import REFERENCE
from proxyctl.draining import DrainRequest, drain, restore
from proxyctl.errors import RefusedError
from proxyctl.render.nodes_text import nodes_text
from proxyctl.state import Desired
from tests.real.test_draining_real import rows, until
from tests.real.test_galera_placement import login, plan
from tests.support.build import desired
from tests.support.galera_nodes import GaleraCluster
from tests.support.group_nodes import DOMAIN, AuroraNode, GroupNode
from tests.support.placement_samples import Sampler, online, placement
from tests.support.servers import NO_BINARY, ProxySQL, free_port, proxysql_binary

pytestmark = pytest.mark.real

HOSTS = ["127.0.7.1", "127.0.8.1", "127.0.9.1"]
WRITER, READER, OTHER = HOSTS


@contextmanager
def in_front_of(folder: Path, cluster: GaleraCluster, *statements: str) -> Iterator[ProxySQL]:
    """Start a ProxySQL that has all nodes in the writer hostgroup, and these rows."""
    binary = proxysql_binary()
    if binary is None:
        pytest.skip(NO_BINARY)
    with ProxySQL(binary, folder, monitor=True) as server:
        for sql in (
            "SET mysql-monitor_groupreplication_healthcheck_interval=300",
            "LOAD MYSQL VARIABLES TO RUNTIME",
            *statements,
            *(
                f"INSERT INTO mysql_servers(hostgroup_id, hostname, port)"
                f" VALUES (10, '{host}', {cluster.port})"
                for host in HOSTS
            ),
            "LOAD MYSQL SERVERS TO RUNTIME",
            "SAVE MYSQL SERVERS TO DISK",
        ):
            server.instance.execute(sql)
        yield server


@pytest.fixture
def group() -> Iterator[GaleraCluster]:
    with GaleraCluster(HOSTS, free_port(), GroupNode) as running:
        yield running


@pytest.fixture
def behind_group(tmp_path: Path, group: GaleraCluster) -> Iterator[ProxySQL]:
    """A ProxySQL in front of a group with one primary."""
    for host in (READER, OTHER):
        group.nodes[host].read_only = "ON"
    row = (
        "INSERT INTO mysql_group_replication_hostgroups(writer_hostgroup, backup_writer_hostgroup,"
        " reader_hostgroup, offline_hostgroup) VALUES (10, 20, 30, 40)"
    )
    with in_front_of(tmp_path / "proxysql", group, row) as server:
        until(lambda: places(server, WRITER) == {(10, "ONLINE")})
        until(lambda: places(server, READER) == places(server, OTHER) == {(30, "ONLINE")})
        yield server


def places(server: ProxySQL, host: str) -> set[tuple[int, str]]:
    found = placement(server.instance)
    return {
        (hostgroup, status)
        for hostgroup, there in found.items()
        for name, status in there
        if name == host
    }


def drained(server: ProxySQL, host: str) -> None:
    with AdminClient(login(server)) as client:
        drain(client, DrainRequest(host, who="anna on ops1"))


def restored(server: ProxySQL, host: str) -> None:
    with AdminClient(login(server)) as client:
        assert restore(client, DrainRequest(host)).was_drained


def refusal(server: ProxySQL, host: str) -> str:
    """Try to drain a host, and return why that is refused."""
    with pytest.raises(RefusedError) as refused:
        drained(server, host)
    return "\n".join(refused.value.lines())


def servers(server: ProxySQL) -> list[object]:
    """Return the rows of the servers at RUNTIME and in MEMORY."""
    return [rows(server.instance, name) for name in ("runtime_mysql_servers", "mysql_servers")]


def test_a_secondary_stays_drained_while_it_goes_and_comes(
    behind_group: ProxySQL, group: GaleraCluster
) -> None:
    before = servers(behind_group)
    drained(behind_group, READER)
    assert places(behind_group, READER) == {(30, "OFFLINE_SOFT")}
    node = group.nodes[READER]
    assert isinstance(node, GroupNode)
    node.is_viable = False
    until(lambda: places(behind_group, READER) == {(40, "OFFLINE_SOFT")})
    node.is_viable = True
    until(lambda: places(behind_group, READER) == {(30, "OFFLINE_SOFT")})
    restored(behind_group, READER)
    assert servers(behind_group) == before


def test_a_secondary_that_is_made_primary_writes_only_when_it_is_restored(
    behind_group: ProxySQL, group: GaleraCluster
) -> None:
    drained(behind_group, READER)
    group.nodes[WRITER].read_only, group.nodes[READER].read_only = "ON", "OFF"
    until(lambda: places(behind_group, READER) == {(10, "OFFLINE_SOFT")})
    restored(behind_group, READER)
    assert places(behind_group, READER) == {(10, "ONLINE")}
    until(lambda: places(behind_group, WRITER) == {(30, "ONLINE")})


def test_a_secondary_that_may_write_too_does_not_write_beside_the_primary(
    behind_group: ProxySQL, group: GaleraCluster
) -> None:
    drained(behind_group, READER)
    group.nodes[READER].read_only = "OFF"
    until(lambda: places(behind_group, READER) == {(10, "OFFLINE_SOFT")})
    with Sampler(behind_group.instance) as sampler:
        restored(behind_group, READER)
        time.sleep(1.0)
    assert {frozenset(online(sample[10])) for sample in sampler.samples} == {frozenset({WRITER})}
    assert places(behind_group, READER) == {(20, "ONLINE")}


def test_nobody_writes_while_the_only_primary_is_drained_and_it_is_said(
    behind_group: ProxySQL, group: GaleraCluster
) -> None:
    drained(behind_group, READER)
    group.nodes[WRITER].read_only, group.nodes[READER].read_only = "ON", "OFF"
    until(lambda: places(behind_group, READER) == {(10, "OFFLINE_SOFT")})
    until(lambda: places(behind_group, WRITER) == {(30, "ONLINE")})
    nobody = "nobody takes writes in hostgroup 10"
    with AdminClient(login(behind_group)) as client:
        assert nobody in nodes_text(read_nodes(client))
    same = [{"hostgroup_id": 10, "hostname": host, "port": group.port} for host in HOSTS]
    wanted = Desired({"mysql_servers": desired("mysql_servers", *same)}, REFERENCE)
    (note,) = plan(behind_group, wanted).taken_out
    assert "drained by anna on ops1 since" in note
    assert nobody in note


def test_who_may_write_in_a_group_is_not_drained(
    behind_group: ProxySQL, group: GaleraCluster
) -> None:
    assert "make another member the primary" in refusal(behind_group, WRITER)
    group.nodes[READER].read_only = "OFF"
    until(lambda: {hostgroup for hostgroup, _ in places(behind_group, READER)} <= {10, 20})
    assert "or set super_read_only on this one" in refusal(behind_group, READER)


def test_a_backup_writer_is_drained_while_the_monitor_is_off(
    behind_group: ProxySQL, group: GaleraCluster
) -> None:
    instance = behind_group.instance
    group.nodes[READER].read_only = "OFF"
    until(lambda: len(online(placement(instance)[10])) == len(online(placement(instance)[20])) == 1)
    for sql in ("SET mysql-monitor_enabled='false'", "LOAD MYSQL VARIABLES TO RUNTIME"):
        instance.execute(sql)
    before = placement(instance)
    (writer,), (backup,) = online(before[10]), online(before[20])
    with pytest.raises(RefusedError) as refused:
        drained(behind_group, writer)
    text = "\n".join(refused.value.lines())
    assert "last usable node of hostgroup 10, and the monitor is off" in text
    drained(behind_group, backup)
    assert places(behind_group, backup) == {(20, "OFFLINE_SOFT")}
    restored(behind_group, backup)
    assert placement(instance) == before


def test_a_member_that_nobody_configured_is_not_drained(
    behind_group: ProxySQL, group: GaleraCluster
) -> None:
    instance = behind_group.instance
    instance.execute(f"DELETE FROM mysql_servers WHERE hostname='{OTHER}'")
    assert "put it into mysql_servers first" in refusal(behind_group, OTHER)


def test_a_replica_that_is_promoted_writes_only_when_it_is_restored(tmp_path: Path) -> None:
    row = (
        "INSERT INTO mysql_replication_hostgroups(writer_hostgroup, reader_hostgroup)"
        " VALUES (10, 30)"
    )
    faster = "SET mysql-monitor_read_only_interval=300"
    with GaleraCluster(HOSTS, free_port()) as cluster:
        for host in (READER, OTHER):
            cluster.nodes[host].read_only = "ON"
        load = "LOAD MYSQL VARIABLES TO RUNTIME"
        with in_front_of(tmp_path / "proxysql", cluster, faster, load, row) as server:
            until(lambda: places(server, READER) == places(server, OTHER) == {(30, "ONLINE")})
            drained(server, READER)
            assert places(server, READER) == {(30, "OFFLINE_SOFT")}
            cluster.nodes[WRITER].read_only, cluster.nodes[READER].read_only = "ON", "OFF"
            until(lambda: places(server, WRITER) == {(30, "ONLINE")})
            assert places(server, READER) == {(30, "OFFLINE_SOFT")}
            restored(server, READER)
            until(lambda: (10, "ONLINE") in places(server, READER))


@pytest.fixture
def aurora() -> Iterator[GaleraCluster]:
    with GaleraCluster(HOSTS, free_port(), partial(AuroraNode, writer=WRITER)) as running:
        yield running


@pytest.fixture
def behind_aurora(tmp_path: Path, aurora: GaleraCluster) -> Iterator[ProxySQL]:
    row = (
        "INSERT INTO mysql_aws_aurora_hostgroups(writer_hostgroup, reader_hostgroup, aurora_port,"
        " domain_name, check_interval_ms, check_timeout_ms)"
        f" VALUES (10, 30, {aurora.port}, '{DOMAIN}', 300, 200)"
    )
    with in_front_of(tmp_path / "proxysql", aurora, row) as server:
        until(lambda: places(server, READER) == places(server, OTHER) == {(30, "ONLINE")})
        yield server


def reboots(server: ProxySQL, cluster: GaleraCluster, host: str) -> None:
    """Let the cluster not speak of a host for some checks of the monitor."""
    for is_there in (False, True):
        for node in cluster.nodes.values():
            assert isinstance(node, AuroraNode)
            node.is_reported[host] = is_there
        checked(server)


def checked(server: ProxySQL) -> None:
    """Wait for some more checks of the monitor."""
    sql = "SELECT count(DISTINCT time_start_us) FROM monitor.mysql_server_aws_aurora_log"
    seen = int(server.instance.query(sql)[0][0] or 0)
    until(lambda: int(server.instance.query(sql)[0][0] or 0) >= seen + 4)


def test_a_reader_of_aurora_stays_drained_over_a_reboot(
    behind_aurora: ProxySQL, aurora: GaleraCluster
) -> None:
    instance = behind_aurora.instance
    before = servers(behind_aurora)
    limits = f"SELECT max_connections FROM runtime_mysql_servers WHERE hostname='{READER}'"
    drained(behind_aurora, READER)
    assert instance.query(limits) == [("0",)]
    reboots(behind_aurora, aurora, READER)
    assert instance.query(limits) == [("0",)]
    assert places(behind_aurora, READER) == {(30, "ONLINE")}
    restored(behind_aurora, READER)
    assert servers(behind_aurora) == before


def test_offline_soft_of_a_reader_of_aurora_does_not_outlive_a_reboot(
    behind_aurora: ProxySQL, aurora: GaleraCluster
) -> None:
    """Why it is drained by its limit."""
    for sql in (
        "DELETE FROM mysql_servers",
        "INSERT INTO mysql_servers SELECT * FROM runtime_mysql_servers",
        f"UPDATE mysql_servers SET status='OFFLINE_SOFT' WHERE hostname='{READER}'",
        "LOAD MYSQL SERVERS TO RUNTIME",
    ):
        behind_aurora.instance.execute(sql)
    assert places(behind_aurora, READER) == {(30, "OFFLINE_SOFT")}
    reboots(behind_aurora, aurora, READER)
    until(lambda: places(behind_aurora, READER) == {(30, "ONLINE")})


def test_the_writer_of_aurora_is_not_drained(
    behind_aurora: ProxySQL, aurora: GaleraCluster
) -> None:
    assert "fail over to another instance first" in refusal(behind_aurora, WRITER)
