"""A status that somebody wrote into MEMORY, where the monitor of a real ProxySQL decides it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.journeys.test_family_status_by_hand import GALERA, GROUP
from tests.real import test_galera_placement
from tests.real.galera_rig import cluster, proxysql
from tests.real.test_draining_groups_real import HOSTS, READER, behind_group, group, places
from tests.real.test_draining_real import until
from tests.support.cli import Project, proxyctl
from tests.support.galera_nodes import GaleraCluster
from tests.support.placement_samples import Placement, Sampler, online, placement
from tests.support.servers import ProxySQL

__all__ = ["behind_group", "cluster", "group", "proxysql"]

pytestmark = pytest.mark.real

SET = "UPDATE mysql_servers SET status='{}' WHERE hostname='{}'"
LOAD = "LOAD MYSQL SERVERS TO RUNTIME"
TOLD = "{} in MEMORY, not on DISK; RUNTIME is as the monitor places it"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    (tmp_path / "files").mkdir()
    return Project(tmp_path / "files", monkeypatch)


def files(hosts: Iterable[str], port: int, family: str, limit: int = 1000) -> str:
    servers = "".join(
        f"  - {{hostgroup_id: 10, hostname: {host}, port: {port}, max_connections: {limit}}}\n"
        for host in hosts
    )
    return f"version: 1\nmysql_servers:\n{servers}{family}"


def statuses(samples: Iterable[Placement], host: str) -> set[tuple[int, str]]:
    """Return every hostgroup and status that a node was seen with."""
    return {
        (hostgroup, status)
        for sample in samples
        for hostgroup, there in sample.items()
        for name, status in there
        if name == host
    }


@pytest.mark.parametrize("status", ["OFFLINE_SOFT", "SHUNNED"])
def test_an_apply_takes_it_to_disk_and_not_to_a_node_of_galera(
    proxysql: ProxySQL, cluster: GaleraCluster, project: Project, status: str
) -> None:
    hosts = test_galera_placement.HOSTS
    project.connect(replace(proxysql.instance, user="radmin", password="radmin"))
    project.write(files(hosts, cluster.port, GALERA))
    assert proxyctl("apply", "--auto-approve").code == 0
    before = placement(proxysql.instance)
    reader = sorted(online(before[30]))[0]
    proxysql.instance.execute(SET.format(status, reader))
    assert TOLD.format(status) in proxyctl("drift").out
    assert TOLD.format(status) in proxyctl("plan").out
    project.write(files(hosts, cluster.port, GALERA, limit=77))
    assert f"(ONLINE -> {status})" in proxyctl("apply", "--auto-approve").err
    with Sampler(proxysql.instance) as sampler:
        assert proxyctl("apply", "--auto-approve", "--include-pending").code == 0
    assert statuses(sampler.samples, reader) == statuses([before], reader)
    saved = f"SELECT status FROM disk.mysql_servers WHERE hostname='{reader}'"
    assert proxysql.instance.query(saved) == [(status,)]


def test_the_monitor_of_group_replication_ends_a_loaded_shunned(
    behind_group: ProxySQL, group: GaleraCluster, project: Project
) -> None:
    instance = behind_group.instance
    project.connect(replace(instance, user="radmin", password="radmin"))
    family = GROUP.replace("also_reader: 2", "also_reader: 0")
    project.write(files(HOSTS, group.port, family))
    assert proxyctl("apply", "--auto-approve").code == 0
    until(lambda: places(behind_group, READER) == {(30, "ONLINE")})
    instance.execute(SET.format("SHUNNED", READER))
    instance.execute(LOAD)
    until(lambda: places(behind_group, READER) == {(30, "ONLINE")})
    # So an apply does not load it at all, and does not wait for it either.
    assert TOLD.format("SHUNNED") in proxyctl("drift").out
    project.write(files(HOSTS, group.port, family, limit=77))
    assert proxyctl("apply", "--auto-approve").code == 3
    with Sampler(instance) as sampler:
        found = proxyctl("apply", "--auto-approve", "--include-pending")
    assert found.code == 0, found.text
    assert statuses(sampler.samples, READER) == {(30, "ONLINE")}
