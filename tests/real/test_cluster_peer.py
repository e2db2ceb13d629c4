"""A node of a ProxySQL Cluster that took its servers from a peer, monitor's placement included."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.galera_rig import apply, files, plan
from tests.support.galera_family import HOSTS, monitored_proxysql
from tests.support.galera_nodes import GaleraCluster
from tests.support.placement_samples import online, placement, settle
from tests.support.servers import ProxySQL, free_port

pytestmark = pytest.mark.real

PEERS = "cluster:cluster"


@pytest.fixture
def cluster() -> Iterator[GaleraCluster]:
    with GaleraCluster(HOSTS, free_port()) as running:
        yield running


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[tuple[ProxySQL, ProxySQL]]:
    with (
        monitored_proxysql(tmp_path / "first") as first,
        monitored_proxysql(tmp_path / "second") as second,
    ):
        for node in (first, second):
            run = node.instance.execute
            credentials = f"admin:admin;radmin:radmin;{PEERS}"
            run(f"SET admin-admin_credentials='{credentials}'")
            run("SET admin-cluster_username='cluster'")
            run("SET admin-cluster_password='cluster'")
            run("SET admin-cluster_check_interval_ms=200")
            run("LOAD ADMIN VARIABLES TO RUNTIME")
            for peer in (first, second):
                run(
                    "INSERT INTO proxysql_servers (hostname, port)"
                    f" VALUES ('127.0.0.1', {peer.port})"
                )
            run("LOAD PROXYSQL SERVERS TO RUNTIME")
        yield first, second


def on_disk(node: ProxySQL, what: str, table: str) -> set[str | None]:
    return {row[0] for row in node.instance.query(f"SELECT {what} FROM disk.{table}")}


def wait_for_peer(node: ProxySQL) -> None:
    """Wait until the node has taken and saved rules, and servers as the monitor placed them."""
    for _ in range(600):
        limits = on_disk(node, "max_connections", "mysql_servers")
        if "77" in limits and on_disk(node, "rule_id", "mysql_query_rules"):
            return
        time.sleep(0.1)
    raise AssertionError(f"nothing came from the peer\n{node.log_tail()}")


def test_rows_that_a_peer_placed_are_no_difference(
    nodes: tuple[ProxySQL, ProxySQL], cluster: GaleraCluster
) -> None:
    first, second = nodes
    wanted = files(cluster, HOSTS)
    apply(first, wanted)
    settle(first.instance, HOSTS)
    # A LOAD at the first node after the monitor has placed the nodes: the peer takes that.
    changed = files(cluster, HOSTS, **{HOSTS[0]: {"max_connections": 77}})
    apply(first, changed)
    wait_for_peer(second)
    assert on_disk(second, "hostgroup_id", "mysql_servers") > {"10"}
    assert plan(second, changed).is_in_sync
    assert plan(first, changed).is_in_sync

    # What the peer sent was the state of a moment; the second monitor places the nodes anew.
    settle(second.instance, HOSTS)
    before = placement(second.instance)
    apply(second, files(cluster, HOSTS, **{HOSTS[0]: {"max_connections": 88}}))
    assert online(placement(second.instance)[10]) == online(before[10])
    assert plan(second, files(cluster, HOSTS, **{HOSTS[0]: {"max_connections": 88}})).is_in_sync


def limits(node: ProxySQL, host: str) -> set[tuple[str | None, ...]]:
    return set(
        node.instance.query(
            f"SELECT weight, max_connections FROM runtime_mysql_servers WHERE hostname='{host}'"
        )
    )
