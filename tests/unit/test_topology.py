"""Monitored families: their differences, and the rows that a LOAD needs to move no server."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from proxyctl.plan.change import changes_of
from proxyctl.plan.guards.deletes import deletions
from proxyctl.plan.guards.hostgroups import Needs, Servers, emptied_hostgroups
from proxyctl.plan.steps import with_images
from proxyctl.proxysql.compare_servers import compare_servers
from proxyctl.proxysql.placement import placed_rows, with_successors
from proxyctl.proxysql.topology import Family, MonitorSettings, Topology
from proxyctl.rows.desired import GuardLimits
from proxyctl.rows.row import Layer
from tests.support.build import (
    desired,
    diff,
    layout,
    module_plan,
    placed,
    rows,
    servers,
    servers_text,
)

SERVERS = layout("mysql_servers")
GALERA = Family("galera", 10, frozenset({10, 20, 30, 40}), offline=40, backup=20)
DISCOVERS = Family("group_replication", 10, GALERA.hostgroups, offline=40, discovers=True)
REPLICATION = Family("replication", 10, frozenset({10, 30}), reader=30)
READING_WRITER = replace(REPLICATION, writer_is_also_reader=1)
CONFIGURED = "10 n1, 10 n2, 10 n3"
PLACED = "10 n1, 10 n2 SHUNNED, 10 n3 SHUNNED, 20 n2, 20 n3, 30 n2, 30 n3"
HEAVIER = (
    "10 n1, 10 n2 SHUNNED weight=7, 10 n3 SHUNNED, 20 n2 weight=7, 20 n3, 30 n2 weight=7, 30 n3"
)


def wanted(text):
    """The servers of files that leave the status alone."""
    names = [name for name in SERVERS.names if name != "status"]
    found = (dict(zip(SERVERS.names, server, strict=True)) for server in servers(text).values())
    return desired("mysql_servers", *({name: server[name] for name in names} for server in found))


@pytest.mark.parametrize(
    ("files", "families", "different"),
    [
        pytest.param(
            *(CONFIGURED, [], [(20, "n2"), (20, "n3"), (30, "n2"), (30, "n3")]),
            id="without the monitor every row counts",
        ),
        pytest.param(
            *(f"{CONFIGURED}, 10 n4", [GALERA], [(10, "n4")]),
            id="a node that is nowhere in its family",
        ),
        pytest.param(
            *("10 n1, 10 n2", [GALERA], [(10, "n3"), (20, "n3"), (30, "n3")]),
            id="a node that is in no file",
        ),
        pytest.param("10 n1, 10 n2", [DISCOVERS], [], id="one that the monitor discovered"),
        pytest.param(
            *("10 n1, 10 n2 weight=7, 10 n3", [GALERA], [(10, "n2")] * 3),
            id="an attribute in every row of its node",
        ),
    ],
)
def test_what_differs_at_runtime(files, families, different):
    topology = Topology(tuple(families))
    verdict = compare_servers(SERVERS, servers(PLACED), wanted(files).rows, topology)
    assert sorted(difference.key[:2] for difference in verdict.differences) == different
    assert verdict.discovered == [("n3", 3306)] * (families == [DISCOVERS])


def test_every_placed_row_of_a_cluster_member_is_staged_at_once():
    around = placed(GALERA, is_cluster_member=True)
    files = wanted("10 n1, 10 n2 weight=7, 10 n3")
    first = diff(files, servers(PLACED), topologies=around)
    assert servers_text(first.target) == HEAVIER
    assert diff(files, first.target, topologies=around).is_in_sync
    assert [change.key[:2] for change in changes_of(first)] == [(10, "n2")]


@pytest.mark.parametrize("is_member", [False, True])
def test_a_node_that_leaves_is_one_change_and_one_deletion(is_member):
    around = placed(GALERA, is_cluster_member=is_member)
    memory = servers(", ".join(f"10 n{n}" for n in range(12)))
    runtime = servers("10 n0, " + ", ".join(f"30 n{n}" for n in range(1, 12)))
    files = wanted(", ".join(f"10 n{n}" for n in range(10)))
    found = diff(files, runtime if is_member else memory, runtime=runtime, topologies=around)
    changes = changes_of(found)
    assert [(c.action, c.key[1]) for c in changes] == [("delete", "n10"), ("delete", "n11")]
    assert all(Layer.RUNTIME in c.layers and Layer.MEMORY in c.layers for c in changes)
    assert all(SERVERS.key_of(c.before) == c.key for c in changes)
    assert [*deletions([module_plan(found)], GuardLimits())] == []
    (refusal,) = deletions([module_plan(found)], GuardLimits(max_deletes_percent=16))
    assert refusal.message == (
        "mysql_servers: 2 of 12 rows would be deleted; the limit is 16 percent"
    )


OFFLINE_N1 = "10 n1 OFFLINE_HARD"


@dataclass(frozen=True)
class PlacementCase:
    """What is configured, where servers stand at RUNTIME, and what is loaded for a family.

    `removed` are the rows that the apply removes.
    """

    configured: str
    standing: str
    loaded: str
    removed: str = ""


LOADS = {
    "nobody moves, and attributes are published in every row": PlacementCase(
        configured="10 n1, 10 n2 weight=7, 10 n3", standing=PLACED, loaded=HEAVIER
    ),
    "a new node enters through the offline hostgroup": PlacementCase(
        configured=f"{CONFIGURED}, 10 n4", standing=PLACED, loaded=f"{PLACED}, 40 n4"
    ),
    "the first node enters where the files say": PlacementCase(
        configured=CONFIGURED, standing="", loaded=CONFIGURED
    ),
    # Equal weights: the higher name is elected.
    "the next in line takes the place of a writer that leaves": PlacementCase(
        configured="10 n2, 10 n3", standing=PLACED, loaded="10 n2 SHUNNED, 10 n3, 20 n2, 30 n2"
    ),
    "or of one that its status takes off": PlacementCase(
        configured=f"{OFFLINE_N1}, 10 n2, 10 n3",
        standing=PLACED,
        loaded=f"{OFFLINE_N1}, 10 n2 SHUNNED, 10 n3, 20 n2, 30 n2",
    ),
    "the last reader stays one when it becomes the writer": PlacementCase(
        configured="10 n2", standing="10 n1, 10 n2 SHUNNED, 30 n2", loaded="10 n2, 30 n2"
    ),
    "one that waits beside a writer does not become a second one": PlacementCase(
        configured="10 n1, 10 n2", standing="10 n1, 10 n2 SHUNNED", loaded="10 n1, 10 n2 SHUNNED"
    ),
    "SHUNNED is not loaded where nobody else writes": PlacementCase(
        configured="10 n1, 10 n2", standing="10 n2 SHUNNED, 40 n1", loaded="10 n2, 40 n1"
    ),
    "nor where the writer leaves": PlacementCase(
        configured="10 n2", standing="10 n1, 10 n2 SHUNNED", loaded="10 n2"
    ),
}
"""Cases of a Galera family."""


@pytest.mark.parametrize("case", LOADS.values(), ids=LOADS)
def test_a_load_moves_nobody(case):
    runtime = servers(case.standing)
    placed = placed_rows(SERVERS, servers(case.configured), runtime, Topology((GALERA,)))
    found = with_successors(SERVERS, placed, runtime, Topology((GALERA,)))
    assert servers_text(found) == case.loaded
    assert with_successors(SERVERS, runtime, runtime, Topology((GALERA,))) == runtime


def test_a_drained_node_or_one_in_maintenance_is_no_successor():
    staying = "10 n2 SHUNNED max_connections=0, 10 n3 SHUNNED, 30 n2 max_connections=0, 40 n3"
    runtime = servers(f"10 n1, {staying}")
    found = with_successors(SERVERS, servers(staying), runtime, Topology((GALERA,)))
    assert servers_text(found) == staying


def test_a_failed_over_replication_pair_stays_failed_over():
    runtime = servers("10 new, 30 new SHUNNED, 30 old")
    configured = servers("10 old, 30 new weight=9")
    loaded = placed_rows(SERVERS, configured, runtime, Topology((REPLICATION,)))
    assert servers_text(loaded) == "10 new weight=9, 30 new weight=9, 30 old"


PAIR = "10 new, 30 new"
ENTERING = {
    "an old master beside the writer": PlacementCase(
        configured="10 old, 30 new", standing=PAIR, loaded="10 new, 30 new, 30 old"
    ),
    "with the attributes of its row there": PlacementCase(
        configured="10 old, 30 old weight=9, 30 new",
        standing=PAIR,
        loaded="10 new, 30 new, 30 old weight=9",
    ),
    "beside a writer that is SHUNNED": PlacementCase(
        configured="10 old, 10 new", standing="10 new SHUNNED", loaded="10 new, 30 old"
    ),
    "where nobody writes": PlacementCase(
        configured="10 old, 30 new", standing="30 new", loaded="10 old, 30 new"
    ),
    "where the writer is drained": PlacementCase(
        configured="10 old, 10 new OFFLINE_SOFT",
        standing="10 new OFFLINE_SOFT",
        loaded="10 new OFFLINE_SOFT, 10 old",
    ),
    "in place of the writer": PlacementCase(configured="10 old", standing=PAIR, loaded="10 old"),
    "where nothing runs": PlacementCase(
        configured="10 old, 30 new", standing="", loaded="10 old, 30 new"
    ),
}
"""Cases of a replication family that `old` enters."""


@pytest.mark.parametrize("case", ENTERING.values(), ids=ENTERING)
def test_a_node_enters_a_replication_family_as_a_reader_if_another_writes(case):
    configured, standing = servers(case.configured), servers(case.standing)
    found = placed_rows(SERVERS, configured, standing, Topology((REPLICATION,)))
    assert servers_text(found) == case.loaded


READING = {
    "a reader row that is added": PlacementCase(
        configured="10 w, 30 w, 30 r", standing="10 w, 30 r", loaded="10 w, 30 r, 30 w"
    ),
    "one that is removed": PlacementCase(
        configured="10 w, 30 r", standing="10 w, 30 w, 30 r", removed="30 w", loaded="10 w, 30 r"
    ),
    "one that only the monitor made": PlacementCase(
        configured="10 w, 30 r", standing="10 w, 30 w, 30 r", loaded="10 w, 30 r, 30 w"
    ),
    "after a failover": PlacementCase(
        configured="10 w, 30 w, 30 r", standing="30 w, 10 r, 30 r", loaded="10 r, 30 r, 30 w"
    ),
    "of a server that became the writer": PlacementCase(
        configured="10 w, 30 r",
        standing="30 w, 10 r, 30 r",
        removed="30 r",
        loaded="10 r, 30 r, 30 w",
    ),
}
"""Cases of a replication family whose configured writer is `w`."""


@pytest.mark.parametrize("case", READING.values(), ids=READING)
def test_the_files_decide_whether_the_writer_of_a_replication_family_reads(case):
    configured = servers(case.configured)
    runtime, gone = servers(case.standing), servers(case.removed)
    around = Topology((READING_WRITER,))
    found = placed_rows(SERVERS, configured, runtime, around, removed=gone)
    assert servers_text(found) == case.loaded
    verdict = compare_servers(SERVERS, runtime, configured, around, removed=gone)
    moved = {
        difference.key
        for difference in verdict.differences
        if difference.desired is None or difference.current is None
    }
    assert moved == found.keys() ^ runtime.keys()


def test_the_monitor_decides_it_with_writer_is_also_reader_off():
    configured, standing = servers("10 w, 30 w, 30 r"), servers("10 w, 30 r")
    found = placed_rows(SERVERS, configured, standing, Topology((REPLICATION,)))
    assert servers_text(found) == "10 w, 30 r"
    assert not compare_servers(SERVERS, standing, configured, Topology((REPLICATION,))).differences


def test_a_new_writer_replaces_the_old_one_although_both_are_loaded_first():
    around = placed(REPLICATION)
    found = diff(wanted("10 b"), servers("10 a"), topologies=around)
    used = {"mysql_servers": frozenset({10})}
    rule = diff(desired("mysql_users", {"username": "app"}), {})
    plans = [module_plan(found), module_plan(rule)]
    images = with_images(plans, around.desired, used)[0].images
    assert [servers_text(image["mysql_servers"]) for image in images] == ["10 a, 10 b", "10 b"]


def galera_row(**cells):
    names = ("writer_hostgroup", "backup_writer_hostgroup", "reader_hostgroup", "offline_hostgroup")
    return {**dict(zip(names, (10, 20, 30, 40), strict=True)), **cells}


def families(**tables):
    return Topology.of(
        {name: layout(name) for name in tables},
        {name: rows(name, row).values() for name, row in tables.items()},
        MonitorSettings(),
    ).families


def test_rows_of_two_tables_that_share_a_hostgroup_make_one_family():
    (found,) = families(
        mysql_galera_hostgroups=galera_row(),
        mysql_replication_hostgroups={"writer_hostgroup": 10, "reader_hostgroup": 50},
    )
    hostgroups = frozenset({10, 20, 30, 40, 50})
    assert found == Family("galera", 10, hostgroups, 40, 20, also=("replication",))
    files = wanted("10 n1, 10 n2").rows
    assert (
        compare_servers(SERVERS, servers("40 n1, 50 n2"), files, Topology((found,))).differences
        == []
    )


@pytest.mark.parametrize(
    ("standing", "files", "emptied"),
    [
        ("10 n1, 40 n2, 40 n3", "10 n2, 10 n3", ["hostgroup 10", "hostgroup 30"]),
        ("10 n1 SHUNNED, 40 n1, 40 n2, 40 n3", "10 n1 weight=5, 10 n2, 10 n3", []),
    ],
)
def test_the_last_node_that_serves_is_not_removed_unasked(standing, files, emptied):
    around = placed(GALERA)
    memory = servers(CONFIGURED)
    found = diff(wanted(files), memory, runtime=servers(standing), topologies=around)
    (module,) = with_images([module_plan(found)], around.desired, {})
    needs = Needs(frozenset(), {}, {"mysql_query_rules": frozenset({10, 30})}, {})
    state = Servers(SERVERS, found.runtime, module.images[-1]["mysql_servers"], Topology((GALERA,)))
    hostgroups = [
        danger.message.split(" would have")[0] for danger in emptied_hostgroups(state, needs)
    ]
    assert hostgroups == emptied
