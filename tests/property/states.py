"""Strategies for what an instance may hold: rows with every kind of text, in a few tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hypothesis import strategies as st

from proxyctl.catalog import ADMIN_MODULES, TABLES, Value
from proxyctl.sandbox import Sandbox
from proxyctl.sql import inserts, literal
from proxyctl.state import Row, Rows
from tests.build import layout, row

State = dict[str, Rows]
"""Rows by table and key."""

SECRET = "s3cret"
"""Stands in every password, so that it can be looked for."""


def _as_stored(text: str) -> str:
    """Bytes that happen to be UTF-8 come back as the characters they mean."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


plain = st.text(st.sampled_from("aZ_0 .%'\"\\`\n\t\r;#:{}[]-é東🐬\x1b\x7f"), max_size=8)
any_text = (
    st.text(st.sampled_from("aé'\\\n\"\udce9\udc80 \x01"), max_size=8).map(_as_stored) | plain
)
optional_text = st.none() | st.just("") | any_text
passwords = st.none() | st.just("") | plain.map(lambda text: f"{SECRET}{text}")
hostgroups = st.integers(0, 3)
names = st.sampled_from(["app", "it's", "größe", 'a"b\\c', " x ", "null", "1"])
flags = st.integers(0, 1)
patterns = st.sampled_from([None, "^SELECT", "a'b", r"\d+\\", '"', "é", " "])

_CELLS: dict[str, dict[str, st.SearchStrategy[Value]]] = {
    "mysql_servers": {
        "hostgroup_id": hostgroups,
        "hostname": names,
        "weight": st.integers(0, 5),
        "status": st.sampled_from(["ONLINE", "OFFLINE_SOFT"]),
        "comment": any_text,
    },
    "mysql_users": {
        "username": names,
        "password": passwords,
        "active": flags,
        "default_hostgroup": hostgroups,
        "default_schema": optional_text,
        "attributes": st.sampled_from(["", '{"a": "it\'s \\\\ b"}', "{}"]),
        "comment": any_text,
    },
    "mysql_query_rules": {
        "rule_id": st.integers(1, 6),
        "active": flags,
        "username": st.none() | names,
        "match_digest": patterns,
        "match_pattern": patterns,
        "replace_pattern": optional_text,
        "destination_hostgroup": st.none() | hostgroups,
        "error_msg": optional_text,
        "apply": flags,
        "comment": optional_text,
    },
    "mysql_query_rules_fast_routing": {
        "username": names,
        "schemaname": names,
        "flagIN": flags,
        "destination_hostgroup": hostgroups,
        "comment": any_text,
    },
    "scheduler": {
        "id": st.integers(1, 4),
        "active": st.just(0),
        "interval_ms": st.integers(1000, 1002),
        "filename": names,
        "arg1": optional_text,
        "arg2": optional_text,
        "comment": any_text,
    },
}


def _row(table: str, cells: dict[str, Value]) -> Row:
    """Leave out what ProxySQL refuses, or cannot show at RUNTIME."""
    if table == "scheduler":
        cells |= {
            name: str(cells[name]).replace('"', '""')
            for name in ("filename", "arg1", "arg2")
            if cells[name] is not None
        }
    if cells.get("match_pattern") is None and "replace_pattern" in cells:
        cells["replace_pattern"] = None
    return row(table, **cells)


def _row_of(table: str) -> st.SearchStrategy[Row]:
    return st.fixed_dictionaries(_CELLS[table]).map(lambda cells: _row(table, cells))


def _rows_of(table: str) -> st.SearchStrategy[Rows]:
    key = layout(table).key_of
    return st.lists(_row_of(table), max_size=4, unique_by=key).map(
        lambda rows: {key(one): one for one in rows}
    )


tables = st.sampled_from(sorted(_CELLS))


states: st.SearchStrategy[State] = st.fixed_dictionaries(
    {table: _rows_of(table) for table in _CELLS}
)


def modules_of(state: Mapping[str, object]) -> list[str]:
    """Return the admin modules of the tables, in the order in which they are loaded."""
    found = {TABLES[table].admin_module for table in state}
    return [name for name in ADMIN_MODULES if name in found]


def fill(sandbox: Sandbox, state: Mapping[str, Rows]) -> None:
    """Let MEMORY hold these rows."""
    for table, rows in state.items():
        sandbox.run(f"DELETE FROM {table}")
        for statement in inserts(layout(table), rows.values()):
            sandbox.run(statement.sql)


def move(sandbox: Sandbox, state: Mapping[str, object], verbs: Iterable[str]) -> None:
    """LOAD or SAVE the modules of these tables."""
    for verb in verbs:
        for name in modules_of(state):
            module = ADMIN_MODULES[name]
            sandbox.run(module.load if verb == "LOAD" else module.save)


def set_variable(sandbox: Sandbox, name: str, value: str) -> None:
    """Set a variable in MEMORY."""
    sandbox.run(
        f"UPDATE global_variables SET variable_value={literal(value)}"
        f" WHERE variable_name={literal(name)}"
    )
