"""The wanted state of a snapshot where the monitor places nodes, and the snapshot's file."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proxyctl.catalog import Value
from proxyctl.errors import ProxyctlError
from proxyctl.instance.read import TableLayers
from proxyctl.rows.desired import Desired, Glob, NumberRange, Scope
from proxyctl.rows.row import Layer, Row
from proxyctl.snapshots.rollback import desired_of
from proxyctl.snapshots.snapshot import (
    Header,
    HeldTable,
    Snapshot,
    TableScope,
    lines_of,
    read_snapshot,
)
from tests.support.build import layout, row, rows

SERVERS = layout("mysql_servers")
LAYOUTS = {
    name: layout(name)
    for name in ("mysql_servers", "mysql_galera_hostgroups", "mysql_group_replication_hostgroups")
}


def held(*servers: Mapping[str, Value]) -> list[Row]:
    return list(rows("mysql_servers", *servers).values())


def node(name: str, hostgroup: int, **cells: Value) -> dict[str, Value]:
    return {"hostgroup_id": hostgroup, "hostname": name, **cells}


def back(kind: str, memory: list[Row], runtime: list[Row]) -> Desired:
    """Return the wanted state of a snapshot; `kind` is the kind of the family 10 to 40."""
    family = row(
        kind,
        writer_hostgroup=10,
        backup_writer_hostgroup=20,
        reader_hostgroup=30,
        offline_hostgroup=40,
        active=1,
    )
    layers = {Layer.MEMORY: memory, Layer.RUNTIME: runtime, Layer.DISK: memory}
    tables = {
        "mysql_servers": HeldTable(SERVERS.names, layers),
        kind: HeldTable(layout(kind).names, {layer: [family] for layer in Layer}),
    }
    return desired_of(Snapshot("s", Header("h:6032", "2.7.1", "snapshot"), tables), LAYOUTS, {})


def asked(found: Desired) -> set[tuple[object, ...]]:
    index = SERVERS.index
    return {
        tuple(row[index[name]] for name in ("hostgroup_id", "hostname", "status", "weight"))
        for row in found.tables["mysql_servers"].rows.values()
    }


@pytest.mark.parametrize(("interval", "is_known"), [("0", True), ("5", False)])
def test_a_node_that_the_monitor_found_at_amazon_is_not_wanted(interval, is_known):
    family = "mysql_replication_hostgroups"
    pair = row(family, writer_hostgroup=10, reader_hostgroup=20)
    memory = held(node("n1", 10))
    runtime = held(node("n1", 10), node("found", 20))
    of_variables = layout("mysql_variables")
    setting: Row = ("mysql-monitor_aws_rds_topology_discovery_interval", interval)
    tables = {
        "mysql_servers": HeldTable(
            SERVERS.names, {Layer.MEMORY: memory, Layer.RUNTIME: runtime, Layer.DISK: memory}
        ),
        family: HeldTable(layout(family).names, {layer: [pair] for layer in Layer}),
        "mysql_variables": HeldTable(of_variables.names, {layer: [setting] for layer in Layer}),
    }
    layouts = {name: layout(name) for name in tables}
    found = desired_of(Snapshot("s", Header("h:6032", "2.7.1", "snapshot"), tables), layouts, {})
    assert ("found" in {cells[1] for cells in asked(found)}) is is_known


def test_a_drained_node_goes_back_as_it_was_configured() -> None:
    memory = held(node("n1", 10, weight=5), node("n2", 50))
    runtime = held(
        node("n1", 30, weight=0, max_connections=0), node("n2", 50, status="OFFLINE_SOFT")
    )
    found = back("mysql_galera_hostgroups", memory, runtime)
    assert asked(found) == {(10, "n1", "ONLINE", 5), (50, "n2", "ONLINE", 1)}


def test_nodes_that_the_monitor_found_are_no_configuration() -> None:
    memory, runtime = held(node("n1", 10)), held(node("n1", 10), node("n2", 30))
    found = back("mysql_group_replication_hostgroups", memory, runtime)
    assert asked(found) == {(10, "n1", "ONLINE", 1)}
    found = back("mysql_galera_hostgroups", memory, runtime)
    assert asked(found) == {(10, "n1", "ONLINE", 1), (30, "n2", "ONLINE", 1)}


def test_a_table_that_only_a_newer_proxyctl_knows_is_refused() -> None:
    tables = {"mysql_novelties": HeldTable(("name",), {layer: [] for layer in Layer})}
    snapshot = Snapshot("s", Header("h:6032", "2.7.1", "snapshot"), tables)
    with pytest.raises(ProxyctlError, match="holds mysql_novelties with columns"):
        desired_of(snapshot, LAYOUTS, {})


# -- the file -------------------------------------------------------------------------------------

RULES = layout("mysql_query_rules")
HEADER = Header(
    "h:6032",
    "2.7.1",
    "apply",
    ("a.yaml", "größe"),
    scope={
        "mysql_variables": TableScope(),
        "mysql_query_rules": TableScope(
            Scope.of(
                ("rule_id",), {"rule_id": [NumberRange(10, 20), 7, Glob("4*")]}, "rule_id 10-20"
            ),
            frozenset({"comment"}),
        ),
    },
    changes={"MYSQL USERS": {"add": 1}},
    references={"scheduler": frozenset({"arg1"})},
    hostgroup_names={10: "writer"},
    rollout="1f0c2a9e",
    taken_at="now",
    by="ann@ops",
)
RULE = json.dumps(row("mysql_query_rules", rule_id=10, comment="a")).encode()
_LATIN1 = [b"[%s]" % RULE.replace(b'"a"', b'"\xe9"')]
TEXTS = {Layer.MEMORY: _LATIN1, Layer.DISK: _LATIN1, Layer.RUNTIME: [b"[%s]" % RULE]}
LINES = [*lines_of(HEADER, {"mysql_query_rules": TableLayers(RULES, {}, TEXTS)})]


def read(folder: Path, lines: list[bytes]) -> Snapshot:
    path = folder / "s.jsonl.gz"
    path.write_bytes(gzip.compress(b"".join(lines)))
    return read_snapshot(path, "s")


def test_what_is_written_is_read(tmp_path: Path) -> None:
    found = read(tmp_path, LINES)
    layers = found.tables["mysql_query_rules"].layers
    comments = {layer: held[0][RULES.index["comment"]] for layer, held in layers.items()}
    assert comments == {Layer.MEMORY: "\udce9", Layer.DISK: "\udce9", Layer.RUNTIME: "a"}
    for name in (
        "address",
        "version",
        "before",
        "sources",
        "changes",
        "references",
        "by",
        "rollout",
    ):
        assert getattr(found.header, name) == getattr(HEADER, name)
    scope = (found.header.scope or {})["mysql_query_rules"]
    assert scope.rows is not None
    assert [scope.rows.owns((n,)) for n in (7, 8, 10, 20, 21, "41")] == [
        *(True, False, True, True, False, True)
    ]
    assert (scope.rows.text, scope.ignored) == ("rule_id 10-20", {"comment"})
    assert found.header.hostgroup_names == {10: "writer"}


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [path, *(place for key, inner in items for place in places(inner, (*path, key)))]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_another_shape_is_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(LINES) - 1))
    document = json.loads(LINES[number].decode("utf-8", "replace"))
    *way, last = data.draw(st.sampled_from(places(document)[1:]))
    inner = document
    for step in way:
        inner = inner[step]
    if data.draw(st.booleans()):
        inner[last] = data.draw(JUNK)
    else:
        del inner[last]
    changed = [*LINES]
    changed[number] = json.dumps(document).encode() + b"\n"
    with suppress(ProxyctlError):
        desired_of(
            read(tmp_path, changed),
            {"mysql_query_rules": RULES},
            {"mysql_query_rules": frozenset({"comment"})},
        )
