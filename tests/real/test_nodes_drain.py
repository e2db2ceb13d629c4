"""A node of a Galera family is drained and restored, behind a real ProxySQL with simulated nodes.

RUNTIME is sampled all the while: always one writer that takes connections, always a reader.
"""

from __future__ import annotations

import time

import pytest

from proxyctl.instance.client import AdminClient
from proxyctl.nodes.drain import DrainRequest, drain, restore
from tests.real.galera_rig import apply, files, limits, login
from tests.support.galera_family import CHECK_MS, HOSTS
from tests.support.galera_nodes import GaleraCluster
from tests.support.placement_samples import Sampler, online, placement, settle
from tests.support.servers import Instance, ProxySQL
from tests.support.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.alone]
LAYERS = ("runtime_mysql_servers", "mysql_servers", "disk.mysql_servers")


@pytest.fixture
def proxysql(proxysql: ProxySQL, cluster: GaleraCluster) -> ProxySQL:
    """A ProxySQL that has placed the nodes of the files."""
    apply(proxysql, files(cluster, HOSTS))
    settle(proxysql.instance, HOSTS)
    return proxysql


def drained(server: ProxySQL, host: str) -> None:
    with AdminClient(login(server)) as client:
        drain(client, DrainRequest(host))


def restored(server: ProxySQL, host: str) -> None:
    with AdminClient(login(server)) as client:
        restore(client, DrainRequest(host))


def rows(instance: Instance, table: str) -> list[tuple[str | None, ...]]:
    return instance.query(f"SELECT * FROM {table} ORDER BY hostgroup_id, hostname")


def writer(server: ProxySQL) -> str:
    (found,) = online(placement(server.instance)[10])
    return found


def reader(server: ProxySQL) -> str:
    return min(online(placement(server.instance)[30]) - {writer(server)})


def checks(count: float) -> None:
    """Let the monitor check the nodes so many times."""
    time.sleep(CHECK_MS / 1000 * count)


@pytest.mark.parametrize("is_writer", [True, False], ids=["writer", "reader"])
def test_a_node_is_drained_and_comes_back(proxysql: ProxySQL, is_writer: bool) -> None:
    instance = proxysql.instance
    before = {table: rows(instance, table) for table in LAYERS}
    old, node = writer(proxysql), writer(proxysql) if is_writer else reader(proxysql)
    with Sampler(instance, usable=True) as sampler:
        drained(proxysql, node)
        assert (writer(proxysql) == old) is not is_writer
        assert limits(proxysql, node) == {("0", "0")}
        for table in LAYERS[1:]:
            assert rows(instance, table) == before[table]
        checks(3.5)
        assert node not in online(placement(instance, usable=True)[10])
        restored(proxysql, node)
        until(lambda: rows(instance, LAYERS[0]) == before[LAYERS[0]])
    sampler.check()
    assert {table: rows(instance, table) for table in LAYERS} == before


@pytest.mark.parametrize("also_reader", [0, 1])
def test_it_is_the_same_wherever_the_writer_reads(proxysql: ProxySQL, also_reader: int) -> None:
    instance = proxysql.instance
    for sql in (
        f"UPDATE mysql_galera_hostgroups SET writer_is_also_reader={also_reader}",
        "LOAD MYSQL SERVERS TO RUNTIME",
        "SAVE MYSQL SERVERS TO DISK",
    ):
        instance.query(sql)
    before: list[object] = []
    while before[-3:] != [placement(instance)] * 3:
        before.append(placement(instance))
        checks(0.5)
    node = writer(proxysql)
    with Sampler(instance, usable=True) as sampler:
        drained(proxysql, node)
        checks(2)
        assert writer(proxysql) != node
        restored(proxysql, node)
        until(lambda: placement(instance) == before[-1])
    assert {len(online(sample[10])) for sample in sampler.samples} == {1}
    if also_reader:
        sampler.check()


def test_it_stays_away_while_another_node_is_desynced(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    instance, old = proxysql.instance, writer(proxysql)
    with Sampler(instance, usable=True) as sampler:
        drained(proxysql, old)
        other = next(host for host in HOSTS if host not in (old, writer(proxysql)))
        cluster.nodes[other].wsrep_desync = "ON"
        until(lambda: other in online(placement(instance)[40]))
        checks(2)
        assert old not in online(placement(instance, usable=True)[10])
        cluster.nodes[other].wsrep_desync = "OFF"
        until(lambda: other in online(placement(instance)[30]))
        checks(2)
        assert limits(proxysql, old) == {("0", "0")}
    assert {len(online(sample[10])) for sample in sampler.samples} == {1}


def test_a_load_by_hand_ends_it(proxysql: ProxySQL) -> None:
    instance, node = proxysql.instance, writer(proxysql)
    drained(proxysql, node)
    instance.query("LOAD MYSQL SERVERS TO RUNTIME")
    settle(instance, HOSTS)
    assert ("0", "0") not in limits(proxysql, node)
