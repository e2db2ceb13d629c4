"""Nodes of a Galera family are drained while ProxySQL's monitor is off, or gets through to none."""

from __future__ import annotations

import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.admin.nodes import read_nodes
from proxyctl.draining import DrainRequest, drain
from proxyctl.drains import DrainMethod
from proxyctl.errors import RefusedError
from proxyctl.render.nodes_text import nodes_text
from tests.real.galera_rig import cluster, proxysql
from tests.real.test_draining_real import drained, limits, restored, rows, until, writer
from tests.real.test_galera_placement import HOSTS, login
from tests.support.galera_nodes import GaleraCluster
from tests.support.placement_samples import online, placement, settle
from tests.support.servers import ProxySQL

__all__ = ["cluster", "proxysql"]

pytestmark = pytest.mark.real


def switch_monitor(server: ProxySQL, value: str) -> None:
    for sql in (f"SET mysql-monitor_enabled='{value}'", "LOAD MYSQL VARIABLES TO RUNTIME"):
        server.instance.execute(sql)


def denied(server: ProxySQL) -> set[str | None]:
    """Return the hosts that did not let the monitor in when it looked last."""
    log = "monitor.mysql_server_galera_log"
    sql = f"SELECT hostname, error, max(time_start_us) FROM {log} GROUP BY hostname"
    return {host for host, error, _ in server.instance.query(sql) if "denied" in (error or "")}


def look_again(server: ProxySQL) -> None:
    """Wait until the monitor has looked at every node twice: the first look may have begun."""
    sql = "SELECT hostname, count(*) FROM monitor.mysql_server_galera_log GROUP BY hostname"
    before = dict(server.instance.query(sql))
    until(
        lambda: all(
            int(count or 0) > int(before.get(host) or 0) + 1
            for host, count in server.instance.query(sql)
        )
    )


def is_denied_everywhere(server: ProxySQL, cluster: GaleraCluster) -> bool:
    """Take all nodes down and up again: the monitor keeps the connections that it has."""
    for is_up in (False, True):
        for host in HOSTS:
            cluster.nodes[host].is_up = is_up
        look_again(server)
    return denied(server) == set(HOSTS)


def test_a_reader_is_drained_and_nobody_is_moved(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    instance = proxysql.instance
    before, everything = placement(instance), rows(instance, "runtime_mysql_servers")
    configured = rows(instance, "mysql_servers")
    reader = min(online(before[30]))
    switch_monitor(proxysql, "false")
    said: list[str] = []
    with AdminClient(login(proxysql)) as client:
        drain(client, DrainRequest(reader, progress=said.append))
    assert "the monitor is off (mysql-monitor_enabled)" in said[0]
    assert limits(proxysql, reader) == {("0", "0")}
    assert placement(instance) == before
    assert rows(instance, "mysql_servers") == configured

    restored(proxysql, reader)
    assert rows(instance, "runtime_mysql_servers") == everything


def test_it_stays_drained_when_the_monitor_is_switched_on(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    before = placement(proxysql.instance)
    reader = min(online(before[30]))
    switch_monitor(proxysql, "false")
    drained(proxysql, reader)
    switch_monitor(proxysql, "true")
    settle(proxysql.instance, HOSTS)
    assert limits(proxysql, reader) == {("0", "0")}
    assert restored(proxysql, reader).was_drained


def test_the_writer_is_not_drained_as_nobody_would_follow(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    instance = proxysql.instance
    before = rows(instance, "runtime_mysql_servers")
    switch_monitor(proxysql, "false")
    with pytest.raises(RefusedError) as refused:
        drained(proxysql, writer(proxysql))
    text = "\n".join(refused.value.lines())
    assert "last usable node of hostgroup 10, and the monitor is off" in text
    assert "edited in MEMORY" not in text
    assert rows(instance, "runtime_mysql_servers") == before


def test_a_node_that_was_drained_before_is_put_back(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    instance = proxysql.instance
    everything = rows(instance, "runtime_mysql_servers")
    reader = min(online(placement(instance)[30]))
    drained(proxysql, reader)
    switch_monitor(proxysql, "false")
    assert restored(proxysql, reader).was_drained
    assert rows(instance, "runtime_mysql_servers") == everything


def test_nodes_list_keeps_the_family_together(proxysql: ProxySQL, cluster: GaleraCluster) -> None:
    switch_monitor(proxysql, "false")
    with AdminClient(login(proxysql)) as client:
        text = nodes_text(read_nodes(client))
    assert (
        "galera: hostgroups 10, 20, 30, 40 (the monitor is off: nodes stay where they are)" in text
    )
    assert "in no configuration" not in text


def test_the_last_node_is_not_drained_while_the_monitor_gets_through_to_none(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    """All stand in the offline hostgroup then, and serve again once the account is right."""
    instance = proxysql.instance
    for sql in ("SET mysql-monitor_password='wrong'", "LOAD MYSQL VARIABLES TO RUNTIME"):
        instance.execute(sql)
    until(lambda: is_denied_everywhere(proxysql, cluster))
    until(lambda: online(placement(instance)[40]) == set(HOSTS))
    first, second, last = HOSTS
    drained(proxysql, first)
    drained(proxysql, second)
    with pytest.raises(RefusedError) as refused:
        drained(proxysql, last)
    assert "every other node of hostgroups 10, 20, 30, 40 is drained already" in "\n".join(
        refused.value.lines()
    )


def test_pxc_maint_mode_is_refused(proxysql: ProxySQL, cluster: GaleraCluster) -> None:
    reader = min(online(placement(proxysql.instance)[30]))
    switch_monitor(proxysql, "false")
    with AdminClient(login(proxysql)) as client, pytest.raises(RefusedError) as refused:
        drain(client, DrainRequest(reader, method=DrainMethod.PXC_MAINT_MODE))
    assert "nothing looks at pxc_maint_mode" in "\n".join(refused.value.lines())
    assert cluster.nodes[reader].pxc_maint_mode == "DISABLED"
