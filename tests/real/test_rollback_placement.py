"""A rollback on a Galera cluster: attributes and members go back, and nobody is moved."""

from __future__ import annotations

import time

import pytest

from tests.journeys.layers import in_layers
from tests.journeys.story import applied, plan, rolled_back
from tests.support.cli import Project, proxyctl
from tests.support.galera_family import CHECK_MS, FILES, HOSTS
from tests.support.galera_nodes import GaleraCluster
from tests.support.placement_samples import Sampler, online, placement, settle
from tests.support.servers import ProxySQL
from tests.support.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.alone]


@pytest.fixture
def project(offline: Project, proxysql: ProxySQL) -> Project:
    offline.connect(proxysql.instance)
    return offline


def files(cluster: GaleraCluster, weight: int = 1) -> str:
    return FILES.format(port=cluster.port).replace("{port:", f"{{weight: {weight}, port:")


CONFIGURED = "SELECT hostgroup_id, hostname, weight FROM {}mysql_servers ORDER BY hostname"


def test_attributes_go_back_and_the_placement_stays(
    project: Project, proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    project.write(files(cluster))
    applied()
    settle(proxysql.instance, HOSTS)
    project.write(files(cluster, weight=7))
    applied()
    before = placement(proxysql.instance)
    with Sampler(proxysql.instance) as sampler:
        rolled_back()
        time.sleep(CHECK_MS / 1000 * 1.5)
    sampler.check()
    assert placement(proxysql.instance) == before
    project.write(files(cluster))
    assert plan().code == 0
    layers = in_layers(proxysql.instance, CONFIGURED)
    assert layers["MEMORY"] == layers["DISK"] == [("10", host, "1") for host in HOSTS]


def test_a_snapshot_taken_after_the_monitor_moved_nodes(
    project: Project, proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    """The placement of then is no configuration, and the one of now is kept."""
    project.write(files(cluster))
    applied()
    settle(proxysql.instance, HOSTS)
    writer = next(iter(online(placement(proxysql.instance)[10])))
    cluster.nodes[writer].wsrep_desync = "ON"
    until(lambda: writer in online(placement(proxysql.instance)[40]))
    assert proxyctl("snapshot").code == 0
    assert "No changes" in proxyctl("rollback", "--dry-run").out
    cluster.nodes[writer].wsrep_desync = "OFF"
    settle(proxysql.instance, HOSTS)
    assert "No changes" in proxyctl("rollback", "--dry-run").out
    project.write(files(cluster, weight=3))
    applied()
    rolled_back("2")
    layers = in_layers(proxysql.instance, CONFIGURED)
    assert layers["MEMORY"] == layers["DISK"] == [("10", host, "1") for host in HOSTS]
