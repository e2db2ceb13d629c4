"""Drains that are over, though on record: undone by hand, or the server is gone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.journeys.drained_servers import drained, layer, servers, statuses
from tests.support.cli import proxyctl
from tests.support.servers import Instance

__all__ = ["servers"]


def test_a_drain_that_somebody_undid_is_no_drain(servers: Instance) -> None:
    drained("db2")
    servers.execute("LOAD MYSQL SERVERS TO RUNTIME")
    assert statuses(servers, "db2") == {"ONLINE"}
    listed = proxyctl("nodes", "list", "--no-ask").out
    assert listed.count("takes connections again, though on record as drained by") == 2
    (node,) = nodes_named("db2", 20)
    assert (node["drained"], node["drain"]["ended"]) == (False, "serves")
    said = proxyctl("nodes", "restore", "db2")
    assert "db2:3306 is as configured; it did not show as drained any more" in said.out
    assert "drained" not in proxyctl("nodes", "list", "--no-ask").out


def nodes_named(host: str, hostgroup: int) -> list[dict[str, Any]]:
    """Return what nodes list has of a server in a hostgroup."""
    groups = proxyctl("nodes", "list", "--no-ask", "--format", "json").json["groups"]
    return [
        node
        for group in groups
        if group["hostgroups"][0]["hostgroup_id"] == hostgroup
        for node in group["nodes"]
        if node["hostname"] == host
    ]


def test_a_drained_server_that_somebody_removed_is_said_until_it_is_off_the_record(
    servers: Instance,
) -> None:
    drained("db3", "--force", "--reason", "old")
    assert nodes_named("db3", 20)[0]["drain"]["ended"] is None
    for sql in ("DELETE FROM mysql_servers WHERE hostname='db3'", "LOAD MYSQL SERVERS TO RUNTIME"):
        servers.execute(sql)
    gone = "db3:3307 is not at RUNTIME any more, though on record as drained by"
    assert gone in proxyctl("nodes", "list", "--no-ask").out
    (node,) = proxyctl("nodes", "list", "--no-ask", "--format", "json").json["removed"]
    assert (node["hostname"], node["port"], node["drain"]["reason"]) == ("db3", 3307, "old")
    assert gone in proxyctl("drift").out

    restored = proxyctl("nodes", "restore", "db3")
    assert restored.code == 0, restored.text
    assert "db3:3307 is no server any more, and is off the record (drained by" in restored.out
    assert "db3" not in proxyctl("nodes", "list", "--no-ask").out


@pytest.mark.parametrize(
    "removes", ["DELETE FROM mysql_servers", "UPDATE mysql_servers SET status='OFFLINE_HARD'"]
)
def test_a_drained_server_that_somebody_removed_is_not_drained_again(
    servers: Instance, removes: str
) -> None:
    drained("db3", "--force", "--reason", "old")
    for sql in (f"{removes} WHERE hostname='db3'", "LOAD MYSQL SERVERS TO RUNTIME"):
        servers.execute(sql)
    before = layer(servers, "runtime_mysql_servers")
    again = proxyctl("nodes", "drain", "db3", "--force")
    assert again.code == 64, again.text
    assert "db3: no such node" in again.err
    assert "proxyctl nodes restore db3:3307 takes it off the record" in again.err
    assert layer(servers, "runtime_mysql_servers") == before
    assert "drained by" in proxyctl("nodes", "list", "--no-ask").out
    said = proxyctl("nodes", "restore", "db3").out
    assert "db3:3307 is no server any more" in said
    assert "DISK still has it: a restart of ProxySQL brings that back" in said
    again = proxyctl("nodes", "drain", "db3", "--force")
    assert "no such node" in again.err or "db3:3307 has OFFLINE_HARD in MEMORY" in again.err
    assert layer(servers, "runtime_mysql_servers") == before


def test_a_drain_that_somebody_undid_is_said_until_it_is_off_the_record(servers: Instance) -> None:
    drained("db2", "--reason", "new disks")
    servers.execute("LOAD MYSQL SERVERS TO RUNTIME")
    drift = proxyctl("drift")
    assert drift.code == 0, drift.text
    assert "no drift (db2:3306 takes connections again, though on record as drained by" in drift.out
    assert "UTC: new disks)" in drift.out

    assert proxyctl("nodes", "restore", "db2").code == 0
    assert "db2" not in proxyctl("drift").out


def test_a_drain_that_somebody_undid_in_one_hostgroup_is_said_too(servers: Instance) -> None:
    drained("db2")
    servers.execute("UPDATE mysql_servers SET status='OFFLINE_SOFT' WHERE hostgroup_id=20")
    servers.execute("LOAD MYSQL SERVERS TO RUNTIME")
    assert statuses(servers, "db2") == {"ONLINE", "OFFLINE_SOFT"}
    assert nodes_named("db2", 10)[0]["drain"]["ended"] == "serves"
    assert nodes_named("db2", 20)[0]["drain"]["ended"] is None
