"""What a snapshot asks for, where the monitor places nodes."""

from __future__ import annotations

from typing import Any

from proxyctl.catalog import REFERENCE, Value
from proxyctl.families import Family
from proxyctl.rollback import Rollback, rollback_of
from proxyctl.snapshot import HeldTable, Occasion, Snapshot
from proxyctl.state import Layer
from tests.support.build import layout, rows

GALERA = Family("galera", 10, frozenset({10, 20, 30, 40}), offline=40)
GROUP = Family("group_replication", 10, frozenset({10, 20, 30, 40}), offline=40, discovers=True)
SERVERS = layout("mysql_servers")


def held(*servers: dict[str, Value]) -> Any:
    return list(rows("mysql_servers", *servers).values())


def node(name: str, hostgroup: int, **cells: Value) -> dict[str, Value]:
    return {"hostgroup_id": hostgroup, "hostname": name, **cells}


def back(memory: Any, runtime: Any, family: Family, disk: Any = None, **more: Any) -> Rollback:
    layers = {Layer.MEMORY: memory, Layer.RUNTIME: runtime, Layer.DISK: disk or memory}
    occasion = Occasion("snapshot", families=(family,), **more)
    tables = {"mysql_servers": HeldTable(SERVERS.names, layers)}
    return rollback_of(
        Snapshot("s", "h:6032", "2.7.1", "now", tables, occasion),
        {"mysql_servers": SERVERS},
        REFERENCE,
        since=(),
        secrets=frozenset(),
        admin_names=frozenset(),
    )


def asked(found: Rollback) -> set[tuple[object, ...]]:
    index = SERVERS.index
    return {
        tuple(row[index[name]] for name in ("hostgroup_id", "hostname", "status", "weight"))
        for row in found.desired.tables["mysql_servers"].rows.values()
    }


def test_placed_nodes_go_back_where_they_were_configured() -> None:
    memory = held(node("n1", 10), node("n2", 10))
    runtime = held(
        node("n1", 10, weight=5),
        node("n2", 10, weight=5, status="SHUNNED"),
        node("n2", 30, weight=5),
    )
    found = back(memory, runtime, GALERA)
    assert asked(found) == {(10, "n1", "ONLINE", 5), (10, "n2", "ONLINE", 5)}
    assert "MEMORY and RUNTIME differed" in found.desired.warnings[0]


def test_nodes_that_the_monitor_found_are_no_configuration() -> None:
    memory, runtime = held(node("n1", 10)), held(node("n1", 10), node("n2", 30))
    assert asked(back(memory, runtime, GROUP)) == {(10, "n1", "ONLINE", 1)}
    assert asked(back(memory, runtime, GALERA)) == {
        (10, "n1", "ONLINE", 1),
        (30, "n2", "ONLINE", 1),
    }


def test_a_table_that_only_a_newer_proxyctl_knows_is_said() -> None:
    layers = {layer: [("a",), ("b",)] for layer in Layer}
    tables = {"mysql_novelties": HeldTable(("name",), layers)}
    snapshot = Snapshot("s", "h:6032", "3.9.0", "now", tables, Occasion("snapshot"))
    found = rollback_of(
        snapshot, {}, REFERENCE, since=(), secrets=frozenset(), admin_names=frozenset()
    )
    assert found.desired.warnings == (
        "mysql_novelties: left alone: 2 rows; this proxyctl knows no such table",
    )


def test_rows_that_a_dead_apply_had_placed_in_memory_are_no_configuration() -> None:
    placed = held(node("n1", 10), node("n2", 10, status="SHUNNED"), node("n2", 30))
    disk = held(node("n1", 10), node("n2", 10))
    found = back(placed, placed, GALERA, disk, leftovers=frozenset({"MYSQL SERVERS"}))
    assert asked(found) == {(10, "n1", "ONLINE", 1), (10, "n2", "ONLINE", 1)}
