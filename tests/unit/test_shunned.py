"""Which SHUNNED servers ProxySQL never uses again, and what a plan makes of them."""

from __future__ import annotations

from dataclasses import dataclass, field

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


@dataclass(frozen=True)
class ShunnedCase:
    """Servers of each layer, the families that a monitor places, and those that stay SHUNNED."""

    runtime: str
    memory: str
    disk: str
    families: tuple[Family, ...] = ()
    staying: set[tuple[int, str]] = field(default_factory=set)


CASES = {
    "in all layers": ShunnedCase(
        runtime=SHUNNED, memory=SHUNNED, disk=SHUNNED, staying={(10, "a")}
    ),
    "not yet saved": ShunnedCase(runtime=SHUNNED, memory=SHUNNED, disk=ONLINE, staying={(10, "a")}),
    "loaded at the start, then edited in MEMORY": ShunnedCase(
        runtime=SHUNNED, memory=ONLINE, disk=SHUNNED, staying={(10, "a")}
    ),
    "in lower case in MEMORY": ShunnedCase(
        runtime=SHUNNED, memory="10 a shunned, 20 b", disk=ONLINE, staying={(10, "a")}
    ),
    "by ProxySQL itself": ShunnedCase(runtime=SHUNNED, memory=ONLINE, disk=ONLINE),
    "one of each": ShunnedCase(
        runtime="10 a SHUNNED, 20 b SHUNNED", memory=SHUNNED, disk=SHUNNED, staying={(10, "a")}
    ),
    "ended at RUNTIME": ShunnedCase(runtime=ONLINE, memory=SHUNNED, disk=SHUNNED),
    "a server that MEMORY lacks": ShunnedCase(runtime="10 a SHUNNED", memory="20 b", disk="20 b"),
    "during a blue/green switch": ShunnedCase(
        runtime="10 a SHUNNED_AWS_BGD", memory=SHUNNED, disk=SHUNNED
    ),
    "a writer of replication hostgroups": ShunnedCase(
        runtime=SHUNNED, memory=SHUNNED, disk=SHUNNED, families=(REPLICATION,), staying={(10, "a")}
    ),
    "a reader of replication hostgroups": ShunnedCase(
        runtime="10 a, 20 b SHUNNED",
        memory="10 a, 20 b SHUNNED",
        disk="10 a, 20 b SHUNNED",
        families=(REPLICATION,),
        staying={(20, "b")},
    ),
    "where the monitor has moved the node": ShunnedCase(
        runtime="20 a SHUNNED", memory="10 a SHUNNED", disk="10 a SHUNNED", families=(REPLICATION,)
    ),
    "a member of a group": ShunnedCase(
        runtime=SHUNNED, memory=SHUNNED, disk=SHUNNED, families=(MEMBERS,), staying={(10, "a")}
    ),
    "in any hostgroup of Galera": ShunnedCase(
        runtime="10 a SHUNNED, 30 b SHUNNED",
        memory="10 a SHUNNED, 30 b SHUNNED",
        disk=SHUNNED,
        families=(GALERA,),
    ),
    "beside Galera": ShunnedCase(
        runtime="50 a SHUNNED",
        memory="50 a SHUNNED",
        disk="50 a",
        families=(GALERA,),
        staying={(50, "a")},
    ),
    "of Galera behind PostgreSQL's number": ShunnedCase(
        runtime=SHUNNED,
        memory=SHUNNED,
        disk=SHUNNED,
        families=(Family("galera", 10, frozenset({10}), protocol="pgsql"),),
        staying={(10, "a")},
    ),
}


def online(hostgroup, host):
    return {"hostgroup_id": hostgroup, "hostname": host, "status": "ONLINE"}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_which_stay_shunned(case):
    layers = (servers(text) for text in (case.runtime, case.memory, case.disk))
    found = stays_shunned(SERVERS, *layers, Topology(case.families))
    assert {key[:2] for key in found} == case.staying


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_only_those_differ_at_runtime(case):
    """The files have every server of RUNTIME, as ONLINE."""
    wanted = desired(
        "mysql_servers",
        *(online(*key[:2]) for key in servers(case.runtime)),
    )
    found = diff(
        wanted,
        servers(case.memory),
        runtime=servers(case.runtime),
        disk=servers(case.disk),
        topologies=placed(*case.families),
    )
    status = SERVERS.index["status"]
    differing = {
        change.key[:2] for change in found.changes[Layer.RUNTIME] if status in change.columns
    }
    assert differing == case.staying


def test_a_member_of_a_cluster_compares_memory_by_family_and_still_sees_it():
    wanted = desired("mysql_servers", online(10, "a"))
    found = diff(
        wanted,
        servers("10 a SHUNNED"),
        topologies=placed(REPLICATION, is_cluster_member=True),
    )
    assert [len(found.changes[layer]) for layer in Layer] == [1, 1, 1]
    assert found.as_placed == ()
