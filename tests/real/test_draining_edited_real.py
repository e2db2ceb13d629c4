"""The writer of a Galera family is drained while somebody edits MEMORY: neither lost nor published.

A real ProxySQL, with simulated nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from proxyctl.admin.client import AdminClient
from proxyctl.admin.lock import break_lock
from proxyctl.draining import DrainRequest, drain
from proxyctl.errors import ApplyError
from proxyctl.sql import Statement
from tests.faults.proxy import Exchange, FaultyProxy
from tests.faults.wire import error_packet
from tests.real.edited_meanwhile import edited_meanwhile
from tests.real.galera_rig import cluster, proxysql
from tests.real.test_draining_real import until, writer
from tests.real.test_galera_placement import login
from tests.support.cli import Project, proxyctl
from tests.support.galera_nodes import GaleraCluster
from tests.support.placement_samples import Sampler, online, placement
from tests.support.servers import Instance, ProxySQL

__all__ = ["cluster", "proxysql"]

pytestmark = pytest.mark.real

WEIGHTS = "SELECT DISTINCT weight FROM {}mysql_servers WHERE hostgroup_id BETWEEN 10 AND 40"
PLAIN = [
    "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (1, 'plain1')",
    "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (1, 'plain2')",
]
EDITS = [
    "UPDATE mysql_servers SET status='OFFLINE_HARD' WHERE hostname='plain1'",
    "UPDATE mysql_servers SET max_connections=33 WHERE hostname='plain2'",
    "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (1, 'plain3')",
    "INSERT INTO mysql_replication_hostgroups VALUES (70, 71, 'read_only', '')",
]
TABLES = ("runtime_mysql_servers", "disk.mysql_servers", "runtime_mysql_replication_hostgroups")


@pytest.fixture
def shop(proxysql: ProxySQL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Instance]:
    """The instance that proxyctl goes to, with servers outside of the family."""
    project = Project(tmp_path, monkeypatch)
    project.connect(replace(proxysql.instance, user="radmin", password="radmin"))
    before = placement(proxysql.instance)
    # Nobody answers there.
    proxysql.instance.execute("SET mysql-monitor_ping_max_failures=1000")
    proxysql.instance.execute("LOAD MYSQL VARIABLES TO RUNTIME")
    proxysql.instance.execute("SAVE MYSQL SERVERS TO MEMORY")
    for sql in (
        "DELETE FROM mysql_servers WHERE hostgroup_id<>10",
        "UPDATE mysql_servers SET status='ONLINE'",
        *PLAIN,
        "LOAD MYSQL SERVERS TO RUNTIME",
        "SAVE MYSQL SERVERS TO DISK",
    ):
        proxysql.instance.execute(sql)
    until(
        lambda: (
            {key: online(placement(proxysql.instance)[key]) for key in (10, 30)}
            == {key: online(before[key]) for key in (10, 30)}
        )
    )
    return proxysql.instance


def layers(instance: Instance) -> list[list[tuple[str | None, ...]]]:
    return [instance.query(f"SELECT * FROM {table} ORDER BY 1, 2") for table in TABLES]


def test_edits_stop_the_drain_of_a_writer_and_stay_where_they_are(
    proxysql: ProxySQL, cluster: GaleraCluster, shop: Instance
) -> None:
    before, old = layers(shop), writer(proxysql)
    with Sampler(shop, usable=True) as sampler, edited_meanwhile(shop, *EDITS):
        done = proxyctl("nodes", "drain", old)
    assert done.code == 4, done.text
    assert (
        "edited while the writer moved: mysql_servers 1:plain1:3306, mysql_servers 1:plain2:3306,"
        " mysql_servers 1:plain3:3306, mysql_replication_hostgroups 70" in done.err
    )
    assert "--include-pending" in done.err
    until(lambda: layers(shop) == before)
    sampler.check()
    edits = "SELECT hostname, status, max_connections FROM mysql_servers WHERE hostgroup_id=1"
    assert shop.query(f"{edits} ORDER BY 1") == [
        ("plain1", "OFFLINE_HARD", "1000"),
        ("plain2", "ONLINE", "33"),
        ("plain3", "ONLINE", "1000"),
    ]
    assert shop.query("SELECT count(*) FROM mysql_replication_hostgroups") == [("1",)]
    assert shop.query(WEIGHTS.format("")) == [("1",)]
    assert proxyctl("nodes", "drain", old).code == 3  # the edits are pending now


def test_with_include_pending_they_are_loaded(
    proxysql: ProxySQL, cluster: GaleraCluster, shop: Instance
) -> None:
    old = writer(proxysql)
    with edited_meanwhile(shop, EDITS[1]):
        done = proxyctl("nodes", "drain", old, "--include-pending")
    assert done.code == 0, done.text
    limit = "SELECT max_connections FROM {}mysql_servers WHERE hostname='plain2'"
    found = [shop.query(limit.format(layer)) for layer in ("runtime_", "", "disk.")]
    assert found == [[("33",)], [("33",)], [("1000",)]]


def test_they_do_not_take_the_last_reader_beside_the_drained_node(
    proxysql: ProxySQL, cluster: GaleraCluster, shop: Instance
) -> None:
    """One reader becomes the writer; the drained node stands in its place, and serves nobody."""
    old = writer(proxysql)
    reader = min(online(placement(shop)[30]))
    edit = f"UPDATE mysql_servers SET max_connections=0 WHERE hostname='{reader}'"
    with edited_meanwhile(shop, edit):
        done = proxyctl("nodes", "drain", old, "--include-pending")
    assert done.code == 4, done.text
    assert "edits were made while the writer moved" in done.err
    assert "hostgroup 30 would have no usable node: edits in MEMORY take its last one" in done.err
    until(lambda: online(placement(shop, usable=True)[10]) == {old})
    assert reader in online(placement(shop, usable=True)[30])
    assert shop.query(f"SELECT max_connections FROM mysql_servers WHERE hostname='{reader}'") == [
        ("0",)
    ]


def test_one_that_cannot_go_on_once_the_writer_moved_does_not_say_that_nothing_was_changed(
    proxysql: ProxySQL, cluster: GaleraCluster, shop: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The edit comes between the last look at MEMORY and the second LOAD."""
    old, before = writer(proxysql), layers(shop)
    stages: list[str] = []

    def edit(_connection: int, sql: str, _answer: bytes) -> None:
        if "stage='staging MEMORY'" in sql:
            stages.append(sql)
            if len(stages) == 2:
                shop.execute(EDITS[1])

    with FaultyProxy(shop.host, shop.port) as proxy:
        monkeypatch.setenv("PROXYCTL_PORT", str(proxy.port))
        proxy.watch = edit
        stopped = proxyctl("nodes", "drain", old)
        proxy.settle()
    assert stopped.code == 4, stopped.text
    assert "mysql_servers 1:plain2:3306: max_connections asked 1000, holds 33" in stopped.err
    assert "what the drain had loaded before was taken back" in stopped.err
    until(lambda: layers(shop) == before)


