"""The text of a snapshot: what is written is read, and anything else is one clear error."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyctl.admin import snapshot_file
from proxyctl.admin.snapshot_file import SnapshotFileError, read_snapshot, read_summary
from proxyctl.catalog import REFERENCE, TABLES
from proxyctl.families import Family
from proxyctl.rollback import rollback_of
from proxyctl.snapshot import OMITTED, Occasion, Owned
from proxyctl.state import Glob, Layer, Row, Scope, Span
from tests.support.build import layout

SCOPE = Scope.of(("rule_id",), {"rule_id": [Span(10, 20), 7]}, "rule_id 10-20, 7")
OCCASION = Occasion(
    "apply",
    ("a.yaml", "größe"),
    by="ann@ops",
    proxyctl="1",
    owned={"mysql_variables": Owned(), "mysql_query_rules": Owned(SCOPE, frozenset({"comment"}))},
    changes={"MYSQL USERS": {"add": 1}},
    families=(Family("galera", 10, frozenset({10, 20, 30, 40}), offline=40),),
    leftovers=frozenset({"SCHEDULER"}),
    hostgroup_names={10: "writer"},
    secrets=frozenset({("scheduler", (1,), "arg1")}),
)
cells = st.none() | st.integers() | st.floats(allow_nan=False) | st.text() | st.just(OMITTED)
rows = st.lists(st.tuples(cells, cells))


def written(memory: list[Row], runtime: list[Row], occasion: Occasion = OCCASION) -> bytes:
    """Return a file with one table; DISK is the same as MEMORY."""
    columns = ("variable_name", "variable_value")
    heads = {layer: snapshot_file.table_head("mysql_variables", layer, columns) for layer in Layer}
    body = snapshot_file.header("h:6032", "2.7.1", "now") + b",\n".join(
        (
            snapshot_file.table(heads[Layer.MEMORY], snapshot_file.rows_text(memory)),
            snapshot_file.table(heads[Layer.RUNTIME], snapshot_file.rows_text(runtime)),
            snapshot_file.same_table(heads[Layer.DISK], "memory"),
        )
    )
    return sealed(body + snapshot_file.footer(occasion))


def sealed(body: bytes) -> bytes:
    return body + snapshot_file.seal(hashlib.sha256(body).hexdigest())


def rejected(data: bytes) -> str:
    with pytest.raises(SnapshotFileError) as caught:
        read_snapshot(data, "s")
    with pytest.raises(SnapshotFileError):
        read_summary(data[:-2])
    assert "\n" not in caught.value.message
    return caught.value.message


@given(rows, rows)
def test_what_is_written_is_read(memory: list[Row], runtime: list[Row]) -> None:
    found = read_snapshot(written(memory, runtime), "s")
    assert found.tables["mysql_variables"].layers == {
        Layer.MEMORY: memory,
        Layer.RUNTIME: runtime,
        Layer.DISK: memory,
    }
    assert (found.name, found.address, found.version, found.taken_at) == (
        "s",
        "h:6032",
        "2.7.1",
        "now",
    )


def test_what_it_was_taken_before_is_read() -> None:
    data = written([], [])
    found = read_snapshot(data, "s").occasion
    owned = found.owned or {}
    scope = owned["mysql_query_rules"].scope
    assert scope is not None
    assert [scope.owns((n,)) for n in (7, 8, 10, 20, 21)] == [True, False, True, True, False]
    assert (scope.text, owned["mysql_query_rules"].ignored) == (SCOPE.text, {"comment"})
    for name in ("purpose", "sources", "by", "changes", "families", "leftovers", "secrets"):
        assert getattr(found, name) == getattr(OCCASION, name)
        assert getattr(read_summary(data).occasion, name) == getattr(OCCASION, name)
    assert found.hostgroup_names == {10: "writer"}
    everything = written([], [], Occasion("snapshot"))
    assert read_snapshot(everything, "s").occasion.owned is None


def test_a_pattern_in_a_scope() -> None:
    users = Scope.of(("username", "backend"), {"username": [Glob("app_*"), "x"]}, "")
    occasion = Occasion("apply", owned={"mysql_users": Owned(users)})
    owned = read_snapshot(written([], [], occasion), "s").occasion.owned or {}
    scope = owned["mysql_users"].scope
    assert scope is not None
    assert [scope.owns((n, 1)) for n in ("app_1", "x", "xx")] == [True, True, False]


def test_bytes_that_are_not_utf8() -> None:
    memory: list[Row] = [("a", "caf\udce9")]
    data = written(memory, [])
    assert b"caf\xe9" in data
    assert read_snapshot(data, "s").tables["mysql_variables"].layers[Layer.DISK] == memory


@given(st.binary())
def test_any_other_file(data: bytes) -> None:
    assert rejected(data) == "not a snapshot"


@given(st.data())
def test_a_byte_that_changed(data: st.DataObject) -> None:
    whole = written([("a", 1)], [("b", None)])
    position = data.draw(st.integers(0, len(whole) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != whole[position]))
    rejected(whole[:position] + bytes([other]) + whole[position + 1 :])


@given(st.integers(0, len(written([("a", 1)], [])) - 1))
def test_a_file_that_was_cut(end: int) -> None:
    rejected(written([("a", 1)], [])[:end])


json_values = st.recursive(
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


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("mysql_users", ["username", "password"]),
        ("mysql_variables", ["variable_name"] * 2),
        *(
            (name, [column.name for column in TABLES[name].columns if column.name != missing])
            for name, missing in (
                ("mysql_users", "frontend"),
                ("mysql_servers", "status"),
                ("mysql_query_rules", "re_modifiers"),
            )
        ),
    ],
)
def test_a_table_without_a_column_that_every_version_has(table: str, columns: list[str]) -> None:
    head = snapshot_file.table_head(table, Layer.MEMORY, columns)
    body = snapshot_file.header("h", "2.7.1", "now") + snapshot_file.table(head, b"")
    assert "another shape" in rejected(sealed(body + snapshot_file.footer(OCCASION)))


@given(st.data())
def test_another_shape_with_the_right_checksum(data: st.DataObject) -> None:
    """A snapshot that somebody made: it is read or refused, and nothing else."""
    document = json.loads(
        written([("a", 1)], [("a", 2)])[: -len(snapshot_file.seal("0" * 64))] + b"}"
    )
    path = data.draw(st.sampled_from(places(document)[1:]))
    inner = document
    for step in path[:-1]:
        inner = inner[step]
    if data.draw(st.booleans()):
        inner[path[-1]] = data.draw(json_values)
    else:
        del inner[path[-1]]
    made = sealed(json.dumps(document).encode()[:-1])
    with suppress(SnapshotFileError):
        found = read_snapshot(made, "s")
        rollback_of(
            found,
            {name: layout(name) for name in TABLES if TABLES[name].exists_in(REFERENCE)},
            REFERENCE,
            since=[found.occasion],
            secrets=found.occasion.secrets,
            admin_names=frozenset(),
        )
