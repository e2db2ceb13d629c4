"""What becomes of rows on their way between MEMORY and RUNTIME.

ProxySQL copies rows into structures of its own: on the way in it drops, splits and normalises them
without a word, on the way back it writes what is left. Every function takes and returns rows as
mappings; none of them touches a database.
Source: ProxySQL 2.7.1, watched on a running server; the conformance suite holds these rules to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from proxyctl.catalog import Layout, Value
from proxyctl.sandbox.replies import Cell
from proxyctl.state.cells import normal_digest, normal_modifiers, number
from proxyctl.state.passwords import is_hash, native_hash
from proxyctl.state.runtime import PASTED, clashing_writers, valid_client_addr

Row = dict[str, Cell]
Server = tuple[int, str, int]
"""Hostgroup, hostname and port."""


def c_int(value: Cell) -> int:
    """Return the number that ProxySQL reads in a field; NULL counts as 0."""
    return number(c_field(value)) or 0


def c_field(value: Cell) -> Value:
    """Return a field as ProxySQL's C strings take it: a BLOB is its bytes up to the first NUL."""
    if isinstance(value, bytes):
        return value.partition(b"\0")[0].decode("utf-8", "surrogateescape")
    return value


def c_text(value: Cell) -> str:
    """Return a field as text; NULL becomes empty."""
    return "" if value is None else str(value)


def _as_numbers(layout: Layout, row: Mapping[str, Cell]) -> Row:
    """Return a row whose number columns hold what ProxySQL's structures make of them."""
    return {
        column.name: c_int(row[column.name])
        if column.is_numeric and row[column.name] is not None
        else row[column.name]
        for column in layout.columns
    }


# --- servers ------------------------------------------------------------------------------------


def server_key(row: Mapping[str, Cell]) -> Server:
    """Return what tells one server from another; hostnames are case-sensitive."""
    return c_int(row["hostgroup_id"]), c_text(row["hostname"]), c_int(row["port"])


def loaded_servers(
    layout: Layout,
    memory: Iterable[Mapping[str, Cell]],
    running: Iterable[Mapping[str, Cell]],
    used: Mapping[Server, int],
) -> list[Row]:
    """Return the servers at RUNTIME after a LOAD.

    A server that leaves while `used` counts connections of it stays, as OFFLINE_HARD.
    """
    loaded: dict[Server, Row] = {}
    for source in memory:
        row = _as_numbers(layout, source)
        row["status"] = c_text(row["status"]).upper()
        # Kept in microseconds, 32 bits of them.
        row["max_latency_ms"] = c_int(row["max_latency_ms"]) * 1000 % 2**32 // 1000
        loaded[server_key(row)] = row
    for source in running:
        key = server_key(source)
        if key not in loaded:
            loaded[key] = {**source, "status": "OFFLINE_HARD"}
    return [
        row
        for key, row in loaded.items()
        if row["status"] != "OFFLINE_HARD" or used.get(key, 0) > 0
    ]


def saved_servers(running: Iterable[Mapping[str, Cell]]) -> list[Row]:
    """Return the MEMORY rows that SAVE TO MEMORY writes: SHUNNED is no configuration."""
    return [
        {**row, "status": "ONLINE" if row["status"] == "SHUNNED" else row["status"]}
        for row in running
    ]


def compatible_hostgroups(layout: Layout, memory: Iterable[Mapping[str, Cell]]) -> list[Row]:
    """Return the rows of a family table without those that ProxySQL finds incompatible.

    A row goes when its writer hostgroup has another role in any row, whichever comes first: of
    (1,2) and (2,1) nothing is left. Other clashes are not looked for.
    """
    rows = copied(memory)
    taken = clashing_writers(layout, as_tuples(layout, rows))
    return [row for row in rows if row["writer_hostgroup"] not in taken]


# --- users --------------------------------------------------------------------------------------


def loaded_users(
    layout: Layout, memory: Iterable[Mapping[str, Cell]], *, hash_passwords: bool
) -> list[Row]:
    """Return the users at RUNTIME after a LOAD: one row for each half of each active user."""
    halves: list[Row] = []
    for source in memory:
        if c_int(source["active"]) != 1 or c_int(source["default_hostgroup"]) < 0:
            continue
        row = {
            name: "" if value is None else value
            for name, value in _as_numbers(layout, source).items()
        }
        row["max_connections"] = max(0, c_int(row["max_connections"]))
        password = c_text(row["password"])
        if hash_passwords and password and not is_hash(password):
            row["password"] = native_hash(password)
        if row["frontend"]:
            halves.append({**row, "backend": 0, "frontend": 1})
        if row["backend"]:
            halves.append({**row, "backend": 1, "frontend": 0})
    return sorted(halves, key=lambda half: half["backend"] == 1)


