"""An apply beside a drained Galera node does not leave the reader hostgroup without a server."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proxyctl.admin.backend import Account
from proxyctl.admin.client import AdminClient
from proxyctl.draining import DrainRequest, drain
from proxyctl.drains import DrainMethod
from proxyctl.plan import Plan
from proxyctl.state import Desired
from tests.real.galera_rig import cluster, proxysql
from tests.real.test_galera_placement import (
    GROUPS,
    HOSTS,
    files,
    login,
    plan,
)
from tests.support.build import desired
from tests.support.galera_nodes import GaleraCluster
from tests.support.placement_samples import online, placement
from tests.support.servers import ProxySQL

__all__ = ["cluster", "proxysql"]

pytestmark = pytest.mark.real


def drained_reader(server: ProxySQL, method: DrainMethod) -> str:
    """Drain one of the two readers, and return the other one."""
    first, second = sorted(online(placement(server.instance)[30]))
    with AdminClient(login(server)) as client:
        drain(
            client,
            DrainRequest(first, who="anna", method=method, account=Account("monitor", "monitor")),
        )
    return second


def refused(found: Plan) -> list[str]:
    return [one.message for one in found.refusals]


@pytest.mark.parametrize("method", list(DrainMethod))
def test_the_last_reader_does_not_become_the_writer_unasked(
    proxysql: ProxySQL, cluster: GaleraCluster, method: DrainMethod
) -> None:
    (writer,) = online(placement(proxysql.instance)[10])
    reader = drained_reader(proxysql, method)
    left = [host for host in HOSTS if host != writer]
    (text,) = refused(plan(proxysql, files(cluster, left)))
    assert text.startswith("hostgroup 30 is used by rules and would have ")
    without_reader = [host for host in HOSTS if host != reader]
    assert refused(plan(proxysql, files(cluster, without_reader))) != []
    harmless = files(cluster, HOSTS, **{writer: {"max_connections": 77}})
    assert refused(plan(proxysql, harmless)) == []


@pytest.mark.parametrize("method", list(DrainMethod))
def test_a_second_writer_is_not_the_last_reader_unasked(
    proxysql: ProxySQL, cluster: GaleraCluster, method: DrainMethod
) -> None:
    two = with_writers(files(cluster, HOSTS), 2)
    assert refused(plan(proxysql, two)) == []
    drained_reader(proxysql, method)
    (text,) = refused(plan(proxysql, two))
    assert text.startswith("hostgroup 30 is used by rules and would have ")


def with_writers(wanted: Desired, count: int) -> Desired:
    groups = desired("mysql_galera_hostgroups", {**GROUPS, "max_writers": count})
    return replace(wanted, tables={**wanted.tables, "mysql_galera_hostgroups": groups})
