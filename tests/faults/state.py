"""Read with SQL what an instance holds, by admin module and layer; and restore it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from proxyctl.catalog import ADMIN_MODULES, Table
from tests.support.every_module import MODULES
from tests.support.servers.instances import Instance

RUNTIME, MEMORY, DISK = "RUNTIME", "MEMORY", "DISK"
_SCHEMAS = {RUNTIME: "main.runtime_", MEMORY: "main.", DISK: "disk."}

Row = tuple[int | str | None, ...]
Rows = tuple[Row, ...]
Tables = tuple[tuple[str, Rows], ...]
"""The rows of an admin module's tables, sorted: two of the same content are equal."""


@dataclass(frozen=True)
class State:
    """What all layers of all admin modules hold."""

    parts: dict[tuple[str, str], Tables]

    def __getitem__(self, place: tuple[str, str]) -> Tables:
        return self.parts[place]


class Look:
    """Reads all layers with one statement, so at one moment."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        columns = instance.query(
            "SELECT m.name, group_concat('\"' || p.name || '\"') FROM main.sqlite_master m"
            " JOIN pragma_table_info(m.name, 'main') p WHERE m.type='table' GROUP BY m.name"
        )
        present = {str(name): str(listed) for name, listed in columns}
        self._tables = {
            module: [table for table in ADMIN_MODULES[module].tables if table.sql_name in present]
            for module in MODULES
        }
        self._sql = " UNION ALL ".join(
            f"SELECT '{table.name}', '{layer}', json_array({present[table.sql_name]})"
            f" FROM {schema}{table.sql_name}{_where(table, layer)}"
            for tables in self._tables.values()
            for table in tables
            for layer, schema in _SCHEMAS.items()
        )

    def __call__(self) -> State:
        """Return what the instance holds now."""
        found: dict[tuple[str, str], list[Row]] = {}
        for table, layer, text in self._instance.query(self._sql):
            found.setdefault((str(table), str(layer)), []).append(tuple(json.loads(str(text))))
        return State(
            {
                (module, layer): tuple(
                    (table.name, tuple(sorted(found.get((table.name, layer), ()), key=repr)))
                    for table in tables
                )
                for module, tables in self._tables.items()
                for layer in _SCHEMAS
            }
        )


def _where(table: Table, layer: str) -> str:
    if table.prefix:
        where = f" WHERE variable_name LIKE '{table.prefix}%'"
        # Every LOAD puts these back in MEMORY: there they say nothing, and DISK is what counts.
        return where + " AND variable_name<>'mysql-threads'" * (layer == MEMORY)
    if layer == RUNTIME and table.name == "mysql_servers":
        return " WHERE status<>'OFFLINE_HARD'"
    return ""


def between_loads(module: str, old: Tables, new: Tables) -> Tables | None:
    """Return what RUNTIME holds between the two LOADs of a module; None if it has only one."""
    if module != "MYSQL SERVERS":
        return None
    result = dict(new)
    # With the servers that leave: rules and users still send queries there.
    staying = {row[:3] for row in result["mysql_servers"]}
    leaving = [row for row in dict(old)["mysql_servers"] if row[:3] not in staying]
    result["mysql_servers"] = tuple(sorted([*result["mysql_servers"], *leaving], key=repr))
    return tuple(result.items())


def put_back(instance: Instance, now: State, wanted: State) -> None:
    """Bring the instance to this state, without a restart."""
    instance.run("DROP TABLE IF EXISTS proxyctl_lock")
    for module in MODULES:
        for layer in (MEMORY, DISK):
            for sql in _writes(now[module, layer], wanted[module, layer], _SCHEMAS[layer]):
                instance.run(sql)
        if now[module, RUNTIME] != wanted[module, RUNTIME]:
            instance.run(f"LOAD {module} TO RUNTIME")


def _writes(now: Tables, wanted: Tables, schema: str) -> Iterator[str]:
    for (name, current), (_, rows) in zip(now, wanted, strict=True):
        if current == rows:
            continue
        if name.endswith("_variables"):
            for row in set(rows) - set(current):
                yield f"INSERT OR REPLACE INTO {schema}global_variables VALUES {_values(row)}"
            continue
        yield f"DELETE FROM {schema}{name}"
        if rows:
            yield f"INSERT INTO {schema}{name} VALUES {','.join(map(_values, rows))}"


def _values(row: Row) -> str:
    return f"({','.join(map(_literal, row))})"


def _literal(cell: int | str | None) -> str:
    if cell is None:
        return "NULL"
    return str(cell) if isinstance(cell, int) else "'" + cell.replace("'", "''") + "'"
