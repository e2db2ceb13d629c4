"""Drain and restore a node of a Galera family, behind a real ProxySQL with simulated nodes.

Every sample of RUNTIME has one writer that takes connections, and a reader.
"""

from __future__ import annotations

import pytest

from proxyctl.instance.client import AdminClient
from proxyctl.nodes.drain import NodeRequest, drain, restore
from tests.real.galera_rig import checks, limits, login, writer_of
from tests.support.servers.galera_family import HOSTS
from tests.support.servers.galera_nodes import GaleraCluster
from tests.support.servers.instances import Instance, ProxySQL
from tests.support.servers.placement_samples import Sampler, online, placement, settle
from tests.support.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.alone]
LAYERS = ("runtime_mysql_servers", "mysql_servers", "disk.mysql_servers")


def drained(server: ProxySQL, host: str) -> None:
    with AdminClient(login(server)) as client:
        drain(client, NodeRequest(host))


def restored(server: ProxySQL, host: str) -> None:
    with AdminClient(login(server)) as client:
        restore(client, NodeRequest(host))


def rows(instance: Instance, table: str) -> list[tuple[str | None, ...]]:
    return instance.query(f"SELECT * FROM {table} ORDER BY hostgroup_id, hostname")


def reader(server: ProxySQL) -> str:
    return min(online(placement(server.instance)[30]) - {writer_of(server)})


@pytest.mark.parametrize("is_writer", [True, False], ids=["writer", "reader"])
def test_a_node_is_drained_and_comes_back(placed: ProxySQL, is_writer: bool) -> None:
    instance = placed.instance
    before = {table: rows(instance, table) for table in LAYERS}
    old, node = writer_of(placed), writer_of(placed) if is_writer else reader(placed)
    with Sampler(instance, usable=True) as sampler:
        drained(placed, node)
        assert (writer_of(placed) == old) is not is_writer
        assert limits(placed, node) == {("0", "0")}
        for table in LAYERS[1:]:
            assert rows(instance, table) == before[table]
        checks(3.5)
        assert node not in online(placement(instance, usable=True)[10])
        restored(placed, node)
        until(lambda: rows(instance, LAYERS[0]) == before[LAYERS[0]])
    sampler.check()
    assert {table: rows(instance, table) for table in LAYERS} == before


@pytest.mark.parametrize("also_reader", [0, 1])
def test_it_is_the_same_wherever_the_writer_reads(placed: ProxySQL, also_reader: int) -> None:
    instance = placed.instance
    instance.execute(f"UPDATE mysql_galera_hostgroups SET writer_is_also_reader={also_reader}")
    instance.load("MYSQL SERVERS", saves=True)
    before: list[object] = []
    while before[-3:] != [placement(instance)] * 3:
        before.append(placement(instance))
        checks(0.5)
    node = writer_of(placed)
    with Sampler(instance, usable=True) as sampler:
        drained(placed, node)
        checks(2)
        assert writer_of(placed) != node
        restored(placed, node)
        until(lambda: placement(instance) == before[-1])
    assert {len(online(sample[10])) for sample in sampler.samples} == {1}
    if also_reader:
        sampler.check()


def test_it_stays_away_while_another_node_is_desynced(
    placed: ProxySQL, cluster: GaleraCluster
) -> None:
    instance, old = placed.instance, writer_of(placed)
    with Sampler(instance, usable=True) as sampler:
        drained(placed, old)
        other = next(host for host in HOSTS if host not in (old, writer_of(placed)))
        cluster.nodes[other].wsrep_desync = "ON"
        until(lambda: other in online(placement(instance)[40]))
        checks(2)
        assert old not in online(placement(instance, usable=True)[10])
        cluster.nodes[other].wsrep_desync = "OFF"
        until(lambda: other in online(placement(instance)[30]))
        checks(2)
        assert limits(placed, old) == {("0", "0")}
    assert {len(online(sample[10])) for sample in sampler.samples} == {1}


def test_a_load_by_hand_ends_it(placed: ProxySQL) -> None:
    instance, node = placed.instance, writer_of(placed)
    drained(placed, node)
    instance.query("LOAD MYSQL SERVERS TO RUNTIME")
    settle(instance, HOSTS)
    assert ("0", "0") not in limits(placed, node)