# --- query rules --------------------------------------------------------------------------------


def loaded_rules(layout: Layout, memory: Iterable[Mapping[str, Cell]]) -> list[Row]:
    """Return the query rules at RUNTIME after a LOAD, by rule_id."""
    kept = [
        _loaded_rule(layout, row)
        for row in memory
        if c_int(row["active"]) == 1 and valid_client_addr(row["client_addr"])
    ]
    return sorted(kept, key=lambda row: c_int(row["rule_id"]))


def _loaded_rule(layout: Layout, source: Mapping[str, Cell]) -> Row:
    # -1 is how ProxySQL writes "not set" in a number; other negative numbers stay as they are.
    row = {
        name: None if value == -1 and name != "rule_id" else value
        for name, value in _as_numbers(layout, source).items()
    }
    row["digest"] = normal_digest(source["digest"])
    row["re_modifiers"] = normal_modifiers(source["re_modifiers"])
    return row


# --- everything else ----------------------------------------------------------------------------


def copied(rows: Iterable[Mapping[str, Cell]]) -> list[Row]:
    """Return the rows of a table that RUNTIME holds as they are."""
    return [dict(row) for row in rows]


def loaded_numbers(layout: Layout, rows: Iterable[Mapping[str, Cell]]) -> list[Row]:
    """Return the rows of a table whose number columns ProxySQL reads into numbers."""
    return [_as_numbers(layout, row) for row in rows]


def loaded_members(layout: Layout, rows: Iterable[Mapping[str, Cell]]) -> list[Row]:
    """Return the members of the cluster at RUNTIME: a port has 16 bits there."""
    return [{**row, "port": c_int(row["port"]) % 2**16} for row in loaded_numbers(layout, rows)]


def loaded_schedule(layout: Layout, rows: Iterable[Mapping[str, Cell]]) -> list[Row]:
    """Return the scheduler at RUNTIME: the arguments end at the first NULL."""
    arguments = [name for name in layout.names if name.startswith("arg")]
    loaded = [_with_unsigned(row, "id") for row in loaded_numbers(layout, rows)]
    for row in loaded:
        ends = next((i for i, name in enumerate(arguments) if row[name] is None), len(arguments))
        row.update(dict.fromkeys(arguments[ends:]))
    return _pasted_texts(layout, loaded)


def loaded_routes(layout: Layout, rows: Iterable[Mapping[str, Cell]]) -> list[Row]:
    """Return the routes of the REST API at RUNTIME."""
    loaded = [_with_unsigned(row, "id") for row in loaded_numbers(layout, rows)]
    return _pasted_texts(layout, loaded)


def _pasted_texts(layout: Layout, rows: Iterable[Row]) -> list[Row]:
    """Return rows as a twin shows them whose texts ProxySQL pastes into SQL between quotes.

    Two quotes become one, and a lone quote loses the row.
    """
    quote, names = PASTED[layout.name]
    shown: list[Row] = []
    for row in rows:
        texts = {name: str(row[name]) for name in names if row[name] is not None}
        if any(quote in text.replace(quote * 2, "") for text in texts.values()):
            continue
        shown.append(
            {**row, **{name: text.replace(quote * 2, quote) for name, text in texts.items()}}
        )
    return shown


def loaded_replication(rows: Iterable[Mapping[str, Cell]]) -> list[Row]:
    """Return the replication hostgroups at RUNTIME.

    ProxySQL pastes them into SQL: numbers of any size and hex pass, other text loses the row.
    """
    roles = ("writer_hostgroup", "reader_hostgroup")
    pasted = [{**row, **{role: _pasted(row[role]) for role in roles}} for row in rows]
    return [row for row in pasted if all(row[role] is not None for role in roles)]


def _pasted(value: Cell) -> Cell:
    if not isinstance(value, str):
        return value
    return int(value, 16) if re.fullmatch(r"0[xX][0-9A-Fa-f]+", value) else None


def loaded_attributes(layout: Layout, rows: Iterable[Mapping[str, Cell]]) -> list[Row]:
    """Return the hostgroup attributes at RUNTIME: the hostgroup is an unsigned number there."""
    return [_with_unsigned(row, "hostgroup_id") for row in loaded_numbers(layout, rows)]


def _with_unsigned(row: Row, name: str) -> Row:
    return {**row, name: c_int(row[name]) % 2**32}


def as_tuples(layout: Layout, rows: Sequence[Mapping[str, Cell]]) -> list[tuple[Cell, ...]]:
    """Return rows in column order."""
    return [tuple([row[name] for name in layout.names]) for row in rows]
