"""Fixtures: simulated Galera nodes, and a real ProxySQL that asks them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.galera_family import HOSTS, monitored_proxysql
from tests.support.galera_nodes import GaleraCluster
from tests.support.routing_rig import Rig
from tests.support.servers import NO_BINARY, ProxySQL, free_port, proxysql_binary


@pytest.fixture
def cluster() -> Iterator[GaleraCluster]:
    """The nodes of HOSTS, and one more."""
    with GaleraCluster([*HOSTS, "127.0.1.4"], free_port()) as running:
        yield running


@pytest.fixture
def proxysql(tmp_path: Path) -> Iterator[ProxySQL]:
    """A ProxySQL whose monitor checks Galera nodes, without any servers yet."""
    with monitored_proxysql(tmp_path / "proxysql") as server:
        yield server


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[tuple[ProxySQL, ProxySQL]]:
    """Two members of a ProxySQL Cluster whose monitors check Galera nodes."""
    with (
        monitored_proxysql(tmp_path / "first") as first,
        monitored_proxysql(tmp_path / "second") as second,
    ):
        for node in (first, second):
            run = node.instance.execute
            run("SET admin-admin_credentials='admin:admin;radmin:radmin;cluster:cluster'")
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


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """A rig for all tests of a file. Each loads what it needs."""
    binary = proxysql_binary()
    if binary is None:
        pytest.skip(NO_BINARY)
    with Rig(binary, tmp_path_factory.mktemp("rig")) as started:
        yield started
