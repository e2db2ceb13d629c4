"""A Galera node is drained at one member of a native cluster: every member has a monitor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.cluster.rig import members, wait_until
from tests.real.test_galera_placement import HOSTS
from tests.support.cli import Project, proxyctl
from tests.support.galera_nodes import GaleraCluster
from tests.support.placement_samples import online, placement, settle
from tests.support.servers import ProxySQL, free_port

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]

FILES = """\
version: 1
pxc_clusters:
  - name: main
    writer_hostgroup: 10
    backup_writer_hostgroup: 20
    reader_hostgroup: 30
    offline_hostgroup: 40
    max_writers: 1
    writer_is_also_reader: 2
    nodes: [{nodes}]
variables: {{mysql-monitor_galera_healthcheck_interval: 1000}}
"""


@pytest.fixture
def galera() -> Iterator[GaleraCluster]:
    with GaleraCluster(HOSTS, free_port()) as running:
        yield running


@pytest.fixture
def three(
    tmp_path: Path, galera: GaleraCluster, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[ProxySQL]]:
    """Three members that have placed the nodes, and files that are applied at the first."""
    with members(tmp_path, monitor=True) as found:
        (tmp_path / "files").mkdir()
        project = Project(tmp_path / "files", monkeypatch)
        project.connect(found[0].instance)
        nodes = ", ".join(f"{{hostname: {host}, port: {galera.port}}}" for host in HOSTS)
        project.write(FILES.format(nodes=nodes))
        done = proxyctl("apply", "--auto-approve")
        assert done.code == 0, done.text
        for one in found:
            settle(one.instance, HOSTS)
        yield found


@pytest.mark.parametrize("method", ["proxysql", "pxc_maint_mode"])
def test_no_member_gives_it_a_connection_when_the_drain_is_done(
    three: list[ProxySQL], monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setenv("PROXYCTL_BACKEND_PASSWORD", "operator")
    writer = next(iter(online(placement(three[0].instance)[10])))
    account = ["--backend-user", "operator"] if method == "pxc_maint_mode" else []
    done = proxyctl("nodes", "drain", writer, "--timeout", "60", "--method", method, *account)
    assert done.code == 0, done.text
    assert "no connection is in use, here and at 2 peers\n" in done.out
    for one in three:
        now = placement(one.instance, usable=True)
        assert not any(writer in online(now[hostgroup]) for hostgroup in (10, 20, 30)), now
    back = proxyctl("nodes", "restore", writer, *account)
    assert back.code == 0, back.text
    wait_until(
        lambda: all(len(online(placement(one.instance, usable=True)[10])) == 1 for one in three)
    )
