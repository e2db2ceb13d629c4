"""A replication family on a real ProxySQL with simulated nodes: an apply makes no second writer."""

from __future__ import annotations

import pytest

from proxyctl.catalog import REFERENCE
from proxyctl.rows.desired import Desired
from tests.real.galera_rig import apply, plan
from tests.support.build import desired
from tests.support.servers.galera_family import HOSTS
from tests.support.servers.galera_nodes import GaleraCluster
from tests.support.servers.instances import ProxySQL
from tests.support.servers.placement_samples import Sampler, online, placement
from tests.support.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.alone]

OLD, NEW = HOSTS[:2]


def files(cluster: GaleraCluster) -> Desired:
    groups = {"writer_hostgroup": 10, "reader_hostgroup": 30}
    nodes = [
        {"hostgroup_id": 10, "hostname": OLD, "port": cluster.port, "weight": 1000},
        {"hostgroup_id": 30, "hostname": NEW, "port": cluster.port},
    ]
    return Desired(
        {
            "mysql_replication_hostgroups": desired("mysql_replication_hostgroups", groups),
            "mysql_servers": desired("mysql_servers", *nodes),
        },
        REFERENCE,
    )


@pytest.mark.parametrize("is_read_only", [True, False])
def test_an_old_master_that_a_failover_removed_enters_as_a_reader(
    proxysql: ProxySQL, cluster: GaleraCluster, is_read_only: bool
) -> None:
    run = proxysql.instance.execute
    cluster.nodes[NEW].read_only = "ON"
    apply(proxysql, files(cluster))
    assert online(placement(proxysql.instance)[10]) == {OLD}

    cluster.nodes[NEW].read_only = "OFF"
    cluster.nodes[OLD].read_only = "ON" if is_read_only else "OFF"
    run(
        "DELETE FROM mysql_servers",
        "INSERT INTO mysql_servers (hostgroup_id, hostname, port)"
        f" VALUES (10, '{NEW}', {cluster.port}), (30, '{NEW}', {cluster.port})",
    )
    proxysql.instance.load("MYSQL SERVERS", saves=True)
    until(lambda: placement(proxysql.instance)[10] == {(NEW, "ONLINE")})

    with Sampler(proxysql.instance) as sampler:
        apply(proxysql, files(cluster))
        if not is_read_only:
            until(lambda: any(online(sample[10]) == {OLD, NEW} for sample in sampler.samples))
        else:
            wait_for_checks(proxysql, OLD)
            assert online(placement(proxysql.instance)[30]) == {OLD, NEW}
    writers = {frozenset(online(sample[10])) for sample in sampler.samples}
    assert writers - {frozenset({OLD, NEW})} == {frozenset({NEW})}
    assert (len(writers) == 1) is is_read_only
    assert plan(proxysql, files(cluster)).is_in_sync


def wait_for_checks(server: ProxySQL, host: str) -> None:
    """Wait until the monitor has checked read_only of a node twice more."""
    sql = f"SELECT count(*) FROM monitor.mysql_server_read_only_log WHERE hostname='{host}'"

    def count() -> int:
        return int(server.instance.query(sql)[0][0] or 0)

    wanted = count() + 2
    until(lambda: count() >= wanted, what="the monitor does not check the node")
