"""Fixtures: simulated Galera nodes, and a real ProxySQL that asks them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.cluster.rig import join, members
from tests.real.galera_rig import apply, files
from tests.support.routing.rig import Rig
from tests.support.servers.galera_family import HOSTS, monitored_proxysql
from tests.support.servers.galera_nodes import GaleraCluster
from tests.support.servers.instances import ProxySQL, free_port, needed_binary
from tests.support.servers.placement_samples import settle


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
def placed(proxysql: ProxySQL, cluster: GaleraCluster) -> ProxySQL:
    """A ProxySQL that has placed the nodes of HOSTS."""
    apply(proxysql, files(cluster, HOSTS))
    settle(proxysql.instance, HOSTS)
    return proxysql


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[tuple[ProxySQL, ProxySQL]]:
    """Two members of a ProxySQL Cluster whose monitors check Galera nodes."""
    with (
        monitored_proxysql(tmp_path / "first") as first,
        monitored_proxysql(tmp_path / "second") as second,
    ):
        for node in (first, second):
            join(node, (first, second))
        yield first, second


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """A rig for all tests of a file. Each test loads its own rules."""
    with Rig(needed_binary(), tmp_path_factory.mktemp("rig")) as started:
        yield started


@pytest.fixture
def three(tmp_path: Path) -> Iterator[list[ProxySQL]]:
    """The members of one native cluster, in sync."""
    with members(tmp_path) as found:
        yield found
