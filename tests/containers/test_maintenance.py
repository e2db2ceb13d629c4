"""Nodes are drained and put back under load, by the commands that a person types."""

from __future__ import annotations

import pytest

from tests.containers.conftest import HOSTS
from tests.containers.galera import GaleraCluster, wait_until
from tests.containers.proxysql import ProxySQLContainer
from tests.containers.story import READERS, WRITER, applied, assert_in_sync, bootstrap, short
from tests.containers.traffic import Traffic, written_on
from tests.support.cli import Project, proxyctl
from tests.support.placement_samples import Sampler, online, placement

POOL = 20
"""Queries after which a client connects anew."""


def connections_in_use(proxysql: ProxySQLContainer, host: str) -> int:
    """Return how many connections to a node are at work."""
    rows = proxysql.instance.query(
        f"SELECT sum(ConnUsed) FROM stats_mysql_connection_pool WHERE srv_host='{host}'"
    )
    return int(rows[0][0] or 0)


@pytest.mark.parametrize("host", [READERS[0], WRITER], ids=["a reader", "the writer"])
def test_a_node_is_drained_and_put_back_under_load(
    host: str, project: Project, proxysql: ProxySQLContainer, cluster: GaleraCluster
) -> None:
    bootstrap(proxysql)
    others = {short(one) for one in HOSTS if one != host}
    with (
        Traffic(proxysql.traffic_port, lifetime=POOL) as traffic,
        Sampler(proxysql.instance, usable=True) as sampler,
    ):
        traffic.flows()
        done = proxyctl("nodes", "drain", host, "--wait", "--timeout", "120")
        assert done.code == 0, done.text
        assert f"{host}:3306: no connection is in use\n" in done.text

        # Nobody comes to it any more, whatever else is applied, and all that is no drift.
        cluster.any_node.sql("TRUNCATE app.written")
        traffic.reads.clear()
        text = (project.folder / "proxyctl.yaml").read_text()
        project.write(text.replace("weight: 800", "weight: 850"))
        applied()
        traffic.flows(100)
        assert traffic.reads.keys() <= others
        assert written_on(cluster.any_node).keys() <= others
        assert connections_in_use(proxysql, host) == 0
        assert f"{host}:3306 drained" in proxyctl("drift").out
        assert_in_sync()

        # It comes back as a new one, and still nobody comes to it.
        cluster.nodes[host].kill()
        cluster.rejoin(host)
        wait_until(lambda: is_seen(proxysql, host), f"{host} is seen by the monitor")
        traffic.flows(100)
        assert traffic.reads.keys() <= others
        assert_in_sync()

        done = proxyctl("nodes", "restore", host)
        assert done.code == 0, done.text
        wait_until(lambda: serves_as_before(proxysql), f"{host} is back")
        traffic.reads.clear()
        traffic.flows(100)
        assert_in_sync()
    assert traffic.errors == []
    sampler.check()
    assert traffic.reads.keys() == {short(one) for one in READERS}
    assert short(WRITER) in written_on(cluster.any_node)


def is_seen(proxysql: ProxySQLContainer, host: str) -> bool:
    """Whether a node stands among the readers again, drained or not."""
    return host in online(placement(proxysql.instance)[30])


def serves_as_before(proxysql: ProxySQLContainer) -> bool:
    """Whether the example's writer writes, and both others read."""
    now = placement(proxysql.instance, usable=True)
    return (online(now[10]), online(now[30])) == ({WRITER}, {*READERS})
