"""A drain or restore in a ProxySQL Cluster waits for a later second; the monitor does not."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.draining import DrainRequest, drain, restore
from proxyctl.errors import RefusedError
from tests.real.galera_rig import cluster as cluster
from tests.real.galera_rig import proxysql as proxysql
from tests.real.test_draining_real import until
from tests.real.test_galera_placement import HOSTS, apply, files, login
from tests.real.test_moved_while_applying import writers_in
from tests.support.galera_nodes import GaleraCluster
from tests.support.placement_samples import Sampler, online, placement
from tests.support.servers import ProxySQL

pytestmark = pytest.mark.real

WRITER, HEIR, READER = HOSTS
WEIGHTS = {WRITER: {"weight": 1000}, HEIR: {"weight": 900}}


@pytest.fixture
def member(proxysql: ProxySQL, cluster: GaleraCluster) -> ProxySQL:
    """The only member of a ProxySQL Cluster, whose monitor looks often. WRITER is the writer."""
    for sql in (
        "SET admin-cluster_username='radmin'",
        "SET admin-cluster_password='radmin'",
        "LOAD ADMIN VARIABLES TO RUNTIME",
        f"INSERT INTO proxysql_servers(hostname, port) VALUES ('127.0.0.1', {proxysql.port})",
        "LOAD PROXYSQL SERVERS TO RUNTIME",
        "SET mysql-monitor_galera_healthcheck_interval=200",
        "LOAD MYSQL VARIABLES TO RUNTIME",
    ):
        proxysql.instance.execute(sql)
    apply(proxysql, files(cluster, HOSTS, **WEIGHTS))
    until(lambda: online(placement(proxysql.instance)[10]) == {WRITER})
    return proxysql


@contextmanager
def loaded_just_now(server: ProxySQL, cluster: GaleraCluster, limit: int) -> Iterator[Sampler]:
    """LOAD the servers, so that the next LOAD has to wait; let the writer fail meanwhile."""
    time.sleep(1 - time.time() % 1)
    apply(
        server,
        files(cluster, HOSTS, **{**WEIGHTS, HEIR: {"weight": 900, "max_connections": limit}}),
    )

    def fail() -> None:
        time.sleep(0.4)
        cluster.nodes[WRITER].wsrep_desync = "ON"

    failing = threading.Thread(target=fail)
    with Sampler(server.instance) as sampler:
        failing.start()
        yield sampler
        failing.join()
        until(lambda: online(placement(server.instance)[10]) == {HEIR})


def test_a_drain_is_judged_by_who_serves_when_it_may_begin(
    member: ProxySQL, cluster: GaleraCluster
) -> None:
    """The other reader writes by then: this one is the last."""
    with (
        loaded_just_now(member, cluster, 77) as sampler,
        AdminClient(login(member)) as client,
        pytest.raises(RefusedError) as refused,
    ):
        drain(client, DrainRequest(READER))
    assert any("hostgroup 30" in reason for reason in refused.value.reasons)
    assert writers_in(sampler.samples) == [{WRITER}, {HEIR}]
    assert online(placement(member.instance, usable=True)[30]) == {READER}


def test_a_writer_that_fails_before_a_restore_stays_out(
    member: ProxySQL, cluster: GaleraCluster
) -> None:
    with AdminClient(login(member)) as client:
        drain(client, DrainRequest(READER))
    with loaded_just_now(member, cluster, 77) as sampler, AdminClient(login(member)) as client:
        restore(client, DrainRequest(READER))
    assert writers_in(sampler.samples) == [{WRITER}, {HEIR}]
