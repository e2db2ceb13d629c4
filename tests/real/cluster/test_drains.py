"""A native cluster of real ProxySQL: a node that one member drained is put back, whoever loads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.real.cluster.files import apply, write
from tests.real.cluster.rig import agree, members, wait_until
from tests.support.cli import Project, proxyctl
from tests.support.galera_nodes import GaleraCluster
from tests.support.placement_samples import settle
from tests.support.servers import ProxySQL, free_port

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "mysql_servers_v2")]

HOSTS = ["127.0.1.1", "127.0.1.2", "127.0.1.3"]
DRAINED = ("ONLINE", "0", "0")
LAYERS = ("runtime_", "", "disk.")
PLAIN = "mysql_servers: [{{hostgroup_id: 1, hostname: a, max_connections: {0}}},"
PLAIN += " {{hostgroup_id: 1, hostname: b}}]\n"
GALERA = """\
hostgroups: {{writer: {{id: 10}}, backup: {{id: 20}}, reader: {{id: 30}}, offline: {{id: 40}}}}
pxc_clusters:
  - name: shop
    writer_hostgroup: writer
    backup_writer_hostgroup: backup
    reader_hostgroup: reader
    offline_hostgroup: offline
    max_writers: 1
    writer_is_also_reader: 2
    nodes:
      - {{hostname: 127.0.1.1, port: {port}, max_connections: 500}}
      - {{hostname: 127.0.1.2, port: {port}, max_connections: 500, weight: 5}}
      - {{hostname: 127.0.1.3, port: {port}, max_connections: {limit}}}
variables:
  mysql-monitor_enabled: true
  mysql-monitor_galera_healthcheck_interval: 1000
