"""Fixtures: simulated Galera nodes, and a real ProxySQL in front of them that has placed them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.test_galera_placement import HOSTS, apply, files, monitored_proxysql
from tests.support.galera_nodes import GaleraCluster
from tests.support.placement_samples import settle
from tests.support.servers import ProxySQL, free_port


@pytest.fixture
def cluster() -> Iterator[GaleraCluster]:
    with GaleraCluster(HOSTS, free_port()) as running:
        yield running


@pytest.fixture
def proxysql(tmp_path: Path, cluster: GaleraCluster) -> Iterator[ProxySQL]:
    """A ProxySQL in front of the settled cluster."""
    with monitored_proxysql(tmp_path / "proxysql") as server:
        apply(server, files(cluster, HOSTS))
        settle(server.instance, HOSTS)
        yield server
