"""The monitor moves nodes while an apply of several LOADs runs, or while it is put back."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise

import pytest

from proxyctl.apply.execute import apply_plan
from proxyctl.apply.run import ApplyOptions
from proxyctl.errors import ApplyError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.lock import Lock
from proxyctl.plan.inspect import inspect, look_at
from proxyctl.plan.make import PlanOptions, make
from proxyctl.state.row import Desired
from tests.real.galera_rig import GROUPS, files, login, plan, with_rule
from tests.support.build import desired
from tests.support.galera_family import CHECK_MS, HOSTS
from tests.support.galera_nodes import GaleraCluster
from tests.support.placement_samples import Placement, Sampler, online, placement, settle
from tests.support.servers import ProxySQL
from tests.support.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.alone]

LOAD = "LOAD MYSQL SERVERS TO RUNTIME"
ALONE = "127.0.1.4"
SECOND = {
    "writer_hostgroup": 60,
    "backup_writer_hostgroup": 61,
    "reader_hostgroup": 62,
    "offline_hostgroup": 63,
    "max_writers": 3,
}


def with_second(
    wanted: Desired, cluster: GaleraCluster, hosts: list[str], first: dict[str, int]
) -> Desired:
    """Add the rows of another Galera family with these nodes; `first` is that of the others."""
    servers = wanted.tables["mysql_servers"].rows.values()
    second = [{"hostgroup_id": 60, "hostname": host, "port": cluster.port} for host in hosts]
    writers = [
        {"hostgroup_id": first["writer_hostgroup"], "hostname": row[1], "port": cluster.port}
        for row in servers
    ]
    tables = {
        **wanted.tables,
        "mysql_galera_hostgroups": desired("mysql_galera_hostgroups", first, SECOND),
        "mysql_servers": desired("mysql_servers", *writers, *second),
    }
    return replace(wanted, tables=tables)


def apply(server: ProxySQL, wanted: Desired, options: ApplyOptions | None = None) -> list[str]:
    """Apply without guards; return what was said on the way."""
    said: list[str] = []
    options = options or ApplyOptions()

    def say(progress: str) -> None:
        said.append(progress)
        options.progress(progress)

    with AdminClient(login(server)) as client:
        lock = Lock(client, "apply")
        lock.take(timeout_s=5)
        current = inspect(client, wanted, look_at(client))
        found = make(wanted, current, PlanOptions(force=True))
        try:
            apply_plan(client, found, lock, replace(options, progress=say))
        finally:
            lock.release()
    return said


def writers_in(samples: list[Placement], hostgroup: int = 10) -> list[set[str]]:
    """Return who could write, each time that this changed."""
    found = [online(sample.get(hostgroup, set())) for sample in samples]
    return found[:1] + [now for before, now in pairwise(found) if now != before]


def test_a_new_cluster_is_placed_once(proxysql: ProxySQL, cluster: GaleraCluster) -> None:
    """Its monitor begins with the first LOAD; the second, without the old server, leaves it so."""
    old = {"hostgroup_id": 50, "hostname": ALONE, "port": cluster.port}
    nodes = [{"hostgroup_id": 10, "hostname": host, "port": cluster.port} for host in HOSTS]
    wanted = with_rule(files(cluster, HOSTS), 10)
    before = {
        **wanted.tables,
        "mysql_galera_hostgroups": desired("mysql_galera_hostgroups"),
        "mysql_servers": desired("mysql_servers", *nodes, old),
    }
    apply(proxysql, with_rule(replace(wanted, tables=before), 50))
    loads = []

    def wait(progress: str) -> None:
        loads.append(progress == LOAD)
        if loads[-1] and sum(loads) == 2:
            settle(proxysql.instance, HOSTS)

    with Sampler(proxysql.instance) as sampler:
        apply(proxysql, wanted, ApplyOptions(progress=wait))
        time.sleep(CHECK_MS / 1000 * 1.5)
    assert sum(loads) == 2
    everyone, *then = writers_in(sampler.samples)
    assert everyone == {*HOSTS}
    assert [len(writers) for writers in then] == [1]
    assert plan(proxysql, wanted).is_in_sync


def test_a_writer_hostgroup_of_another_number_has_a_writer_at_once(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    """No monitor knows the cluster by that number yet, though one is at another cluster."""
    before = with_second(files(cluster, HOSTS), cluster, [ALONE], GROUPS)
    apply(proxysql, before)
    settle(proxysql.instance, HOSTS)
    wanted = with_second(
        files(cluster, HOSTS), cluster, [ALONE], {**GROUPS, "writer_hostgroup": 11}
    )
    with Sampler(proxysql.instance) as sampler:
        said = apply(proxysql, wanted)
        until(lambda: len(online(placement(proxysql.instance).get(11, set()))) == 1)
    assert not any("again" in one for one in said)
    assert all(online(sample[10] | sample.get(11, set())) for sample in sampler.samples)


def test_a_node_that_leaves_one_of_two_clusters_serves_until_the_rules_have_changed(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    before = with_second(files(cluster, HOSTS), cluster, [ALONE, HOSTS[2]], GROUPS)
    apply(proxysql, with_rule(before, 60))
    until(lambda: len(online(placement(proxysql.instance)[30])) == 2)
    seen = []

    def look(progress: str) -> None:
        if progress == "LOAD MYSQL QUERY RULES TO RUNTIME":
            seen.append(online(placement(proxysql.instance)[60]))

    wanted = with_second(files(cluster, HOSTS), cluster, [ALONE], GROUPS)
    apply(proxysql, with_rule(wanted, 30), ApplyOptions(progress=look))
    assert seen == [{ALONE, HOSTS[2]}]
    assert online(placement(proxysql.instance)[60]) == {ALONE}


def test_nobody_has_moved_where_nobody_has(proxysql: ProxySQL, cluster: GaleraCluster) -> None:
    """A reader that leaves stands in more hostgroups than the rules use."""
    heavy = {HOSTS[2]: {"weight": 1000}}
    apply(proxysql, with_rule(files(cluster, HOSTS, **heavy), 10))
    settle(proxysql.instance, HOSTS)
    said = apply(proxysql, with_rule(files(cluster, HOSTS[1:], **heavy), 10, "^SELECT 1"))
    assert said.count(LOAD) == 2
    assert not any("again" in one for one in said)


def test_a_writer_that_fails_before_it_is_put_back_stays_out(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    writer, heir, _ = HOSTS
    weights = {writer: {"weight": 1000}, heir: {"weight": 900}}
    before = with_rule(files(cluster, HOSTS, **weights), 30)
    apply(proxysql, before)
    settle(proxysql.instance, HOSTS)
    said = []

    def fail(progress: str) -> None:
        said.append(progress)
        if progress == "MYSQL SERVERS: restore RUNTIME":
            cluster.nodes[writer].wsrep_desync = "ON"
            until(lambda: online(placement(proxysql.instance)[10]) == {heir})
        if progress == "LOAD MYSQL QUERY RULES TO RUNTIME":
            raise KeyboardInterrupt

    changed = files(cluster, HOSTS, **{**weights, heir: {"weight": 900, "max_connections": 77}})
    with Sampler(proxysql.instance) as sampler:
        with pytest.raises(ApplyError, match="interrupted"):
            apply(proxysql, with_rule(changed, 30, "^SELECT 1"), ApplyOptions(progress=fail))
        time.sleep(CHECK_MS / 1000 * 1.5)
    assert "MYSQL SERVERS: restore RUNTIME" in said
    assert writers_in(sampler.samples) == [{writer}, {heir}]
    assert plan(proxysql, before).is_in_sync
