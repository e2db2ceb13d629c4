"""Which rows drain a node, who writes after it, and what would be left without a server."""

from __future__ import annotations

from proxyctl.catalog import REFERENCE, TABLES, layout_of
from proxyctl.draining.placing import serves_less
from proxyctl.drains import Drain, shows_drain, undrained
from proxyctl.families import Family, Node
from proxyctl.nodes.draining import (
    Standing,
    left_without,
    moving_families,
    undrainable,
    with_another_writer,
    with_drained,
)
from proxyctl.placement import drained_again, placed_rows
from tests.support.build import rows

SERVERS = layout_of(TABLES["mysql_servers"], REFERENCE)
GALERA = Family("galera", 10, frozenset({10, 20, 30, 40}), offline=40, backup=20)
REPLICATION = Family("replication", 50, frozenset({50, 60}))


def server(hostgroup: int, host: str, **cells: str | int) -> dict[str, str | int]:
    return {"hostgroup_id": hostgroup, "hostname": host, "port": 3306, **cells}


def waiting(host: str, **cells: str | int) -> list[dict[str, str | int]]:
    """The rows of a node that reads, and could write."""
    return [
        server(10, host, status="SHUNNED", **cells),
        server(20, host, **cells),
        server(30, host, **cells),
    ]


def standing(*given: dict[str, str | int]) -> Standing:
    return Standing(SERVERS, rows("mysql_servers", *given), (GALERA, REPLICATION))


def node(host: str) -> Node:
    return (host, 3306)


def shown(found: dict[tuple[object, ...], tuple[object, ...]], *columns: str) -> set[object]:
    return {
        tuple(row[SERVERS.index[c]] for c in ("hostgroup_id", "hostname", *columns))
        for row in found.values()
    }


THREE = standing(server(10, "n3"), *waiting("n1"), *waiting("n2"))


def test_a_galera_node_keeps_its_places_without_limit_and_weight() -> None:
    found = with_drained(THREE, THREE.runtime, node("n2"))
    changed = {key: row for key, row in found.items() if row != THREE.runtime[key]}
    assert shown(changed, "status", "weight", "max_connections") == {
        (10, "n2", "SHUNNED", 0, 0),
        (20, "n2", "ONLINE", 0, 0),
        (30, "n2", "ONLINE", 0, 0),
    }


def test_elsewhere_a_server_is_soft() -> None:
    found = standing(server(50, "n1"), server(60, "n2"), server(100, "n2", weight=7))
    drained = with_drained(found, found.runtime, node("n2"))
    assert shown(drained, "status", "weight") == {
        (50, "n1", "ONLINE", 1),
        (60, "n2", "OFFLINE_SOFT", 1),
        (100, "n2", "OFFLINE_SOFT", 7),
    }


def test_what_released_a_node_is_undone_wherever_it_stands_by_now() -> None:
    was = standing(server(10, "n3"), server(40, "n1", weight=0, max_connections=0))
    now = standing(server(10, "n3"), server(30, "n1", weight=7))
    found = drained_again(SERVERS, now.runtime, was.runtime, (GALERA,), {node("n1")})
    assert shown(found, "weight", "max_connections") == {(10, "n3", 1, 1000), (30, "n1", 0, 0)}
    assert drained_again(SERVERS, now.runtime, was.runtime, (GALERA,), {node("n3")}) == now.runtime


def test_the_writer_is_moved_by_weight_and_never_weighs_nothing() -> None:
    assert moving_families(THREE, node("n3")) == [GALERA]
    assert moving_families(THREE, node("n2")) == []
    found = with_another_writer(THREE, THREE.runtime, [GALERA], node("n3"))
    assert shown(found, "weight") == {
        (10, "n3", 1),
        *((hostgroup, "n2", 2) for hostgroup in (10, 20, 30)),
        *((hostgroup, "n1", 1) for hostgroup in (10, 20, 30)),
    }


def test_a_heavy_writer_gets_lighter_than_the_one_that_follows() -> None:
    heavy = standing(
        server(10, "n1", weight=1000), *waiting("n2", weight=100), *waiting("n3", weight=50)
    )
    found = with_another_writer(heavy, heavy.runtime, [GALERA], node("n1"))
    changed = {key: row for key, row in found.items() if row != heavy.runtime[key]}
    assert shown(changed, "weight") == {(10, "n1", 99)}


def test_a_second_writer_needs_no_move() -> None:
    found = standing(server(10, "n3"), server(10, "n2"), *waiting("n1"))
    assert moving_families(found, node("n3")) == []


def test_a_node_that_is_drained_follows_nobody() -> None:
    found = standing(server(10, "n3"), *waiting("n2", max_connections=0), *waiting("n1"))
    assert found.successor(GALERA, node("n3")) == node("n1")


def test_hostgroups_that_would_have_no_server_are_found() -> None:
    assert left_without(THREE, node("n3"), {10, 20, 30}) == ([], [])
    assert left_without(THREE, node("n1"), {10, 20, 30}) == ([], [])
    two = standing(server(10, "n2"), *waiting("n1"))
    assert left_without(two, node("n1"), {10, 30}) == ([30], [])
    assert left_without(two, node("n2"), {10, 30}) == ([], [30])
    assert left_without(two, node("n2"), {20}) == ([], [20, 30])
    alone = standing(server(10, "n1"))
    assert left_without(alone, node("n1"), {10}) == ([10], [])


