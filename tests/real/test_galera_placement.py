"""A LOAD of MYSQL SERVERS keeps the placement, on a real ProxySQL with simulated nodes.

Samples of RUNTIME never show two writers or an empty reader hostgroup.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from proxyctl.errors import ApplyError
from proxyctl.instance.authentication import NO_TRUST
from proxyctl.instance.backend import ask_nodes, monitor_account
from proxyctl.instance.client import AdminClient
from proxyctl.nodes.list import read_nodes, with_answers
from proxyctl.nodes.model import NodeGroup
from proxyctl.plan.drift import pattern_of
from proxyctl.render.nodes import nodes_text
from proxyctl.rows.desired import Desired
from tests.real.galera_rig import GROUPS, apply, checks, files, login, plan, with_rule, writer_of
from tests.support.build import desired
from tests.support.servers.galera_family import HOSTS
from tests.support.servers.galera_nodes import GaleraCluster
from tests.support.servers.instances import ProxySQL
from tests.support.servers.placement_samples import Placement, Sampler, online, placement, settle
from tests.support.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.alone]


def test_an_attribute_is_applied_without_a_second_writer_or_an_empty_reader(
    placed: ProxySQL, cluster: GaleraCluster
) -> None:
    assert plan(placed, files(cluster, HOSTS)).is_in_sync
    before = placement(placed.instance)

    changed = files(cluster, HOSTS, **{HOSTS[0]: {"max_connections": 77}})
    assert not plan(placed, changed).is_in_sync
    with Sampler(placed.instance) as sampler:
        apply(placed, changed)
        checks(1.5)
    sampler.check()
    assert placement(placed.instance) == before
    assert plan(placed, changed).is_in_sync
    saved = placed.instance.query(
        "SELECT hostgroup_id, hostname, max_connections FROM disk.mysql_servers ORDER BY hostname"
    )
    assert saved == [("10", HOSTS[0], "77"), ("10", HOSTS[1], "1000"), ("10", HOSTS[2], "1000")]


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


def test_moves_of_the_monitor_are_no_drift(placed: ProxySQL, cluster: GaleraCluster) -> None:
    writer = writer_of(placed)
    cluster.nodes[writer].wsrep_desync = "ON"
    until(lambda: writer in online(placement(placed.instance)[40]))
    assert writer not in online(placement(placed.instance)[10])
    assert plan(placed, files(cluster, HOSTS)).is_in_sync


def test_a_move_of_the_monitor_that_was_saved_is_drift(
    placed: ProxySQL, cluster: GaleraCluster
) -> None:
    for layer, pattern in (("MEMORY", "memory"), ("DISK", "not_loaded")):
        placed.instance.execute(f"SAVE MYSQL SERVERS TO {layer}")
        modules = plan(placed, files(cluster, HOSTS)).modules
        found = {pattern_of(change).name for module in modules for change in module.changes}
        assert found == {pattern}


def test_a_node_in_maintenance_is_no_drift_and_stays_out_of_the_way_of_an_apply(
    placed: ProxySQL, cluster: GaleraCluster
) -> None:
    reader, other = sorted(online(placement(placed.instance)[30]))
    cluster.nodes[reader].pxc_maint_mode = "MAINTENANCE"
    until(lambda: (reader, "SHUNNED") in placement(placed.instance)[30])
    assert plan(placed, files(cluster, HOSTS)).is_in_sync

    changed = files(cluster, HOSTS, **{other: {"max_connections": 66}})
    with Sampler(placed.instance) as sampler:
        apply(placed, changed)
        checks(1.5)
    sampler.check()
    assert reader not in {host for sample in sampler.samples for host in online(sample[30])}
    assert plan(placed, changed).is_in_sync

    cluster.nodes[reader].pxc_maint_mode = "DISABLED"
    settle(placed.instance, HOSTS)
    assert plan(placed, changed).is_in_sync


def test_when_the_writer_leaves_another_takes_its_place_at_once(
    placed: ProxySQL, cluster: GaleraCluster
) -> None:
    writer = writer_of(placed)
    rest = [host for host in HOSTS if host != writer]
    with Sampler(placed.instance) as sampler:
        apply(placed, files(cluster, rest))
        at_once = placement(placed.instance)
        checks(1.5)
    sampler.check()
    assert writer not in {host for servers in at_once.values() for host, _ in servers}
    assert placement(placed.instance) == at_once
    assert plan(placed, files(cluster, rest)).is_in_sync


@pytest.mark.parametrize("load", [1, 2], ids=["before the first LOAD", "before the second"])
def test_a_writer_that_fails_while_an_apply_runs_stays_out(
    load: int, proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    """The monitor moves the writer after the apply has read the placement."""
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
        apply(proxysql, changed, fail)
        checks(1.5)
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
        checks(1.5)
    sampler.check()
    assert plan(proxysql, files(cluster, new, **light)).is_in_sync


def test_a_node_that_waits_nowhere_but_as_writer_does_not_become_a_second_one(
    placed: ProxySQL, cluster: GaleraCluster
) -> None:
    """When the writer changes, the monitor may leave a node in this state until its next check."""
    waiting, reader = sorted(online(placement(placed.instance)[30]))
    changed = files(cluster, HOSTS, **{reader: {"max_connections": 77}})
    run = placed.instance.execute
    run("DELETE FROM mysql_servers")
    run("INSERT INTO mysql_servers SELECT * FROM runtime_mysql_servers")
    run(f"DELETE FROM mysql_servers WHERE hostname='{waiting}' AND hostgroup_id<>10")
    with Sampler(placed.instance) as sampler:
        run("LOAD MYSQL SERVERS TO RUNTIME")
        run("LOAD MYSQL SERVERS FROM DISK")
        apply(placed, changed)
        settle(placed.instance, HOSTS)
    sampler.check()
    assert any((waiting, "SHUNNED") in s[10] and not s[40] for s in sampler.samples)
    assert plan(placed, changed).is_in_sync


# -- while an apply of several LOADs runs, or is put back ------------------------------------------

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
    """Add the rows of another Galera family with these nodes; `first` is the other family."""
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


def writers_in(samples: list[Placement], hostgroup: int = 10) -> list[set[str]]:
    """Return the sets of writers, one for each change."""
    found = [online(sample.get(hostgroup, set())) for sample in samples]
    return found[:1] + [now for before, now in pairwise(found) if now != before]


def test_a_new_cluster_is_placed_once(proxysql: ProxySQL, cluster: GaleraCluster) -> None:
    """The monitor starts with the first LOAD; the second, without the old server, keeps that."""
    old = {"hostgroup_id": 50, "hostname": ALONE, "port": cluster.port}
    nodes = [{"hostgroup_id": 10, "hostname": host, "port": cluster.port} for host in HOSTS]
    wanted = with_rule(files(cluster, HOSTS), 10)
    before = {
        **wanted.tables,
        "mysql_galera_hostgroups": desired("mysql_galera_hostgroups"),
        "mysql_servers": desired("mysql_servers", *nodes, old),
    }
    apply(proxysql, with_rule(replace(wanted, tables=before), 50), force=True)
    loads = []

    def wait(progress: str) -> None:
        loads.append(progress == LOAD)
        if loads[-1] and sum(loads) == 2:
            settle(proxysql.instance, HOSTS)

    with Sampler(proxysql.instance) as sampler:
        apply(proxysql, wanted, wait, force=True)
        checks(1.5)
    assert sum(loads) == 2
    everyone, *then = writers_in(sampler.samples)
    assert everyone == {*HOSTS}
    assert [len(writers) for writers in then] == [1]
    assert plan(proxysql, wanted).is_in_sync


def test_a_writer_hostgroup_of_another_number_has_a_writer_at_once(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    """The monitor does not know this hostgroup yet, though it already checks another cluster."""
    before = with_second(files(cluster, HOSTS), cluster, [ALONE], GROUPS)
    apply(proxysql, before, force=True)
    settle(proxysql.instance, HOSTS)
    wanted = with_second(
        files(cluster, HOSTS), cluster, [ALONE], {**GROUPS, "writer_hostgroup": 11}
    )
    with Sampler(proxysql.instance) as sampler:
        steps = apply(proxysql, wanted, force=True)
        until(lambda: len(online(placement(proxysql.instance).get(11, set()))) == 1)
    assert not any("again" in step for step in steps)
    assert all(online(sample[10] | sample.get(11, set())) for sample in sampler.samples)


def test_a_node_that_leaves_one_of_two_clusters_serves_until_the_rules_have_changed(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    before = with_second(files(cluster, HOSTS), cluster, [ALONE, HOSTS[2]], GROUPS)
    apply(proxysql, with_rule(before, 60), force=True)
    until(lambda: len(online(placement(proxysql.instance)[30])) == 2)
    seen = []

    def look(progress: str) -> None:
        if progress == "LOAD MYSQL QUERY RULES TO RUNTIME":
            seen.append(online(placement(proxysql.instance)[60]))

    wanted = with_second(files(cluster, HOSTS), cluster, [ALONE], GROUPS)
    apply(proxysql, with_rule(wanted, 30), look, force=True)
    assert seen == [{ALONE, HOSTS[2]}]
    assert online(placement(proxysql.instance)[60]) == {ALONE}


def test_nobody_has_moved_where_nobody_has(proxysql: ProxySQL, cluster: GaleraCluster) -> None:
    """A reader that leaves is in more hostgroups than the rules use."""
    heavy = {HOSTS[2]: {"weight": 1000}}
    apply(proxysql, with_rule(files(cluster, HOSTS, **heavy), 10), force=True)
    settle(proxysql.instance, HOSTS)
    steps = apply(
        proxysql, with_rule(files(cluster, HOSTS[1:], **heavy), 10, "^SELECT 1"), force=True
    )
    assert steps.count(LOAD) == 2
    assert not any("again" in step for step in steps)


def test_a_writer_that_fails_before_it_is_put_back_stays_out(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    writer, heir, _ = HOSTS
    weights = {writer: {"weight": 1000}, heir: {"weight": 900}}
    before = with_rule(files(cluster, HOSTS, **weights), 30)
    apply(proxysql, before, force=True)
    settle(proxysql.instance, HOSTS)
    steps = []

    def fail(progress: str) -> None:
        steps.append(progress)
        if progress == "MYSQL SERVERS: restore RUNTIME":
            cluster.nodes[writer].wsrep_desync = "ON"
            until(lambda: online(placement(proxysql.instance)[10]) == {heir})
        if progress == "LOAD MYSQL QUERY RULES TO RUNTIME":
            raise KeyboardInterrupt

    changed = files(cluster, HOSTS, **{**weights, heir: {"weight": 900, "max_connections": 77}})
    with Sampler(proxysql.instance) as sampler:
        with pytest.raises(ApplyError, match="interrupted"):
            apply(proxysql, with_rule(changed, 30, "^SELECT 1"), fail, force=True)
        checks(1.5)
    assert "MYSQL SERVERS: restore RUNTIME" in steps
    assert writers_in(sampler.samples) == [{writer}, {heir}]
    assert plan(proxysql, before).is_in_sync


# -- nodes list ------------------------------------------------------------------------------------


def looked_at(server: ProxySQL) -> tuple[NodeGroup, str]:
    with AdminClient(login(server)) as client:
        report = read_nodes(client)
        (group,) = report.groups
        answers = ask_nodes({view.node for view in group.nodes}, monitor_account(client, NO_TRUST))
        asked = replace(report, groups=with_answers(report.groups, answers))
        (group,) = asked.groups
        return group, nodes_text(asked)


def test_a_node_is_seen_from_three_sides(placed: ProxySQL, cluster: GaleraCluster) -> None:
    reader = sorted(online(placement(placed.instance)[30]))[0]
    cluster.nodes[reader].wsrep_desync = "ON"
    until(lambda: reader in online(placement(placed.instance)[40]))
    group, text = looked_at(placed)
    assert group.family is not None
    assert group.hostgroups == (10, 20, 30, 40)
    views = {view.node[0]: view for view in group.nodes}
    assert views.keys() == set(HOSTS)
    desynced = views[reader]
    assert [row.server.hostgroup for row in desynced.configured] == [10]
    assert [row.server.hostgroup for row in desynced.runtime] == [40]
    assert desynced.check.wsrep["wsrep_desync"] == "YES"
    assert desynced.answer is not None
    assert desynced.answer.variables["wsrep_desync"] == "ON"
    line = next(line for line in text.splitlines() if reader in line)
    assert "Synced, desynced, segment 1, 8.0.36" in line
    assert line.split()[1:3] == ["ONLINE", "40"]
