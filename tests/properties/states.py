"""Strategies for an instance's rows: every kind of text and key, in some tables.

Families and servers have different hostgroups: an instance with a family would need nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from hypothesis import strategies as st

from proxyctl.catalog import ADMIN_MODULES, TABLES, Value
from proxyctl.rows.row import Row, Rows
from proxyctl.rows.sql import inserts, literal
from proxyctl.sandbox import Sandbox
from tests.support.build import layout, row

State = dict[str, Rows]
"""Rows by table and key."""

SECRET = "s3cret"
"""Stands in every password, so that it can be looked for."""


def _as_stored(text: str) -> str:
    """Return the text as ProxySQL returns it: bytes that are UTF-8 become characters."""
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
family_hostgroups = st.integers(40, 45)
server_texts = st.sampled_from(
    ["", "{}", '{"weight":1}', '{ "weight": 1 }', '{"weight":2,"use_ssl":1}']
)
setting_texts = st.sampled_from(["", '{"handle_warnings":1}', '{ "handle_warnings": 0 }'])
odd_json = st.sampled_from(['{"weight":true}', '{"weight":1.0}', '{"a":1}', "[1]", "null"])
patterns = st.sampled_from([None, "^SELECT", "a'b", r"\d+\\", '"', "é", " "])

_CELLS: dict[str, dict[str, st.SearchStrategy[Value]]] = {
    "mysql_servers": {
        "hostgroup_id": hostgroups,
        "hostname": st.sampled_from(["app", "größe", "null", "1", "NULL", "10.0.0.1", "::1"]),
        "weight": st.integers(0, 5),
        "status": st.sampled_from(["ONLINE", "OFFLINE_SOFT"]),
        "comment": any_text,
    },
    "mysql_hostgroup_attributes": {
        "hostgroup_id": hostgroups,
        "max_num_online_servers": st.integers(0, 2),
        "servers_defaults": server_texts,
        "hostgroup_settings": setting_texts,
        "comment": any_text,
    },
    "mysql_replication_hostgroups": {
        "writer_hostgroup": st.integers(10, 12),
        "reader_hostgroup": st.integers(20, 23),
        "check_type": st.sampled_from(["read_only", "super_read_only"]),
        "comment": any_text,
    },
    "mysql_galera_hostgroups": {
        "writer_hostgroup": st.integers(30, 32),
        "backup_writer_hostgroup": family_hostgroups,
        "reader_hostgroup": family_hostgroups,
        "offline_hostgroup": family_hostgroups,
        "active": flags,
        "max_writers": st.integers(1, 2),
        "comment": optional_text,
    },
    "mysql_users": {
        "username": names,
        "password": passwords,
        "active": flags,
        "backend": flags,
        "frontend": flags,
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


_ODD_CELLS: dict[str, dict[str, st.SearchStrategy[Value]]] = {
    "mysql_servers": {
        "hostname": st.sampled_from(["it's", 'a"b\\c', " x ", "", "app:3306"]),
        "status": st.sampled_from(["online", "Offline_Soft", "OFFLINE_HARD", "shunned"]),
        "max_connections": st.sampled_from([0, 1000, "abc", 1.5]),
        "max_latency_ms": st.sampled_from([0, 5_000_000]),
    },
    "mysql_hostgroup_attributes": {
        "servers_defaults": odd_json,
        "hostgroup_settings": odd_json,
    },
    "mysql_replication_hostgroups": {
        "writer_hostgroup": st.integers(10, 13),
        "reader_hostgroup": st.integers(10, 13),
        "check_type": st.sampled_from(["Read_Only", "super_read_only"]),
    },
    "mysql_galera_hostgroups": {"writer_hostgroup": family_hostgroups},
    "mysql_users": {
        "default_hostgroup": st.sampled_from([0, -1, "abc", 3_000_000_000]),
        "max_connections": st.sampled_from([0, 1000, "5x"]),
    },
    "mysql_query_rules": {
        "rule_id": st.integers(-2, 4),
        "client_addr": st.sampled_from([None, "", "10.%", "10.%.1", "%%", "é" * 23]),
        "digest": st.sampled_from([None, "", "0x1", "123", "-0x1F", "abc", "0x0", "1" * 30]),
        "match_digest": st.sampled_from([None, "", "((", "ok"]),
        "re_modifiers": st.sampled_from([None, "", "global", "CASELESS, GLOBAL", "FOO"]),
        "destination_hostgroup": st.sampled_from([None, -1, -5, "7x", 1.5, 3_000_000_000]),
        "timeout": st.sampled_from([None, 0, 4_294_967_295]),
        "attributes": st.sampled_from(["", '{"a":1.0,"a":true}', "[ ]"]),
    },
    "mysql_query_rules_fast_routing": {"flagIN": st.integers(-1, 1)},
    "scheduler": {"filename": st.sampled_from(['a"b', "", "a"])},
}
"""Cells that ProxySQL takes and our files do not, or not as they are."""


def _row(table: str, cells: dict[str, Value], *, is_odd: bool = False) -> Row:
    """Make a row without values that ProxySQL refuses or cannot show at RUNTIME."""
    if table == "scheduler" and not is_odd:
        cells |= {
            name: str(cells[name]).replace('"', "'")
            for name in ("filename", "arg1", "arg2")
            if cells[name] is not None
        }
    if cells.get("match_pattern") is None and "replace_pattern" in cells:
        cells["replace_pattern"] = None
    return row(table, **cells)


def _row_of(table: str, *, is_odd: bool) -> st.SearchStrategy[Row]:
    odd = _ODD_CELLS.get(table, {}) if is_odd else {}
    cells = {
        name: st.one_of(plain, odd[name]) if name in odd else plain
        for name, plain in _CELLS[table].items()
    }
    return st.fixed_dictionaries({**odd, **cells}).map(partial(_row, table, is_odd=is_odd))


def _rows_of(table: str, *, is_odd: bool = False) -> st.SearchStrategy[Rows]:
    key = layout(table).key_of
    one_row = _row_of(table, is_odd=is_odd).filter(partial(_is_accepted, table, is_odd=is_odd))
    made = st.lists(one_row, max_size=4)
    if table == "mysql_users":
        made = st.builds(_with_halves, made, st.lists(st.booleans(), min_size=4, max_size=4))
    return made.map(
        lambda rows: {key(entry): entry for entry in _unique(table, rows, is_odd=is_odd)}
    )


def _is_accepted(table: str, one: Row, *, is_odd: bool) -> bool:
    """Return whether the row alone is one that ProxySQL stores and, if not odd, publishes."""
    index = layout(table).index
    if "writer_hostgroup" in index:
        hostgroups = [one[n] for n, column in enumerate(layout(table).columns) if column.hostgroup]
        return len(set(hostgroups)) == len(hostgroups)
    if table == "mysql_users" and not is_odd:
        return one[index["backend"]] == 1 or one[index["frontend"]] == 1
    return True


def _unique(table: str, rows: Iterable[Row], *, is_odd: bool) -> Iterator[Row]:
    """Yield the rows whose key and UNIQUE values no earlier row has.

    In a table of families that is not odd, rows share no hostgroup: the files refuse that.
    """
    of = layout(table)
    is_families = "writer_hostgroup" in of.index and not is_odd
    taken: set[tuple[object, ...]] = set()
    for entry in rows:
        values = {
            ("hostgroup" if is_families else names, *(entry[of.index[name]] for name in names))
            for names in (of.table.key, *of.table.unique)
        }
        if not values & taken:
            taken |= values
            yield entry


def _with_halves(rows: list[Row], splits: list[bool]) -> list[Row]:
    """Put some users into two halves that agree, as SAVE MYSQL USERS TO MEMORY does."""
    index = layout("mysql_users").index
    backend, frontend = index["backend"], index["frontend"]
    made = []
    for user, is_split in zip(rows, splits, strict=False):
        if is_split and user[backend] == user[frontend] == 1:
            made += [_set(user, {backend: 1, frontend: 0}), _set(user, {backend: 0, frontend: 1})]
        else:
            made.append(user)
    return made


def _set(one: Row, cells: Mapping[int, Value]) -> Row:
    return tuple(cells.get(position, cell) for position, cell in enumerate(one))


tables = st.sampled_from(sorted(_CELLS))


states: st.SearchStrategy[State] = st.fixed_dictionaries(
    {table: _rows_of(table) for table in _CELLS}
)


odd_states: st.SearchStrategy[State] = st.fixed_dictionaries(
    {table: _rows_of(table, is_odd=True) for table in _CELLS}
)
"""With cells and rows that ProxySQL takes and our files cannot say."""


def nodes_of_a_family(*statuses: str) -> st.SearchStrategy[Rows]:
    """Rows of up to three nodes in the hostgroups 10 to 40 of a family, and of one other server."""
    cells = st.fixed_dictionaries(
        {
            "hostgroup_id": st.sampled_from([10, 20, 30, 40, 50]),
            "hostname": st.sampled_from(["n1", "n2", "n3"]),
            "status": st.sampled_from(statuses),
            "weight": st.integers(1, 2),
            "max_connections": st.sampled_from([0, 1000]),
        }
    )
    key = layout("mysql_servers").key_of
    made = st.lists(cells.map(lambda given: row("mysql_servers", **given)), max_size=8)
    return made.map(lambda rows: {key(server): server for server in rows})


def modules_of(state: Mapping[str, object]) -> list[str]:
    """Return the admin modules of the tables, in the order in which they are loaded."""
    found = {TABLES[table].admin_module for table in state}
    return [name for name in ADMIN_MODULES if name in found]


def fill(sandbox: Sandbox, state: Mapping[str, Rows]) -> None:
    """Replace the rows in MEMORY."""
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


def clear(sandbox: Sandbox) -> None:
    """Leave no row of these tables in any layer."""
    fill(sandbox, {table: {} for table in _CELLS})
    move(sandbox, _CELLS, ("LOAD", "SAVE"))


def drained_by(older: State, newer: State) -> bool:
    """Return whether a server of the older state is drained when MEMORY holds the newer state."""
    table = "mysql_servers"
    status = layout(table).index["status"]
    return any(
        server[status] == "OFFLINE_SOFT" != newer[table].get(key, server)[status]
        for key, server in older[table].items()
    )


def set_variable(sandbox: Sandbox, name: str, value: str) -> None:
    """Set a variable in MEMORY."""
    sandbox.run(
        f"UPDATE global_variables SET variable_value={literal(value)}"
        f" WHERE variable_name={literal(name)}"
    )
