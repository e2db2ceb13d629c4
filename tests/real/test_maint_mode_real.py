"""A node is drained with its own pxc_maint_mode, behind a real ProxySQL with simulated PXC nodes.

RUNTIME is sampled all the while: always one writer that takes connections, always a reader.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pymysql
import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.admin.drains import read_drains
from proxyctl.admin.read import read_layouts
from proxyctl.draining import Drained, DrainRequest, Restored, drain, restore, wait_until_unused
from proxyctl.drains import DrainMethod
from proxyctl.errors import ApplyError, InstanceError, InterruptedApplyError, RefusedError
from tests.real.galera_rig import cluster, proxysql
from tests.real.test_draining_real import rows, until, writer
from tests.real.test_galera_placement import (
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

MAINT = DrainMethod.PXC_MAINT_MODE


def taken_out(server: ProxySQL, host: str, **options: bool) -> Drained:
    with AdminClient(login(server)) as client:
        return drain(client, DrainRequest(host, who="anna on ops1", method=MAINT, **options))


def put_back(server: ProxySQL, host: str, method: DrainMethod | None = None) -> Restored:
    with AdminClient(login(server)) as client:
        return restore(client, DrainRequest(host, method=method))


def on_record(server: ProxySQL) -> list[bool]:
    with AdminClient(login(server)) as client:
        found = read_drains(client, read_layouts(client)["mysql_servers"])
    return [one.is_done for one in found.values()]


def serving(server: ProxySQL, host: str) -> set[int]:
    """Return where new queries of the applications may reach the node."""
    found = placement(server.instance)
    return {hostgroup for hostgroup in (10, 20, 30) if host in online(found[hostgroup])}


def test_the_writer_is_taken_out_and_comes_back_exactly(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    instance = proxysql.instance
    tables = ("runtime_mysql_servers", "mysql_servers", "disk.mysql_servers")
    before = {table: rows(instance, table) for table in tables}
    old = writer(proxysql)
    with Sampler(instance, usable=True) as sampler:
        taken_out(proxysql, old)
        assert cluster.nodes[old].pxc_maint_mode == "MAINTENANCE"
        assert serving(proxysql, old) == set()
        assert writer(proxysql) != old

        put_back(proxysql, old)
        assert cluster.nodes[old].pxc_maint_mode == "DISABLED"
        until(lambda: rows(instance, "runtime_mysql_servers") == before["runtime_mysql_servers"])
    sampler.check()
    assert {table: rows(instance, table) for table in tables} == before
    assert on_record(proxysql) == []


def test_everybody_sees_who_did_it_and_an_apply_leaves_it(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    reader = sorted(online(placement(proxysql.instance)[30]))[0]
    taken_out(proxysql, reader)
    calm = plan(proxysql, files(cluster, HOSTS))
    assert calm.is_in_sync
    said = "drained with pxc_maint_mode by anna on ops1 since"
    assert [note for note in calm.taken_out if said in note]

    heavier = files(cluster, HOSTS, **{HOSTS[0]: {"max_connections": 55}})
    apply(proxysql, heavier)
    assert serving(proxysql, reader) == set()
    assert plan(proxysql, heavier).is_in_sync
    put_back(proxysql, reader)
    assert serving(proxysql, reader)


def test_the_command_line_tells_it(
    proxysql: ProxySQL,
    cluster: GaleraCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = Project(tmp_path, monkeypatch)
    project.connect(replace(proxysql.instance, user="radmin", password="radmin"))
    reader = sorted(online(placement(proxysql.instance)[30]))[0]
    cluster.nodes[reader].transition_s = 1
    monkeypatch.setenv("PROXYCTL_BACKEND_PASSWORD", "operator")
    done = proxyctl(
        "nodes", "drain", reader, "--method", "pxc_maint_mode", "--backend-user", "operator"
    )
    assert done.code == 0, done.text
    assert "pxc_maint_mode is set to MAINTENANCE, which takes 1 s" in done.err
    assert "is drained" in done.out
    listed = proxyctl("nodes", "list")
    line = next(line for line in listed.out.splitlines() if reader in line)
    assert "drained with pxc_maint_mode by" in line
    found = json.loads(proxyctl("nodes", "list", "--no-ask", "--format", "json").out)
    (node,) = (one for one in found["groups"][0]["nodes"] if one["hostname"] == reader)
    assert node["drained"] is True
    assert node["drain"]["method"] == "pxc_maint_mode"
    again = proxyctl("nodes", "drain", reader)
    assert "is drained already: drained with pxc_maint_mode" in again.out
    back = proxyctl("nodes", "restore", reader)
    assert back.code == 0, back.text
    assert "is back (drained with pxc_maint_mode by" in back.out


def test_what_the_node_does_not_let_us_do_changes_nothing(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    reader = sorted(online(placement(proxysql.instance)[30]))[0]
    before = rows(proxysql.instance, "runtime_mysql_servers")
    node = cluster.nodes[reader]
    node.refuses_to_set = True
    with pytest.raises(InstanceError) as denied:
        taken_out(proxysql, reader)
    assert "Access denied" in denied.value.message
    assert "SYSTEM_VARIABLES_ADMIN" in (denied.value.hint or "")
    node.refuses_to_set = False
    node.pxc_maint_mode = None
    with pytest.raises(RefusedError) as refused:
        taken_out(proxysql, reader)
    assert "it is no Percona XtraDB Cluster" in "\n".join(refused.value.lines())
    node.pxc_maint_mode = "DISABLED"
    node.transition_s = 3600
    with pytest.raises(RefusedError) as refused:
        taken_out(proxysql, reader)
    assert "keeps whoever sets pxc_maint_mode waiting" in "\n".join(refused.value.lines())
    node.transition_s = 0
    node.is_up = False
    with pytest.raises(InstanceError, match="--backend-user"):
        raise_with_hint(lambda: taken_out(proxysql, reader))
    node.is_up = True
    assert on_record(proxysql) == []
    until(lambda: rows(proxysql.instance, "runtime_mysql_servers") == before)


def raise_with_hint(action: object) -> None:
    try:
        action()  # type: ignore[operator]
    except InstanceError as error:
        raise InstanceError("\n".join(error.lines())) from error


def test_what_somebody_else_set_is_left_alone(proxysql: ProxySQL, cluster: GaleraCluster) -> None:
    reader = sorted(online(placement(proxysql.instance)[30]))[0]
    cluster.nodes[reader].pxc_maint_mode = "MAINTENANCE"
    until(lambda: not serving(proxysql, reader))
    with pytest.raises(RefusedError) as refused:
        taken_out(proxysql, reader)
    assert "MAINTENANCE already, and not by nodes drain" in "\n".join(refused.value.lines())
    assert cluster.nodes[reader].pxc_maint_mode == "MAINTENANCE"


def test_the_last_reader_is_not_taken_out(proxysql: ProxySQL, cluster: GaleraCluster) -> None:
    first, second = sorted(online(placement(proxysql.instance)[30]))
    taken_out(proxysql, first)
    with pytest.raises(RefusedError) as refused:
        taken_out(proxysql, second)
    assert "last usable node of hostgroup 30" in "\n".join(refused.value.lines())
    assert cluster.nodes[second].pxc_maint_mode == "DISABLED"


def test_a_monitor_that_does_not_look_gets_it_put_back(
    proxysql: ProxySQL, cluster: GaleraCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node says MAINTENANCE to us, and something else to the monitor."""
    monkeypatch.setattr("proxyctl.draining.placing._LEAST_WAIT_S", 1.0)
    reader = sorted(online(placement(proxysql.instance)[30]))[0]
    before = rows(proxysql.instance, "runtime_mysql_servers")
    cluster.nodes[reader].hides_maint_mode = True
    with pytest.raises(ApplyError, match="the monitor did not take"):
        taken_out(proxysql, reader)
    assert cluster.nodes[reader].pxc_maint_mode == "DISABLED"
    assert on_record(proxysql) == []
    assert rows(proxysql.instance, "runtime_mysql_servers") == before


