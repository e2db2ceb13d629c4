"""A LOAD of MYSQL SERVERS keeps the placement: seen on a real ProxySQL with simulated nodes.

RUNTIME is sampled all the while: never two writers, never an empty reader hostgroup.
"""

from __future__ import annotations

import time

import pytest

from proxyctl.apply.run import ApplyOptions
from proxyctl.plan.drift import pattern_of
from tests.real.galera_rig import apply, files, plan, with_rule
from tests.support.galera_family import CHECK_MS, HOSTS
from tests.support.galera_nodes import GaleraCluster
from tests.support.placement_samples import Sampler, online, placement, settle
from tests.support.servers import ProxySQL
from tests.support.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.alone]


def test_an_attribute_is_applied_without_a_second_writer_or_an_empty_reader(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    apply(proxysql, files(cluster, HOSTS))
    settle(proxysql.instance, HOSTS)
    assert plan(proxysql, files(cluster, HOSTS)).is_in_sync
    before = placement(proxysql.instance)

    changed = files(cluster, HOSTS, **{HOSTS[0]: {"max_connections": 77}})
    assert not plan(proxysql, changed).is_in_sync
    with Sampler(proxysql.instance) as sampler:
        apply(proxysql, changed)
        time.sleep(CHECK_MS / 1000 * 1.5)
    sampler.check()
    assert placement(proxysql.instance) == before
    assert plan(proxysql, changed).is_in_sync
    saved = proxysql.instance.query(
        "SELECT hostgroup_id, hostname, max_connections FROM disk.mysql_servers ORDER BY hostname"
    )
    assert saved == [("10", HOSTS[0], "77"), ("10", HOSTS[1], "1000"), ("10", HOSTS[2], "1000")]


def test_a_new_node_enters_without_being_a_second_writer(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    apply(proxysql, files(cluster, HOSTS))
    settle(proxysql.instance, HOSTS)
    more = [*HOSTS, "127.0.1.4"]
    # The higher host name wins among equal weights: give the writer a weight so that it stays.
    writer = next(iter(online(placement(proxysql.instance)[10])))
    heavy = files(cluster, HOSTS, **{writer: {"weight": 1000}})
    apply(proxysql, heavy)
    with Sampler(proxysql.instance) as sampler:
        apply(proxysql, files(cluster, more, **{writer: {"weight": 1000}}))
        settle(proxysql.instance, more)
    sampler.check()
    assert plan(proxysql, files(cluster, more, **{writer: {"weight": 1000}})).is_in_sync


def test_without_the_account_of_the_monitor_all_write_until_the_third_check_fails(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    run = proxysql.instance.execute
    run(
        "UPDATE global_variables SET variable_value='wrong'"
        " WHERE variable_name='mysql-monitor_password'"
    )
    run("LOAD MYSQL VARIABLES TO RUNTIME")
    apply(proxysql, files(cluster, HOSTS))
    assert online(placement(proxysql.instance)[10]) == {*HOSTS}
    until(lambda: online(placement(proxysql.instance)[40]) == {*HOSTS})
    checks = proxysql.instance.query(
        "SELECT hostname, count(*) FROM monitor.mysql_server_galera_log"
        " WHERE error LIKE '%Access denied%' GROUP BY hostname"
    )
    assert {host for host, count in checks if int(count or 0) >= 3} == {*HOSTS}


def test_moves_of_the_monitor_are_no_drift(proxysql: ProxySQL, cluster: GaleraCluster) -> None:
    wanted = files(cluster, HOSTS)
    apply(proxysql, wanted)
    settle(proxysql.instance, HOSTS)
    writer = next(iter(online(placement(proxysql.instance)[10])))
    cluster.nodes[writer].wsrep_desync = "ON"
    until(lambda: writer in online(placement(proxysql.instance)[40]))
    assert writer not in online(placement(proxysql.instance)[10])
    assert plan(proxysql, wanted).is_in_sync


def test_a_move_of_the_monitor_that_was_saved_is_drift(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    wanted = files(cluster, HOSTS)
    apply(proxysql, wanted)
    settle(proxysql.instance, HOSTS)
    for layer, pattern in (("MEMORY", "memory"), ("DISK", "not_loaded")):
        proxysql.instance.execute(f"SAVE MYSQL SERVERS TO {layer}")
        found = [change for module in plan(proxysql, wanted).modules for change in module.changes]
        assert {pattern_of(change).name for change in found} == {pattern}


def test_a_node_in_maintenance_is_no_drift_and_stays_out_of_the_way_of_an_apply(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    apply(proxysql, files(cluster, HOSTS))
    settle(proxysql.instance, HOSTS)
    reader, other = sorted(online(placement(proxysql.instance)[30]))
    cluster.nodes[reader].pxc_maint_mode = "MAINTENANCE"
    until(lambda: (reader, "SHUNNED") in placement(proxysql.instance)[30])
    assert plan(proxysql, files(cluster, HOSTS)).is_in_sync

    changed = files(cluster, HOSTS, **{other: {"max_connections": 66}})
    with Sampler(proxysql.instance) as sampler:
        apply(proxysql, changed)
        time.sleep(CHECK_MS / 1000 * 1.5)
    sampler.check()
    assert reader not in {host for sample in sampler.samples for host in online(sample[30])}
    assert plan(proxysql, changed).is_in_sync

    cluster.nodes[reader].pxc_maint_mode = "DISABLED"
    settle(proxysql.instance, HOSTS)
    assert plan(proxysql, changed).is_in_sync


def test_when_the_writer_leaves_another_takes_its_place_at_once(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    apply(proxysql, files(cluster, HOSTS))
    settle(proxysql.instance, HOSTS)
    writer = next(iter(online(placement(proxysql.instance)[10])))
    rest = [host for host in HOSTS if host != writer]
    with Sampler(proxysql.instance) as sampler:
        apply(proxysql, files(cluster, rest))
        at_once = placement(proxysql.instance)
        time.sleep(CHECK_MS / 1000 * 1.5)
    sampler.check()
    assert writer not in {host for found in at_once.values() for host, _ in found}
    assert placement(proxysql.instance) == at_once
    assert plan(proxysql, files(cluster, rest)).is_in_sync


@pytest.mark.parametrize("load", [1, 2], ids=["before the first LOAD", "before the second"])
def test_a_writer_that_fails_while_an_apply_runs_stays_out(
    load: int, proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    """The monitor moves it after the apply has read where the nodes stand."""
    writer, heir, _ = HOSTS
    weights = {writer: {"weight": 1000}, heir: {"weight": 900}}
    alone = "127.0.1.4"
    before = files(cluster, [*HOSTS, alone], **weights, **{alone: {"hostgroup_id": 50}})
    apply(proxysql, with_rule(before, 50))
    settle(proxysql.instance, HOSTS)
    assert online(placement(proxysql.instance)[10]) == {writer}
    loads = []

    def fail(progress: str) -> None:
        loads.append(progress == "LOAD MYSQL SERVERS TO RUNTIME")
        if loads[-1] and sum(loads) == load:
            cluster.nodes[writer].wsrep_desync = "ON"
            until(lambda: online(placement(proxysql.instance)[10]) == {heir})

    changed = files(cluster, HOSTS, **{**weights, heir: {"weight": 900, "max_connections": 77}})
    changed = with_rule(changed, 10)
    with Sampler(proxysql.instance) as sampler:
        apply(proxysql, changed, ApplyOptions(progress=fail))
        time.sleep(CHECK_MS / 1000 * 1.5)
    assert sum(loads) == 2
    sampler.check()
    writers = [online(sample[10]) for sample in sampler.samples]
    assert writers[writers.index({heir}) :].count({writer}) == 0
    assert plan(proxysql, changed).is_in_sync


def test_all_nodes_are_replaced_in_two_steps(proxysql: ProxySQL, cluster: GaleraCluster) -> None:
    old, new = HOSTS[:2], [HOSTS[2], "127.0.1.4"]
    apply(proxysql, files(cluster, old))
    settle(proxysql.instance, old)
    refusals = plan(proxysql, files(cluster, new)).refusals
    assert {refusal.code for refusal in refusals} == {"empty_hostgroup"}
    for refusal in refusals:
        assert "add the new nodes in one apply and remove the old ones in the next" in (
            refusal.fix or ""
        )

    # The new ones weigh less, so that none of them becomes the writer before the old ones leave.
    light = {host: {"weight": 1} for host in new}
    heavy = {host: {"weight": 100} for host in old}
    with Sampler(proxysql.instance) as sampler:
        apply(proxysql, files(cluster, [*old, *new], **heavy, **light))
        settle(proxysql.instance, [*old, *new])
        apply(proxysql, files(cluster, new, **light))
        time.sleep(CHECK_MS / 1000 * 1.5)
    sampler.check()
    assert plan(proxysql, files(cluster, new, **light)).is_in_sync


def test_a_node_that_waits_nowhere_but_as_writer_does_not_become_a_second_one(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    """When the writer changes, the monitor may leave a node so until its next check."""
    apply(proxysql, files(cluster, HOSTS))
    settle(proxysql.instance, HOSTS)
    waiting, reader = sorted(online(placement(proxysql.instance)[30]))
    changed = files(cluster, HOSTS, **{reader: {"max_connections": 77}})
    run = proxysql.instance.execute
    run("DELETE FROM mysql_servers")
    run("INSERT INTO mysql_servers SELECT * FROM runtime_mysql_servers")
    run(f"DELETE FROM mysql_servers WHERE hostname='{waiting}' AND hostgroup_id<>10")
    with Sampler(proxysql.instance) as sampler:
        run("LOAD MYSQL SERVERS TO RUNTIME")
        run("LOAD MYSQL SERVERS FROM DISK")
        apply(proxysql, changed)
        settle(proxysql.instance, HOSTS)
    sampler.check()
    assert any((waiting, "SHUNNED") in s[10] and not s[40] for s in sampler.samples)
    assert plan(proxysql, changed).is_in_sync