"""


def at(one: ProxySQL) -> tuple[str, ...]:
    return ("--host", "127.0.0.1", "--port", str(one.port))


def held(one: ProxySQL, host: str, layer: str = "runtime_") -> set[tuple[str | None, ...]]:
    """Return what a member holds of a server: where drained ones are unlike others."""
    sql = f"SELECT DISTINCT status, weight, max_connections FROM {layer}mysql_servers"
    rows = one.instance.query(f"{sql} WHERE hostname='{host}'")
    return {(status, *rest) for status, *rest in rows if status != "SHUNNED"}


def all_hold(three: list[ProxySQL], host: str, row: tuple[str, ...]) -> Callable[[], bool]:
    return lambda: all(held(one, host, layer) == {row} for one in three for layer in LAYERS)


def test_what_a_peer_loads_meanwhile_does_not_keep_a_server_drained(
    three: list[ProxySQL], project: Project
) -> None:
    write(project, PLAIN.format(100))
    assert apply().code == 0
    done = proxyctl("nodes", "drain", "b", "--no-wait")
    assert done.code == 0, done.text
    wait_until(lambda: held(three[1], "b") == {("OFFLINE_SOFT", "1", "1000")})
    write(project, PLAIN.format(200))
    done = apply(*at(three[1]))
    assert done.code == 0, done.text
    wait_until(lambda: agree(three[0], three))

    back = proxyctl("nodes", "restore", "b")
    assert back.code == 0, back.text
    assert "b:3306 is back (drained by" in back.out
    assert "changed in the meantime" not in back.out
    assert held(three[0], "b") == {("ONLINE", "1", "1000")}
    wait_until(all_hold(three, "b", ("ONLINE", "1", "1000")))
    assert "No changes" in proxyctl("plan").out


def test_a_row_that_a_peer_adds_meanwhile_does_not_keep_the_others_drained(
    three: list[ProxySQL], project: Project
) -> None:
    write(project, PLAIN.format(100))
    assert apply().code == 0
    assert proxyctl("nodes", "drain", "b", "--no-wait").code == 0
    wait_until(lambda: held(three[1], "b") == {("OFFLINE_SOFT", "1", "1000")})
    more = PLAIN.format(100).replace("b}]", "b}, {hostgroup_id: 2, hostname: b}]")
    write(project, more)
    done = apply(*at(three[1]))
    assert done.code == 0, done.text
    wait_until(lambda: agree(three[0], three))
    out_and_in = {("OFFLINE_SOFT", "1", "1000"), ("ONLINE", "1", "1000")}
    assert held(three[0], "b", "") == out_and_in

    back = proxyctl("nodes", "restore", "b")
    assert back.code == 0, back.text
    assert "b:3306 is back (drained by" in back.out
    assert "b:3306: 2 peers follow\n" in back.out
    assert [held(one, "b") for one in three] == [{("ONLINE", "1", "1000")}] * 3
    wait_until(all_hold(three, "b", ("ONLINE", "1", "1000")))
    assert "No changes" in proxyctl("plan").out


@pytest.fixture
def nodes() -> Iterator[GaleraCluster]:
    with GaleraCluster(HOSTS, free_port()) as running:
        yield running


@pytest.fixture
def monitored(tmp_path: Path, nodes: GaleraCluster) -> Iterator[list[ProxySQL]]:
    with members(tmp_path, monitor=True) as found:
        yield found


@pytest.fixture
def shop(
    monitored: list[ProxySQL],
    nodes: GaleraCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Project:
    """Files of the Galera cluster, which are applied and have settled."""
    (tmp_path / "files").mkdir()
    found = Project(tmp_path / "files", monkeypatch)
    found.connect(monitored[0].instance)
    write(found, GALERA.format(port=nodes.port, limit=500))
    done = apply()
    assert done.code == 0, done.text
    for one in monitored:
        settle(one.instance, HOSTS)
    return found


def test_a_galera_node_is_put_back_as_it_is_on_record(
    monitored: list[ProxySQL], shop: Project, nodes: GaleraCluster
) -> None:
    assert proxyctl("nodes", "drain", "127.0.1.2", "--no-wait").code == 0
    wait_until(lambda: all(held(one, "127.0.1.2") == {DRAINED} for one in monitored))
    write(shop, GALERA.format(port=nodes.port, limit=400))
    assert apply(*at(monitored[1])).code == 0
    wait_until(lambda: agree(monitored[0], monitored))
    assert held(monitored[0], "127.0.1.2", "disk.") == {DRAINED}

    back = proxyctl("nodes", "restore", "127.0.1.2")
    assert back.code == 0, back.text
    assert f"127.0.1.2:{nodes.port} is back (drained by" in back.out
    assert "changed in the meantime" not in back.out
    wait_until(all_hold(monitored, "127.0.1.2", ("ONLINE", "5", "500")))
    plan = proxyctl("plan")
    assert "No changes" in plan.out, plan.text


def test_a_drain_that_is_on_no_record_any_more(
    monitored: list[ProxySQL], shop: Project, nodes: GaleraCluster
) -> None:
    assert proxyctl("nodes", "drain", "127.0.1.2", "--no-wait").code == 0
    wait_until(lambda: all(held(one, "127.0.1.2") == {DRAINED} for one in monitored))
    monitored[0].restart()
    wait_until(lambda: held(monitored[0], "127.0.1.2", "disk.") == {DRAINED})
    wait_until(lambda: agree(monitored[0], monitored))
    said = "at RUNTIME, in MEMORY and on DISK: a restart does not end it"
    assert f"127.0.1.2:{nodes.port} drained (max_connections 0 {said})" in proxyctl("drift").out

    refused = proxyctl("nodes", "restore", "127.0.1.2")
    assert refused.code == 3
    assert f"proxyctl nodes restore 127.0.1.2:{nodes.port} --force" in refused.err
    assert all_hold(monitored, "127.0.1.2", DRAINED)()
    back = proxyctl("nodes", "restore", "127.0.1.2", "--force")
    assert back.code == 0, back.text
    name = f"127.0.1.2:{nodes.port}"
    assert back.out == f"{name} is back\n{name}: 2 peers follow\n"
    wait_until(all_hold(monitored, "127.0.1.2", ("ONLINE", "5", "500")))
    assert "No changes" in proxyctl("plan").out


def test_files_that_change_a_drained_galera_node_wait_until_it_is_back(
    monitored: list[ProxySQL], shop: Project, nodes: GaleraCluster
) -> None:
    assert proxyctl("nodes", "drain", "127.0.1.2", "--no-wait").code == 0
    wait_until(lambda: all(held(one, "127.0.1.2") == {DRAINED} for one in monitored))
    changed = GALERA.replace("max_connections: 500, weight: 5", "max_connections: 300, weight: 7")
    write(shop, changed.format(port=nodes.port, limit=400))
    assert apply(*at(monitored[1])).code == 0
    wait_until(lambda: agree(monitored[0], monitored))

    back = proxyctl("nodes", "restore", "127.0.1.2")
    assert back.code == 0, back.text
    wait_until(all_hold(monitored, "127.0.1.2", ("ONLINE", "5", "500")))
    for one in monitored:
        plan = proxyctl("plan", *at(one))
        assert "Plan: 0 to add, 1 to change, 0 to delete" in plan.out, plan.text
    assert apply().code == 0
    wait_until(all_hold(monitored, "127.0.1.2", ("ONLINE", "7", "300")))


def test_a_galera_node_is_put_back_though_a_peer_lets_it_serve_elsewhere(
    monitored: list[ProxySQL], shop: Project, nodes: GaleraCluster
) -> None:
    assert proxyctl("nodes", "drain", "127.0.1.1", "--no-wait").code == 0
    wait_until(lambda: all(held(one, "127.0.1.1") == {DRAINED} for one in monitored))
    more = "mysql_servers: [{{hostgroup_id: 61, hostname: 127.0.1.1, port: {port}, max_connections:"
    more += " 500}}]\n"
    write(shop, (GALERA + more).format(port=nodes.port, limit=500))
    done = apply(*at(monitored[1]))
    assert done.code == 0, done.text
    wait_until(lambda: agree(monitored[0], monitored))
    assert held(monitored[0], "127.0.1.1", "disk.") == {DRAINED, ("ONLINE", "1", "500")}

    back = proxyctl("nodes", "restore", "127.0.1.1")
    assert back.code == 0, back.text
    assert f"127.0.1.1:{nodes.port} is back (drained by" in back.out
    assert "2 peers follow" in back.out
    assert [held(one, "127.0.1.1") for one in monitored] == [{("ONLINE", "1", "500")}] * 3
    wait_until(all_hold(monitored, "127.0.1.1", ("ONLINE", "1", "500")))
    plan = proxyctl("plan")
    assert "No changes" in plan.out, plan.text