def test_a_node_that_is_out_already_may_be_drained() -> None:
    found = standing(server(10, "n1"), server(40, "n2"))
    assert left_without(found, node("n2"), {10, 30, 40}) == ([], [])


def test_an_heir_that_stays_a_reader_leaves_nothing_empty() -> None:
    """With writer_is_also_reader 1 the writer reads too, and so will the one that follows it."""
    found = standing(server(10, "n2"), server(30, "n2"), *waiting("n1"))
    assert left_without(found, node("n2"), {10, 30}) == ([], [])


def test_who_writes_is_the_business_of_the_servers_elsewhere() -> None:
    group = Family("group_replication", 10, frozenset({10, 20, 30, 40}), offline=40, backup=20)
    aurora = Family("aurora", 50, frozenset({50, 60}))
    given = rows(
        "mysql_servers",
        *(server(10, "n1"), server(20, "n2"), server(30, "n3"), server(50, "a1"), server(60, "a2")),
    )
    found = Standing(SERVERS, given, (group, aurora))
    known = [node(host) for host in ("n1", "n2", "n3", "a1")]
    assert "make another member the primary" in (undrainable(found, node("n1"), known) or "")
    assert "may write (hostgroup 20)" in (undrainable(found, node("n2"), known) or "")
    assert undrainable(found, node("n3"), known) is None
    assert "fail over to another instance" in (undrainable(found, node("a1"), known) or "")
    assert "put it into mysql_servers" in (undrainable(found, node("a2"), known) or "")
    assert undrainable(THREE, node("n1"), []) is None
    soft = with_drained(found, given, node("n3"))
    assert (30, "n3", "OFFLINE_SOFT", 1000) in shown(soft, "status", "max_connections")
    limited = with_drained(found, given, node("a2"))
    assert (60, "a2", "ONLINE", 1, 0) in shown(limited, "status", "weight", "max_connections")


def test_a_load_keeps_what_is_on_record_as_drained() -> None:
    configured = rows(
        "mysql_servers",
        *(server(10, host, weight=5) for host in ("n1", "n2", "n3")),
        server(100, "n1"),
    )
    runtime = rows(
        "mysql_servers",
        server(10, "n3", weight=5),
        *waiting("n1", weight=0, max_connections=0),
        *waiting("n2", weight=5),
        server(100, "n1", status="OFFLINE_SOFT"),
    )
    placed = placed_rows(SERVERS, configured, runtime, [GALERA], drains={node("n1")})
    assert placed == runtime
    released = placed_rows(SERVERS, configured, runtime, [GALERA], released={node("n1")})
    assert shown(released, "status", "weight", "max_connections") >= {
        (30, "n1", "ONLINE", 5, 1000),
        (100, "n1", "ONLINE", 1, 1000),
    }


def test_a_drain_is_only_one_while_runtime_shows_it() -> None:
    drained = with_drained(THREE, THREE.runtime, node("n2"))
    families = THREE.families
    assert shows_drain(THREE.columns, drained.values(), families, node("n2"))
    assert not shows_drain(THREE.columns, THREE.runtime.values(), families, node("n2"))
    assert not shows_drain(THREE.columns, drained.values(), families, node("n9"))


def test_who_and_since_when_is_said() -> None:
    drain = Drain(node("n1"), 0, "anna on ops1", "new disks", True, {})
    assert drain.text() == "drained by anna on ops1 since 1970-01-01 00:00:00 UTC: new disks"


def test_what_is_kept_of_runtime_has_no_drain_in_it() -> None:
    memory = rows(
        "mysql_servers",
        server(10, "n1", weight=5, max_connections=50),
        server(10, "n2"),
        server(100, "n1"),
    )
    runtime = rows(
        "mysql_servers",
        *waiting("n1", weight=0, max_connections=0),
        server(10, "n2"),
        server(100, "n1", status="OFFLINE_SOFT"),
    )
    found = undrained(SERVERS, runtime, memory, [GALERA], {node("n1")})
    assert shown(found, "status", "weight", "max_connections") == {
        (10, "n1", "SHUNNED", 5, 50),
        (20, "n1", "ONLINE", 5, 50),
        (30, "n1", "ONLINE", 5, 50),
        (10, "n2", "ONLINE", 1, 1000),
        (100, "n1", "ONLINE", 1, 1000),
    }
    assert undrained(SERVERS, runtime, memory, [GALERA], ()) == runtime


def test_a_move_is_over_when_the_nodes_of_the_family_serve_as_before() -> None:
    elsewhere = server(100, "plain")
    before = standing(server(10, "n3"), *waiting("n1", weight=9), *waiting("n2"), elsewhere)
    moved = (server(10, "n1"), *waiting("n3"))
    on_the_way = standing(*moved, server(10, "n2", status="SHUNNED"), elsewhere)
    said = "n2:3306 does not serve in hostgroup 20, 30 as before"
    assert serves_less(before, on_the_way, node("n3")) == said
    there = (*moved, *waiting("n2"))
    assert serves_less(before, standing(*there, elsewhere), node("n3")) is None
    # One that is in no family with the node may be unwell, or gone: that has other reasons.
    unwell = server(100, "plain", status="SHUNNED")
    assert serves_less(before, standing(*there, unwell), node("n3")) is None
    assert serves_less(before, standing(*there), node("n3")) is None