def test_a_signal_while_the_node_makes_us_wait_puts_it_back(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    old = writer(proxysql)
    node = cluster.nodes[old]
    node.transition_s = 10

    def interrupt() -> None:
        until(lambda: node.pxc_maint_mode == "MAINTENANCE")
        node.transition_s = 0
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(InterruptedApplyError, match="is not drained"):
        taken_out(proxysql, old)
    thread.join()
    assert node.pxc_maint_mode == "DISABLED"
    assert on_record(proxysql) == []
    settle(proxysql.instance, HOSTS)


def test_a_node_that_cannot_be_put_back_stays_on_record(
    proxysql: ProxySQL, cluster: GaleraCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proxyctl.draining.placing._LEAST_WAIT_S", 1.0)
    reader = sorted(online(placement(proxysql.instance)[30]))[0]
    node = cluster.nodes[reader]
    node.hides_maint_mode = True

    def refuse() -> None:
        until(lambda: node.pxc_maint_mode == "MAINTENANCE")
        node.refuses_to_set = True

    thread = threading.Thread(target=refuse)
    thread.start()
    with pytest.raises(ApplyError) as failed:
        taken_out(proxysql, reader)
    thread.join()
    assert "could not be put back" in str(failed.value)
    assert f"nodes restore {reader}" in (failed.value.hint or "")
    assert on_record(proxysql) == [False]
    node.refuses_to_set = node.hides_maint_mode = False
    assert put_back(proxysql, reader).was_drained
    assert node.pxc_maint_mode == "DISABLED"
    assert on_record(proxysql) == []


def test_a_drain_whose_note_is_lost_is_ended_by_its_name(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    reader = sorted(online(placement(proxysql.instance)[30]))[0]
    taken_out(proxysql, reader)
    proxysql.restart()
    until(lambda: len(online(placement(proxysql.instance)[10])) == 1)
    until(lambda: not serving(proxysql, reader))
    assert on_record(proxysql) == []
    assert not put_back(proxysql, reader).was_drained
    assert cluster.nodes[reader].pxc_maint_mode == "MAINTENANCE"
    assert put_back(proxysql, reader, MAINT).was_drained
    assert cluster.nodes[reader].pxc_maint_mode == "DISABLED"
    assert serving(proxysql, reader)


def test_a_node_that_restarts_ends_it_by_itself(proxysql: ProxySQL, cluster: GaleraCluster) -> None:
    reader = sorted(online(placement(proxysql.instance)[30]))[0]
    taken_out(proxysql, reader)
    cluster.nodes[reader].pxc_maint_mode = "DISABLED"
    until(lambda: bool(serving(proxysql, reader)))
    (note,) = plan(proxysql, files(cluster, HOSTS)).taken_out
    said = f"{reader}:{cluster.port} takes connections again, though on record as drained with"
    assert note.startswith(said)
    assert not put_back(proxysql, reader).was_drained
    assert on_record(proxysql) == []
    assert not plan(proxysql, files(cluster, HOSTS)).taken_out


def running_query(server: ProxySQL, hostgroup: int) -> Instance:
    """Return a login whose queries go to one hostgroup."""
    for sql in (
        "DELETE FROM mysql_query_rules",
        "LOAD MYSQL QUERY RULES TO RUNTIME",
        f"REPLACE INTO mysql_users(username, password, default_hostgroup)"
        f" VALUES ('app', 'app', {hostgroup})",
        "LOAD MYSQL USERS TO RUNTIME",
    ):
        server.instance.execute(sql)
    return Instance("127.0.0.1", server.traffic_port, "app", "app")


@pytest.mark.parametrize(("hostgroup", "is_kept"), [(10, True), (30, True), (20, False)])
def test_running_queries_are_waited_for_but_not_of_backup_writers(
    proxysql: ProxySQL, cluster: GaleraCluster, hostgroup: int, is_kept: bool
) -> None:
    host = sorted(online(placement(proxysql.instance)[hostgroup]))[0]
    node = cluster.nodes[host]
    for one in cluster.nodes.values():
        one.is_slow = True
    client = running_query(proxysql, hostgroup)
    answers: list[str | None] = []
    threads = [
        threading.Thread(target=lambda: answers.append(answer_of(client)), daemon=True)
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    until(lambda: "SELECT slow()" in node.queries)
    done = taken_out(proxysql, host)
    said: list[str] = []
    with AdminClient(login(proxysql)) as admin:
        if is_kept:
            with pytest.raises(ApplyError, match="still in use"):
                wait_until_unused(
                    admin, done.node, timeout_s=0.5, progress=said.append, method=MAINT
                )
        for one in cluster.nodes.values():
            one.is_slow = False
        wait_until_unused(admin, done.node, timeout_s=30, progress=said.append, method=MAINT)
    for thread in threads:
        thread.join(30)
    assert len(answers) == 8
    assert (host in answers) is is_kept
    # ProxySQL sends a read whose connection it cut itself to another node.
    assert not [answer for answer in answers if "error" in (answer or "")]


def answer_of(instance: Instance) -> str | None:
    """Return the node that answered, or the error."""
    with closing(instance.connect()) as connection:
        try:
            return run(connection, "SELECT slow()").rows[0][0]
        except pymysql.err.MySQLError as error:
            return f"error {error}"


def test_a_node_that_is_removed_in_maintenance_is_off_the_record(
    proxysql: ProxySQL,
    cluster: GaleraCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = Project(tmp_path, monkeypatch)
    project.connect(replace(proxysql.instance, user="radmin", password="radmin"))
    reader = min(online(placement(proxysql.instance)[30]))
    taken_out(proxysql, reader)
    project.write(yaml_of(cluster, [host for host in HOSTS if host != reader]))
    done = proxyctl("apply", "--auto-approve")
    assert done.code == 0, done.text
    assert f"{reader}:{cluster.port} was drained with pxc_maint_mode by anna on ops1" in done.out
    assert "SET GLOBAL pxc_maint_mode = 'DISABLED'" in done.out
    assert on_record(proxysql) == []

    cluster.nodes[reader].pxc_maint_mode = "DISABLED"
    project.write(yaml_of(cluster, HOSTS))
    assert proxyctl("apply", "--auto-approve").code == 0
    until(lambda: bool(serving(proxysql, reader)))
    assert "on record" not in proxyctl("drift").out


def test_a_node_that_was_removed_by_hand_is_taken_off_the_record(
    proxysql: ProxySQL, cluster: GaleraCluster
) -> None:
    reader = min(online(placement(proxysql.instance)[30]))
    taken_out(proxysql, reader)
    for sql in (
        f"DELETE FROM mysql_servers WHERE hostname='{reader}'",
        "LOAD MYSQL SERVERS TO RUNTIME",
    ):
        proxysql.instance.execute(sql)
    back = put_back(proxysql, reader)
    assert (back.is_gone, back.was_drained) == (True, False)
    assert cluster.nodes[reader].pxc_maint_mode == "DISABLED"
    assert on_record(proxysql) == []


def yaml_of(cluster: GaleraCluster, hosts: list[str]) -> str:
    """Return files with these nodes."""
    lines = [
        "version: 1",
        "mysql_galera_hostgroups:",
        "  - {writer_hostgroup: 10, backup_writer_hostgroup: 20, reader_hostgroup: 30,"
        " offline_hostgroup: 40, writer_is_also_reader: 2}",
        "mysql_servers:",
        *(f"  - {{hostgroup_id: 10, hostname: {host}, port: {cluster.port}}}" for host in hosts),
    ]
    return "\n".join(lines) + "\n"