def delete_lock(client: AdminClient) -> None:
    """Remove the row of the lock by hand, and with it whose rows stand where."""
    client.execute(Statement.plain("DELETE FROM proxyctl_lock"))


@pytest.mark.parametrize("take_away", [break_lock, delete_lock])
@pytest.mark.parametrize("then", ["restore", "drain"])
def test_a_writer_that_was_moved_when_the_lock_was_lost_is_said_to_be_half_drained(
    proxysql: ProxySQL,
    cluster: GaleraCluster,
    shop: Instance,
    take_away: Callable[[AdminClient], object],
    then: str,
) -> None:
    old, before = writer(proxysql), layers(shop)
    with AdminClient(login(proxysql)) as other, AdminClient(login(proxysql)) as client:

        def unlock(text: str) -> None:
            if "writes now" in text:
                take_away(other)

        with pytest.raises(ApplyError, match="the lock was removed") as failed:
            drain(client, DrainRequest(old, progress=unlock))
    said = "\n".join(failed.value.lines())
    assert "is half drained: what the drain had loaded was not taken back" in said
    assert "run plan again" not in said
    for command in (then, "restore"):
        done = proxyctl("nodes", command, old)
        assert done.code == 0, done.text
    until(lambda: layers(shop) == before)


def test_a_restore_that_failed_does_not_make_an_edit_its_own(
    proxysql: ProxySQL, cluster: GaleraCluster, shop: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RUNTIME keeps the weight of a drain: only the record tells that MEMORY was edited since."""
    reader = min(online(placement(shop)[30]))
    edit = "UPDATE mysql_servers SET weight={} WHERE hostname='" + reader + "'"

    def refused(exchange: Exchange) -> None:
        exchange.deliver(error_packet("a fault of the test"))

    with FaultyProxy(shop.host, shop.port) as proxy:
        monkeypatch.setenv("PROXYCTL_PORT", str(proxy.port))
        codes: list[int] = []
        for weight in (3, 4):
            assert proxyctl("nodes", "drain", reader).code == 0
            shop.execute(edit.format(weight))
            loads = [place for place, sql in proxy.log if sql.startswith("LOAD MYSQL SERVERS")]
            proxy.arm(dict.fromkeys(loads, refused) if codes else {})
            codes.append(proxyctl("nodes", "restore", reader, "--include-pending").code)
            proxy.settle()
        assert codes == [0, 4]
        limit = f"SELECT max_connections FROM runtime_mysql_servers WHERE hostname='{reader}'"
        assert {*shop.query(limit)} == {("0",)}
        proxy.arm({})
        again = proxyctl("nodes", "restore", reader)
    assert again.code == 3, again.text
    assert "were edited in MEMORY since it was drained" in again.err
