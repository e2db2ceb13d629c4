"""Fixtures: simulated Galera nodes, and a real ProxySQL that asks them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.galera_family import HOSTS, monitored_proxysql
from tests.support.galera_nodes import GaleraCluster
from tests.support.servers import ProxySQL, free_port


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
