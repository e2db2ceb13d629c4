"""Fixtures: three Galera nodes for the session, and a ProxySQL in front of them for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from testcontainers.core.network import Network

from tests.real.containers.galera import GaleraCluster, wait_until
from tests.real.containers.images import ARE_NAMED, what_is_missing
from tests.real.containers.proxysql import ProxySQLContainer
from tests.real.containers.traffic import prepare
from tests.support.commands.cli import Project
from tests.support.paths import ROOT

EXAMPLE = ROOT / "examples" / "pxc-read-write-split" / "proxyctl.yaml"
HOSTS = ("pxc1.example.com", "pxc2.example.com", "pxc3.example.com")
PASSWORDS = {
    "APP_PASSWORD": "s3cret-of-app",
    "REPORT_PASSWORD": "s3cret-of-report",
    "MONITOR_PASSWORD": "s3cret-of-monitor",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("containers")


@pytest.fixture(scope="session", autouse=True)
def _containers_can_be_started() -> None:
    reason = what_is_missing()
    if reason is None:
        return
    if ARE_NAMED:
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def network() -> Iterator[Network]:
    with Network() as made:
        yield made


@pytest.fixture(scope="session")
def _cluster(network: Network) -> Iterator[GaleraCluster]:
    with GaleraCluster("main", HOSTS, network) as running:
        prepare(running.any_node)
        yield running


@pytest.fixture
def cluster(_cluster: GaleraCluster) -> GaleraCluster:
    """Three nodes in sync, whatever the previous test did."""
    for host, node in list(_cluster.nodes.items()):
        if host not in HOSTS:
            node.stop()
            del _cluster.nodes[host]
        elif not node.is_running:
            _cluster.rejoin(host)
    for node in _cluster.nodes.values():
        node.end_maintenance()
        node.sql("SET GLOBAL read_only=OFF")
        node.sql("SET GLOBAL wsrep_desync=OFF")
        wait_until(node.is_synced, f"{node.host} is in sync")
    _cluster.any_node.sql("TRUNCATE app.written")
    return _cluster


@pytest.fixture
def proxysql(cluster: GaleraCluster, network: Network) -> Iterator[ProxySQLContainer]:
    """A ProxySQL without any configuration, in the network of the cluster."""
    with ProxySQLContainer("proxysql1.example.com", network) as running:
        yield running


@pytest.fixture
def project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proxysql: ProxySQLContainer
) -> Project:
    """A folder with the example of `examples/`, unchanged, and the ProxySQL that it configures."""
    made = Project(tmp_path, monkeypatch)
    for name, value in PASSWORDS.items():
        monkeypatch.setenv(name, value)
    made.write(EXAMPLE.read_text())
    made.connect(proxysql.instance)
    return made
