"""The nodes of a cluster stand in two Galera families, and one of them writes in both.

A real ProxySQL with simulated nodes. RUNTIME is sampled: each family always has one writer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from proxyctl.admin.client import AdminClient
from proxyctl.draining import DrainRequest, drain, restore
from proxyctl.state import Desired
from tests.real.galera_rig import cluster, proxysql
from tests.real.test_draining_real import pytestmark, rows, until, writer
from tests.real.test_galera_placement import GROUPS, HOSTS, apply, files, login
from tests.support.build import desired
from tests.support.galera_nodes import GaleraCluster
from tests.support.placement_samples import online, placement
from tests.support.servers import Instance, ProxySQL

__all__ = ["cluster", "proxysql", "pytestmark"]

SECOND = {name: value + 100 if "hostgroup" in name else value for name, value in GROUPS.items()}


def two_families(cluster: GaleraCluster) -> Desired:
    """Return the files of the rig with each node in a second family, too."""
    wanted = files(cluster, HOSTS)
    nodes = [
        {"hostgroup_id": hostgroup, "hostname": host, "port": cluster.port}
        for hostgroup in (10, 110)
        for host in HOSTS
    ]
    tables = {
        "mysql_galera_hostgroups": desired("mysql_galera_hostgroups", GROUPS, SECOND),
        "mysql_servers": desired("mysql_servers", *nodes),
    }
    return replace(wanted, tables={**wanted.tables, **tables})


def serving(instance: Instance, *hostgroups: int) -> list[set[str]]:
    now = placement(instance, usable=True)
    return [online(now.get(hostgroup, set())) for hostgroup in hostgroups]


@contextmanager
def counted_writers(instance: Instance) -> Iterator[set[tuple[int, ...]]]:
    """Yield how many writers each family ever had."""
    found: set[tuple[int, ...]] = set()
    other = Instance(instance.host, instance.port, instance.user, instance.password)
    is_over = threading.Event()

    def sample() -> None:
        while not is_over.is_set():
            found.add(tuple(map(len, serving(other, 10, 110))))
            time.sleep(0.005)

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        yield found
    finally:
        is_over.set()
        sampler.join()
        other.close()


def test_another_node_takes_over_in_both_first(proxysql: ProxySQL, cluster: GaleraCluster) -> None:
    instance = proxysql.instance
    apply(proxysql, two_families(cluster))
    old = writer(proxysql)

    def is_settled() -> bool:
        readers = serving(instance, 30, 130)
        return serving(instance, 10, 110) == [{old}] * 2 and [*map(len, readers)] == [2, 2]

    until(is_settled)
    before = rows(instance, "runtime_mysql_servers")
    said: list[str] = []
    with counted_writers(instance) as counts:
        with AdminClient(login(proxysql)) as client:
            drain(client, DrainRequest(old, progress=said.append))
            ours, theirs = serving(instance, 10, 110)
            assert ours == theirs != {old}
            restore(client, DrainRequest(old))
        until(lambda: rows(instance, "runtime_mysql_servers") == before)
    assert counts == {(1, 1)}
    (successor,) = {text for text in said if text.endswith("writes now")}
    assert successor.count("127.0.1.") == 1
