"""Causes of drift that only a real ProxySQL shows: its monitor, and a peer of its cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.admin.evidence import read_evidence
from proxyctl.drift import Drift
from proxyctl.render.drift_text import drift_text
from proxyctl.state import Desired
from proxyctl.workflow import make_plan
from tests.real.test_cluster_peer import nodes  # noqa: F401 - a fixture
from tests.real.test_galera_placement import (
    HOSTS,
    apply,
    files,
    login,
    monitored_proxysql,
    online,
    placement,
    settle,
)
from tests.support.galera_nodes import GaleraCluster
from tests.support.servers import ProxySQL, free_port

pytestmark = pytest.mark.real


@pytest.fixture
def cluster() -> Iterator[GaleraCluster]:
    with GaleraCluster(HOSTS, free_port()) as running:
        yield running


def drift(server: ProxySQL, wanted: Desired) -> Drift:
    with AdminClient(login(server)) as client:
        plan = make_plan(client, wanted)
        return Drift(plan, read_evidence(client, plan))


def causes(found: Drift) -> set[str]:
    return {
        found.cause(module, change).code
        for module in found.plan.modules
        for change in module.changes
    }


def test_a_move_of_the_monitor_is_no_drift_but_saving_it_is(
    tmp_path: Path, cluster: GaleraCluster
) -> None:
    wanted = files(cluster, HOSTS)
    with monitored_proxysql(tmp_path / "proxysql") as server:
        apply(server, wanted)
        settle(server.instance, HOSTS)
        (writer,) = online(placement(server.instance)[10])
        cluster.nodes[writer].wsrep_desync = "ON"
        wait_until(lambda: writer in online(placement(server.instance)[40]))
        assert drift_text(drift(server, wanted)).endswith(": no drift\n")

        server.instance.execute("SAVE MYSQL SERVERS TO MEMORY")
        found = drift(server, wanted)
        assert causes(found) == {"monitor_placement"}
        assert "MEMORY only: where the monitor had placed it" in drift_text(found)
        server.instance.execute("SAVE MYSQL SERVERS TO DISK")
        assert "MEMORY and DISK: where the monitor had placed it" in drift_text(
            drift(server, wanted)
        )
        apply(server, wanted)
        assert drift(server, wanted).plan.is_in_sync
        # The node is still out: the apply did not bring it back.
        assert writer in online(placement(server.instance)[40])


def wait_until(is_so: Callable[[], object]) -> None:
    for _ in range(600):
        if is_so():
            return
        time.sleep(0.1)
    raise AssertionError("it did not happen")


def test_what_a_peer_sent_is_said_to_be_the_clusters(
    nodes: tuple[ProxySQL, ProxySQL],  # noqa: F811 - the fixture
    cluster: GaleraCluster,
) -> None:
    first, second = nodes
    wanted = files(cluster, HOSTS)
    apply(first, wanted)
    wait_until(lambda: second.instance.query("SELECT * FROM disk.mysql_query_rules"))
    # Somebody changes a rule at the first node; the second one takes it.
    first.instance.execute("UPDATE mysql_query_rules SET destination_hostgroup=10")
    time.sleep(1.1)  # a LOAD within the second of the last one would be no later one
    first.instance.execute("LOAD MYSQL QUERY RULES TO RUNTIME")
    rule = "SELECT destination_hostgroup FROM runtime_mysql_query_rules"
    wait_until(lambda: second.instance.query(rule) == [("10",)])
    both = tuple(sorted(f"127.0.0.1:{node.port}" for node in nodes))

    def is_seen() -> bool:
        load = drift(second, wanted).evidence.loads["MYSQL QUERY RULES"]
        return tuple(sorted(load.alike)) == both

    wait_until(is_seen)
    found = drift(second, wanted)
    assert "peer" in causes(found)
    text = drift_text(found)
    assert "of the cluster hold the same; it was loaded at one of them" in text
    assert all(name in text for name in both)
