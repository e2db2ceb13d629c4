"""Two nodes of a Galera family: an apply does not leave the readers' hostgroup empty unasked.

Each change is refused, and forced it does what the refusal says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from proxyctl.plan import Plan
from proxyctl.state import Desired, GuardAction
from tests.real.test_draining_real import until
from tests.real.test_galera_placement import GROUPS, HOSTS, apply, files, monitored_proxysql, plan
from tests.support.build import desired
from tests.support.galera_nodes import GaleraCluster
from tests.support.placement_samples import online, placement, settle
from tests.support.servers import ProxySQL, free_port

pytestmark = pytest.mark.real

TWO = HOSTS[:2]


@pytest.fixture
def cluster() -> Iterator[GaleraCluster]:
    with GaleraCluster(TWO, free_port()) as running:
        yield running


@pytest.fixture
def proxysql(tmp_path: Path, cluster: GaleraCluster) -> Iterator[ProxySQL]:
    with monitored_proxysql(tmp_path / "proxysql") as server:
        apply(server, files(cluster, TWO))
        settle(server.instance, TWO)
        yield server


def reader_removed(cluster: GaleraCluster, writer: str, reader: str) -> Desired:
    return files(cluster, [writer])


def writer_weighs_nothing(cluster: GaleraCluster, writer: str, reader: str) -> Desired:
    return files(cluster, TWO, **{writer: {"weight": 0}})


def reader_weighs_nothing(cluster: GaleraCluster, writer: str, reader: str) -> Desired:
    return files(cluster, TWO, **{reader: {"weight": 0}})


def two_writers(cluster: GaleraCluster, writer: str, reader: str) -> Desired:
    wanted = files(cluster, TWO)
    groups = desired("mysql_galera_hostgroups", {**GROUPS, "max_writers": 2})
    return replace(wanted, tables={**wanted.tables, "mysql_galera_hostgroups": groups})


def two_writers_in_files_without_servers(
    cluster: GaleraCluster, writer: str, reader: str
) -> Desired:
    wanted = two_writers(cluster, writer, reader)
    tables = {name: table for name, table in wanted.tables.items() if name != "mysql_servers"}
    return replace(wanted, tables=tables)


def refused(found: Plan) -> list[str]:
    return [one.message for one in found.refusals]


@pytest.mark.parametrize(
    "change",
    [
        reader_removed,
        writer_weighs_nothing,
        reader_weighs_nothing,
        two_writers,
        two_writers_in_files_without_servers,
    ],
)
def test_the_reader_hostgroup_is_not_emptied_unasked(
    proxysql: ProxySQL,
    cluster: GaleraCluster,
    change: Callable[[GaleraCluster, str, str], Desired],
) -> None:
    (writer,) = online(placement(proxysql.instance)[10])
    (reader,) = online(placement(proxysql.instance)[30])
    wanted = change(cluster, writer, reader)
    (text,) = refused(plan(proxysql, wanted))
    assert text.startswith("hostgroup 30 is used by rules and would have ")
    unguarded = replace(wanted.guards, actions={"empty_hostgroup": GuardAction.OFF})
    apply(proxysql, replace(wanted, guards=unguarded))
    until(lambda: not online(placement(proxysql.instance, usable=True)[30]))


def test_the_last_node_that_may_write_is_not_removed_unasked(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    (writer,) = online(placement(proxysql.instance)[10])
    (reader,) = online(placement(proxysql.instance)[30])
    cluster.nodes[reader].read_only = "ON"
    until(lambda: {host for host, _ in placement(proxysql.instance)[10]} == {writer})
    assert [
        text
        for text in refused(plan(proxysql, files(cluster, [reader])))
        if text.startswith("hostgroup 10 is a writer hostgroup and would have no ONLINE server")
    ]


def test_a_change_that_leaves_both_as_they_are_is_not_refused(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    harmless = files(cluster, TWO, **{TWO[0]: {"max_connections": 77}, TWO[1]: {"weight": 9}})
    assert refused(plan(proxysql, harmless)) == []
