"""What the doctor says of Galera nodes that are out of service, and who took them out."""

from __future__ import annotations

import time

from proxyctl.admin.client import AdminClient
from proxyctl.admin.nodes import read_wsrep
from proxyctl.doctor.examination import examine
from proxyctl.drains import DrainMethod
from proxyctl.examining import read_facts_for_doctor
from tests.real.test_drained_guard_real import cluster, drained_reader, proxysql, pytestmark
from tests.real.test_galera_placement import login
from tests.support.galera_nodes import GaleraCluster
from tests.support.placement_samples import online, placement
from tests.support.servers import ProxySQL, free_port

__all__ = ["cluster", "proxysql", "pytestmark"]


def kept_out(server: ProxySQL, code: str = "node-kept-out") -> list[str]:
    with AdminClient(login(server)) as client:
        found = examine(read_facts_for_doctor(client, asks=False)).findings
    return sorted(f"{one.where}: {one.message}" for one in found if one.code == code)


def until_offline(server: ProxySQL, host: str) -> None:
    for _ in range(300):
        if host in online(placement(server.instance)[40]):
            return
        time.sleep(0.05)
    raise AssertionError("the monitor did not take it out")


def test_a_node_that_desynced_or_is_in_maintenance_is_said_with_the_reason(
    proxysql: ProxySQL,
    cluster: GaleraCluster,
) -> None:
    assert kept_out(proxysql) == []
    first, second = sorted(online(placement(proxysql.instance)[30]))
    cluster.nodes[first].wsrep_desync = "ON"
    until_offline(proxysql, first)
    said = "the monitor keeps it in the offline hostgroup 40"
    assert kept_out(proxysql) == [f"{first}:{cluster.port}: {said}: desynced"]
    cluster.nodes[second].pxc_maint_mode = "MAINTENANCE"
    until_offline(proxysql, second)
    assert kept_out(proxysql)[1:] == [f"{second}:{cluster.port}: {said}: in maintenance"]


def test_a_node_that_proxyctl_put_into_maintenance_is_no_surprise(
    proxysql: ProxySQL,
    cluster: GaleraCluster,
) -> None:
    drained_reader(proxysql, DrainMethod.PXC_MAINT_MODE)
    assert kept_out(proxysql) == []


def test_a_writer_outside_of_the_primary_component_that_stays_the_writer(
    proxysql: ProxySQL,
    cluster: GaleraCluster,
) -> None:
    """With no other one in the primary component the monitor leaves the last writer ONLINE."""
    (writer,) = online(placement(proxysql.instance)[10])
    for node in cluster.nodes.values():
        node.wsrep_cluster_status = "non-Primary"
    for host in sorted(online(placement(proxysql.instance)[30])):
        until_offline(proxysql, host)
    for _ in range(300):
        found = kept_out(proxysql, "node-not-primary")
        if found:
            break
        time.sleep(0.05)
    assert found == [
        f"{writer}:{cluster.port}: it is ONLINE in hostgroup 10, and at its last check it was"
        " outside of the primary component: queries fail there"
    ]
    assert len(kept_out(proxysql)) == 2
    for node in cluster.nodes.values():
        node.wsrep_cluster_status = "Primary"
    for _ in range(300):
        if not kept_out(proxysql, "node-not-primary"):
            break
        time.sleep(0.05)
    assert kept_out(proxysql, "node-not-primary") == []


def test_a_check_that_failed_says_nothing_about_the_primary_component(
    proxysql: ProxySQL,
    cluster: GaleraCluster,
) -> None:
    """ProxySQL logs such a check as one that found every state bad."""
    instance, nobody = proxysql.instance, free_port()
    instance.execute(
        "INSERT INTO mysql_servers (hostgroup_id, hostname, port)"
        f" VALUES (10, '127.0.0.1', {nobody})"
    )
    instance.execute("LOAD MYSQL SERVERS TO RUNTIME")
    log = f"FROM monitor.mysql_server_galera_log WHERE port={nobody} AND error IS NOT NULL"
    for _ in range(300):
        if instance.query(f"SELECT primary_partition {log} LIMIT 1") == [("NO",)]:
            break
        assert kept_out(proxysql, "node-not-primary") == []
        time.sleep(0.05)
    assert kept_out(proxysql, "node-not-primary") == []
    with AdminClient(login(proxysql)) as client:
        assert ("127.0.0.1", nobody) not in read_wsrep(client)
