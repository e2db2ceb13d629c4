"""A node of a Galera family is drained and put back, behind a real ProxySQL with simulated nodes.

RUNTIME is sampled all the while: always one writer that takes connections, always a reader.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.admin.drains import record_drain
from proxyctl.admin.lock import Lock
from proxyctl.admin.nodes import read_nodes
from proxyctl.admin.read import TableReader, read_layouts
from proxyctl.draining import Drained, DrainRequest, Restored, drain, restore, wait_until_unused
from proxyctl.errors import ApplyError, InterruptedApplyError, RefusedError
from proxyctl.leftovers import as_on_record
from proxyctl.plan import Plan
from proxyctl.render.nodes_text import nodes_text
from proxyctl.render.plan_machine import plan_json
from proxyctl.render.plan_markdown import plan_markdown
from proxyctl.render.plan_text import plan_text
from proxyctl.state import Layer, Rows
from tests.real.galera_rig import cluster, proxysql
from tests.real.test_galera_placement import (
    CHECK_MS,
    HOSTS,
    apply,
    files,
    login,
    plan,
)
from tests.support.cli import Project, proxyctl
from tests.support.galera_nodes import GaleraCluster
from tests.support.placement_samples import Sampler, online, placement, settle
from tests.support.servers import Instance, ProxySQL, run

__all__ = ["cluster", "proxysql"]

pytestmark = pytest.mark.real


def drained(server: ProxySQL, host: str, **options: bool) -> Drained:
    with AdminClient(login(server)) as client:
        return drain(client, DrainRequest(host, who="anna on ops1", **options))


def restored(server: ProxySQL, host: str) -> Restored:
    with AdminClient(login(server)) as client:
        return restore(client, DrainRequest(host))


def rows(instance: Instance, table: str) -> list[tuple[str | None, ...]]:
    return instance.query(f"SELECT * FROM {table} ORDER BY hostgroup_id, hostname")


def writer(server: ProxySQL) -> str:
    (found,) = online(placement(server.instance)[10])
    return found


def until(is_so: Callable[[], bool]) -> None:
    for _ in range(600):
        if is_so():
            return
        time.sleep(0.05)
    raise AssertionError("it never came")


def limits(server: ProxySQL, host: str) -> set[tuple[str | None, ...]]:
    return set(
        server.instance.query(
            f"SELECT weight, max_connections FROM runtime_mysql_servers WHERE hostname='{host}'"
        )
    )


def test_the_writer_is_drained_and_comes_back_exactly(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    instance = proxysql.instance
    tables = ("runtime_mysql_servers", "mysql_servers", "disk.mysql_servers")
    before = {table: rows(instance, table) for table in tables}
    old = writer(proxysql)
    with Sampler(instance, usable=True) as sampler:
        drained(proxysql, old)
        assert writer(proxysql) != old
        time.sleep(CHECK_MS / 1000 * 1.5)
        assert limits(proxysql, old) == {("0", "0")}
        others = [host for host in HOSTS if host != old]
        assert [limits(proxysql, host) for host in others] == [{("1", "1000")}] * 2
        for table in tables[1:]:
            assert rows(instance, table) == before[table]

        restored(proxysql, old)
        until(lambda: rows(instance, "runtime_mysql_servers") == before["runtime_mysql_servers"])
    sampler.check()
    assert {table: rows(instance, table) for table in tables} == before


def test_a_reader_is_drained_without_moving_anybody(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    instance = proxysql.instance
    reader = sorted(online(placement(instance)[30]))[0]
    before = placement(instance)
    with Sampler(instance, usable=True) as sampler:
        drained(proxysql, reader)
        time.sleep(CHECK_MS / 1000 * 1.5)
    sampler.check()
    assert placement(instance) == before
    assert limits(proxysql, reader) == {("0", "0")}


def test_a_drained_node_does_not_become_the_writer(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    instance = proxysql.instance
    old = writer(proxysql)
    drained(proxysql, old)
    heir = writer(proxysql)
    cluster.nodes[heir].wsrep_desync = "ON"
    until(lambda: heir in online(placement(instance)[40]))
    until(lambda: len(online(placement(instance)[10])) == 1)
    assert writer(proxysql) not in (old, heir)


def test_plan_drift_and_apply_leave_it_drained(proxysql: ProxySQL, cluster: GaleraCluster) -> None:
    old = writer(proxysql)
    drained(proxysql, old)
    calm = plan(proxysql, files(cluster, HOSTS))
    assert calm.is_in_sync
    assert [note for note in calm.taken_out if "drained by anna on ops1 since" in note]

    heavier = files(cluster, HOSTS, **{old: {"weight": 7}, HOSTS[0]: {"max_connections": 55}})
    apply(proxysql, heavier)
    assert limits(proxysql, old) == {("0", "0")}
    assert limits(proxysql, HOSTS[0]) == {("1", "55")}
    assert plan(proxysql, heavier).is_in_sync

    back = restored(proxysql, old)
    assert back.is_changed
    assert limits(proxysql, old) == {("7", "1000")}
    assert plan(proxysql, heavier).is_in_sync


def test_a_plan_tells_what_a_drained_node_has_when_it_is_back(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    """RUNTIME keeps the drain, MEMORY and DISK get all that the files say."""
    reader = min(online(placement(proxysql.instance)[30]))
    drained(proxysql, reader)

    def changed(weight: int) -> Plan:
        said = {"weight": weight, "max_connections": 55, "max_latency_ms": 90}
        return plan(proxysql, files(cluster, HOSTS, **{reader: said}))

    found = changed(7)
    where = "MEMORY and DISK only"
    shown = [line.split() for line in plan_text(found).splitlines()]
    assert ["max_latency_ms", "0", "->", "90"] in shown
    assert ["weight", "1", "->", "7", *where.split()] in shown
    assert ["max_connections", "1000", "->", "55", *where.split()] in shown
    assert f"weight: 1 -> 7  ({where})" in plan_markdown([found])
    modules = json.loads(plan_json([found]))["instances"][0]["modules"]
    ((change,),) = (module["changes"] for module in modules if module["changes"])
    layers = ["memory", "disk"]
    assert change["fields"]["weight"] == {"current": 1, "desired": 7, "layers": layers}
    assert found.fingerprint != changed(8).fingerprint


def test_a_load_by_hand_ends_a_drain_and_is_told(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    old = writer(proxysql)
    drained(proxysql, old)
    proxysql.instance.execute("LOAD MYSQL SERVERS TO RUNTIME")
    assert ("0", "0") not in limits(proxysql, old)
    found = plan(proxysql, files(cluster, HOSTS))
    assert found.is_in_sync
    (note,) = found.taken_out
    assert "takes connections again, though on record as drained by anna on ops1" in note
    restored(proxysql, old)
    assert plan(proxysql, files(cluster, HOSTS)).taken_out == []


def test_an_export_does_not_make_a_drain_configuration(
    proxysql: ProxySQL, cluster: GaleraCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(tmp_path, monkeypatch)
    project.connect(replace(proxysql.instance, user="radmin", password="radmin"))
    before = proxyctl("export")
    assert before.code == 0, before.text
    drained(proxysql, writer(proxysql))
    assert proxyctl("export").out == before.out


def test_nodes_list_says_who_and_since_when(proxysql: ProxySQL, cluster: GaleraCluster) -> None:
    old = writer(proxysql)
    drained(proxysql, old)
    with AdminClient(login(proxysql)) as client:
        text = nodes_text(read_nodes(client))
    line = next(line for line in text.splitlines() if old in line)
    assert "drained by anna on ops1 since" in line


def test_the_last_reader_is_not_drained(proxysql: ProxySQL, cluster: GaleraCluster) -> None:
    instance = proxysql.instance
    first, second = sorted(online(placement(instance)[30]))
    drained(proxysql, first)
    before = rows(instance, "runtime_mysql_servers")
    with pytest.raises(RefusedError) as refused:
        drained(proxysql, second)
    assert "last usable node of hostgroup 30" in "\n".join(refused.value.lines())
    with pytest.raises(RefusedError) as refused:
        drained(proxysql, writer(proxysql))
    assert "its last one becomes the writer" in "\n".join(refused.value.lines())
    assert rows(instance, "runtime_mysql_servers") == before


def test_a_writer_that_nobody_can_follow_is_not_drained(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    old = writer(proxysql)
    for host in HOSTS:
        cluster.nodes[host].read_only = "OFF" if host == old else "ON"
    until(lambda: {host for host, _ in placement(proxysql.instance)[10]} == {old})
    with pytest.raises(RefusedError) as refused:
        drained(proxysql, old)
    assert "last usable node of hostgroup 10" in "\n".join(refused.value.lines())


def test_a_reader_that_goes_away_while_the_writer_moves_is_named(
    proxysql: ProxySQL, cluster: GaleraCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proxyctl.draining.placing._LEAST_WAIT_S", 15.0)
    instance = proxysql.instance
    before = rows(instance, "mysql_servers")
    old, gone = writer(proxysql), sorted(online(placement(instance)[30]))[0]

    def go_away(text: str) -> None:
        if "takes over first" in text:
            cluster.nodes[gone].wsrep_desync = "ON"

    with AdminClient(login(proxysql)) as client, pytest.raises(ApplyError) as failed:
        drain(client, DrainRequest(old, progress=go_away))
    said = f"{gone}:{cluster.port} does not serve in hostgroup 20, 30 as before within 15 s"
    assert failed.value.message == said
    until(lambda: writer(proxysql) == old)
    assert rows(instance, "mysql_servers") == before


def test_running_queries_are_waited_for(proxysql: ProxySQL, cluster: GaleraCluster) -> None:
    instance = proxysql.instance
    reader = sorted(online(placement(instance)[30]))[0]
    for sql in (
        "INSERT INTO mysql_users(username, password, default_hostgroup) VALUES ('app', 'app', 30)",
        "LOAD MYSQL USERS TO RUNTIME",
    ):
        instance.execute(sql)
    node = cluster.nodes[reader]
    node.is_slow = True
    client = Instance("127.0.0.1", proxysql.traffic_port, "app", "app")
    answers: list[object] = []
    threads = [
        threading.Thread(target=lambda: answers.append(one_query(client)), daemon=True)
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    until(lambda: "SELECT slow()" in node.queries)
    done = drained(proxysql, reader)
    said: list[str] = []
    with AdminClient(login(proxysql)) as admin:
        with pytest.raises(ApplyError, match=r"is drained, but \d connections? to it still in use"):
            wait_until_unused(admin, done.node, timeout_s=0.5, progress=said.append)
        assert said[0].startswith("waiting for ")
        asked = len(node.queries)
        assert {one_query(client) for _ in range(10)} != {reader}
        assert len(node.queries) == asked
        node.is_slow = False
        wait_until_unused(admin, done.node, timeout_s=30, progress=said.append)
    for thread in threads:
        thread.join(30)
    assert len(answers) == 8
    assert reader in answers


def one_query(instance: Instance) -> str | None:
    """Return the node that answered a query on a connection of its own."""
    with closing(instance.connect()) as connection:
        return run(connection, "SELECT slow()").rows[0][0]


def test_a_drain_that_died_while_the_writer_moved_is_put_back(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    instance = proxysql.instance
    before = {table: rows(instance, table) for table in ("runtime_mysql_servers", "mysql_servers")}
    old, heir = writer(proxysql), sorted(online(placement(instance)[30]))[-1]
    with AdminClient(login(proxysql)) as client:
        lock = Lock(client, f"nodes drain {old}")
        lock.take(timeout_s=5)
        record_drain(client, (old, cluster.port), "anna on ops1", "", memory(client))
        mark = as_on_record((old, cluster.port))
        lock.mark("LOAD MYSQL SERVERS TO RUNTIME", {"MYSQL SERVERS": False, mark: False})
    for sql in (
        "DELETE FROM mysql_servers",
        "INSERT INTO mysql_servers SELECT * FROM runtime_mysql_servers",
        f"UPDATE mysql_servers SET weight=2 WHERE hostname='{heir}'",
        "LOAD MYSQL SERVERS TO RUNTIME",
        "UPDATE proxyctl_lock SET expires=0",
    ):
        instance.execute(sql)
    until(lambda: online(placement(instance)[10]) == {heir})
    with AdminClient(login(proxysql)) as client:
        assert "half drained by anna" in nodes_text(read_nodes(client))
    with Sampler(instance, usable=True) as sampler:
        back = restored(proxysql, old)
        assert not back.was_drained
        until(lambda: rows(instance, "runtime_mysql_servers") == before["runtime_mysql_servers"])
    sampler.check()
    assert rows(instance, "mysql_servers") == before["mysql_servers"]
    assert plan(proxysql, files(cluster, HOSTS)).is_in_sync


def memory(client: AdminClient) -> Rows:
    return TableReader(client).read(read_layouts(client)["mysql_servers"], Layer.MEMORY)


def test_an_interrupt_while_the_writer_moves_puts_it_back(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    instance = proxysql.instance
    before = {table: rows(instance, table) for table in ("runtime_mysql_servers", "mysql_servers")}
    old = writer(proxysql)

    def interrupt(text: str) -> None:
        if "writes now" in text:
            raise KeyboardInterrupt

    with Sampler(instance, usable=True) as sampler:
        with AdminClient(login(proxysql)) as client, pytest.raises(InterruptedApplyError):
            drain(client, DrainRequest(old, progress=interrupt))
        until(lambda: rows(instance, "runtime_mysql_servers") == before["runtime_mysql_servers"])
    sampler.check()
    assert rows(instance, "mysql_servers") == before["mysql_servers"]
    assert restored(proxysql, old).drain is None


def test_a_restart_ends_a_drain(proxysql: ProxySQL, cluster: GaleraCluster) -> None:
    old = writer(proxysql)
    drained(proxysql, old)
    proxysql.restart()
    settle(proxysql.instance, HOSTS)
    assert limits(proxysql, old) == {("1", "1000")}
    assert not plan(proxysql, files(cluster, HOSTS)).taken_out
    assert not restored(proxysql, old).was_drained
