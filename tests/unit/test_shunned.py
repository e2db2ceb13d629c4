"""Which SHUNNED servers ProxySQL never uses again, and what a plan makes of them."""

from __future__ import annotations

import pytest

from proxyctl.proxysql.servers import stays_shunned
from proxyctl.proxysql.topology import Family, Topology
from proxyctl.rows.row import Layer
from tests.support.build import desired, diff, layout, placed, servers

SERVERS = layout("mysql_servers")
GALERA = Family("galera", 10, frozenset({10, 20, 30, 40}), offline=40, backup=20)
MEMBERS = Family("group_replication", 10, GALERA.hostgroups, offline=40, backup=20)
REPLICATION = Family("replication", 10, frozenset({10, 20}))
SHUNNED, ONLINE = "10 a SHUNNED, 20 b", "10 a, 20 b"

CASES = {
    "in all layers": (SHUNNED, SHUNNED, SHUNNED, [], {(10, "a")}),
    "not yet saved": (SHUNNED, SHUNNED, ONLINE, [], {(10, "a")}),
    "loaded at the start, then edited in MEMORY": (SHUNNED, ONLINE, SHUNNED, [], {(10, "a")}),
    "in lower case in MEMORY": (SHUNNED, "10 a shunned, 20 b", ONLINE, [], {(10, "a")}),
    "by ProxySQL itself": (SHUNNED, ONLINE, ONLINE, [], set()),
    "one of each": ("10 a SHUNNED, 20 b SHUNNED", SHUNNED, SHUNNED, [], {(10, "a")}),
    "ended at RUNTIME": (ONLINE, SHUNNED, SHUNNED, [], set()),
    "a server that MEMORY lacks": ("10 a SHUNNED", "20 b", "20 b", [], set()),
    "during a blue/green switch": ("10 a SHUNNED_AWS_BGD", SHUNNED, SHUNNED, [], set()),
    "a writer of replication hostgroups": (SHUNNED, SHUNNED, SHUNNED, [REPLICATION], {(10, "a")}),
    "a reader of replication hostgroups": (
        *("10 a, 20 b SHUNNED", "10 a, 20 b SHUNNED", "10 a, 20 b SHUNNED", [REPLICATION]),
        {(20, "b")},
    ),
    "where the monitor has moved the node": (
        *("20 a SHUNNED", "10 a SHUNNED", "10 a SHUNNED", [REPLICATION], set()),
    ),
    "a member of a group": (SHUNNED, SHUNNED, SHUNNED, [MEMBERS], {(10, "a")}),
    "in any hostgroup of Galera": (
        *("10 a SHUNNED, 30 b SHUNNED", "10 a SHUNNED, 30 b SHUNNED", SHUNNED, [GALERA], set()),
    ),
    "beside Galera": ("50 a SHUNNED", "50 a SHUNNED", "50 a", [GALERA], {(50, "a")}),
    "of Galera behind PostgreSQL's number": (
        *(SHUNNED, SHUNNED, SHUNNED, [Family("galera", 10, frozenset({10}), protocol="pgsql")]),
        {(10, "a")},
    ),
}
"""RUNTIME, MEMORY, DISK, the families that a monitor places, and the servers that stay SHUNNED."""


def online(hostgroup, host):
    return {"hostgroup_id": hostgroup, "hostname": host, "status": "ONLINE"}


@pytest.mark.parametrize(
    ("runtime", "memory", "disk", "families", "staying"), CASES.values(), ids=CASES
)
def test_which_stay_shunned(runtime, memory, disk, families, staying):
    layers = (servers(text) for text in (runtime, memory, disk))
    found = stays_shunned(SERVERS, *layers, Topology(tuple(families)))
    assert {key[:2] for key in found} == staying


@pytest.mark.parametrize(
    ("runtime", "memory", "disk", "families", "staying"), CASES.values(), ids=CASES
)
def test_only_those_differ_at_runtime(runtime, memory, disk, families, staying):
    """The files have every server of RUNTIME, as ONLINE."""
    wanted = desired(
        "mysql_servers",
        *(online(*key[:2]) for key in servers(runtime)),
    )
    found = diff(
        wanted,
        servers(memory),
        runtime=servers(runtime),
        disk=servers(disk),
        topologies=placed(*families),
    )
    status = SERVERS.index["status"]
    differing = {
        change.key[:2] for change in found.changes[Layer.RUNTIME] if status in change.columns
    }
    assert differing == staying


def test_a_member_of_a_cluster_compares_memory_by_family_and_still_sees_it():
    wanted = desired("mysql_servers", online(10, "a"))
    found = diff(
        wanted,
        servers("10 a SHUNNED"),
        topologies=placed(REPLICATION, is_cluster_member=True),
    )
    assert [len(found.changes[layer]) for layer in Layer] == [1, 1, 1]
    assert found.as_placed == ()
