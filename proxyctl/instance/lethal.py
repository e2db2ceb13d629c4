"""Rows of MEMORY that end ProxySQL, at a LOAD or when RUNTIME is read; cells of another type.

Every question gets a known number of rows: ProxySQL reports no error for a SELECT that fails while
it runs, and answers with fewer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from proxyctl.catalog import ADMIN_MODULES, Layout, Table, layout_of, parse_version
from proxyctl.catalog.releases import NEWEST_PROVEN
from proxyctl.errors import InstanceError
from proxyctl.instance.client import AdminClient, retried
from proxyctl.proxysql.cell_types import (
    MistypedCells,
    as_read,
    has_mistyped_cell,
    has_mistyped_key,
    mistyped,
)
from proxyctl.rows.row import Layer, row_name
from proxyctl.rows.sql import literal, quoted_name, table_name

_SIGN = 1 << 31

_GROUPS = ("writer_hostgroup", "backup_writer_hostgroup", "reader_hostgroup", "offline_hostgroup")


LETHAL: Mapping[str, tuple[str, ...]] = {
    "mysql_servers": ("hostgroup_id", "max_connections"),
    "mysql_query_rules_fast_routing": ("destination_hostgroup",),
    "mysql_galera_hostgroups": (*_GROUPS, "max_writers", "max_transactions_behind"),
    "mysql_group_replication_hostgroups": (*_GROUPS, "max_writers", "max_transactions_behind"),
    "mysql_aws_aurora_hostgroups": ("writer_hostgroup", "reader_hostgroup"),
    "mysql_aws_rds_bgd_hostgroups": (
        "writer_hostgroup",
        "reader_hostgroup",
        "green_writer_hostgroup",
        "green_reader_hostgroup",
    ),
    "proxysql_servers": ("weight",),
}
"""Columns, by table, whose CHECK in the runtime table fails for a negative number."""


_FIXES = {
    "PROXYSQL SERVERS": "correct the row in MEMORY, SAVE {module} TO DISK and restart ProxySQL: a"
    " LOAD would crash it too"
}

_FIX = "correct the row in MEMORY, then LOAD {module} TO RUNTIME"


def reject_rows_that_crash_proxysql(client: AdminClient, module: str) -> list[Table]:
    """Check MEMORY of an admin module before a LOAD, or a statement that reads its RUNTIME.

    ProxySQL ends if a CHECK or a key fails while it fills a runtime table, and it fills several
    tables of a module when a statement names one.

    Returns the tables with keys of another type, which are each other's equal in no two rows.
    Raises: InstanceError that names a row.
    """
    tables = {table: _suspicious(table) for table in _tables(client, module)}
    questions = [
        f"SELECT {literal(table.name)}, count(*) FROM main.{table.sql_name} WHERE {condition}"
        for table, condition in tables.items()
        if condition
    ]
    if not questions:
        return []
    found = {name for name, count in _answers(client, questions) if count != "0"}
    suspects = [table for table in tables if table.name in found]
    for table in suspects:
        if table.name in LETHAL:
            _refuse_negative(client, table)
    refuse_twins(
        client, [(layout_of(suspect, client.version), Layer.MEMORY) for suspect in suspects]
    )
    return suspects


def refuse_stopped(client: AdminClient) -> None:
    """Refuse a ProxySQL after PROXYSQL STOP, before RUNTIME is read.

    Its servers and users read as empty, and a read of the rules at RUNTIME, or a LOAD of the
    servers, ends it. One that runs has loaded its servers at least once, even if it has none.
    Statistics are asked only where no server is at RUNTIME: on 2.7 the statement after them waits
    while somebody has the history of statistics locked. Source: 2.7.1 and 3.0.3, run.

    Raises: InstanceError.
    """
    reject_rows_that_crash_proxysql(client, "MYSQL SERVERS")
    if client.query("SELECT count(*) FROM main.runtime_mysql_servers") != [("0",)]:
        return
    is_stopped = client.query(
        "SELECT count(*) FROM stats_mysql_global"
        " WHERE Variable_Name='Servers_table_version' AND Variable_Value='0'"
    )
    if is_stopped == [("1",)]:
        raise InstanceError(
            f"{client.address}: ProxySQL received PROXYSQL STOP: RUNTIME shows no servers or"
            " users, and reading its rules would crash ProxySQL",
            fix="send PROXYSQL START, which loads DISK: unsaved rows are lost",
        )


def _tables(client: AdminClient, module: str) -> list[Table]:
    """Return the tables of an admin module that the instance has, but for variables."""
    tables = [
        table
        for table in ADMIN_MODULES[module].tables
        if table.prefix is None and table.exists_in(client.version)
    ]
    if any(parse_version(table.since) > NEWEST_PROVEN for table in tables):
        # A build of another tier may have the number of a release without its tables.
        rows = client.query("SELECT name FROM sqlite_master WHERE type='table'")
        tables = [table for table in tables if (table.sql_name,) in rows]
    return tables


def _suspicious(table: Table) -> str:
    """Return a condition for rows to look at more closely; empty if there can be none."""
    return " OR ".join(filter(None, (_is_negative(table), has_mistyped_key(table))))


def _is_negative(table: Table) -> str:
    return " OR ".join(f"{quoted_name(name)} & {_SIGN}" for name in LETHAL.get(table.name, ()))


def _refuse_negative(client: AdminClient, table: Table) -> None:
    question = (
        f"SELECT min(rowid), {_key(table)} FROM main.{table.name} WHERE {_is_negative(table)}"
    )
    ((rowid, *key),) = _answers(client, [question])
    if rowid is not None:
        module = table.admin_module
        raise InstanceError(
            f"{client.address}: {row_name(table.name, (*key,))} has a number that ProxySQL reads as"
            " negative. If it is at RUNTIME, ProxySQL crashes as soon as RUNTIME is read",
            fix=_FIXES.get(module, _FIX).format(module=module),
        )


def _key(table: Table) -> str:
    """Return expressions for the key as ProxySQL reads it, named as its columns."""
    columns = {column.name: column for column in table.columns}
    return ", ".join(
        f"{as_read(table, columns[name])} AS {quoted_name(name)}" for name in table.key
    )


def refuse_twins(client: AdminClient, tables: Iterable[tuple[Layout, Layer]]) -> None:
    """Refuse rows of MEMORY or DISK whose keys SQLite keeps apart, and ProxySQL does not.

    Raises: InstanceError that names two of them, and the statement that removes one.
    """
    for layout, layer in tables:
        table, source = layout.table, table_name(layout, layer)
        if table.prefix is not None or layer is Layer.RUNTIME:
            continue
        columns = ", ".join(map(quoted_name, table.key))
        question = (
            f"SELECT min(first), last, {columns} FROM (SELECT min(rowid) AS first, max(rowid) AS"
            f" last, {_key(table)} FROM {source} GROUP BY {', '.join(_positions(table))}"
            " HAVING count(*)>1)"
        )
        ((first, last, *key),) = _answers(client, [question])
        if first is not None:
            raise InstanceError(
                f"{client.address}: {source} has two rows for {row_name(table.name, (*key,))}:"
                " their keys differ only in type, which ProxySQL does not see. A LOAD, a read of"
                " RUNTIME or a restart may crash it",
                fix=_twin_fix(table, layer, (first, last)),
            )


def _positions(table: Table) -> list[str]:
    return [str(position) for position in range(3, 3 + len(table.key))]


def _twin_fix(table: Table, layer: Layer, rows: tuple[str | None, str | None]) -> str:
    module = table.admin_module
    if layer is Layer.DISK:
        return f"SAVE {module} TO DISK: it replaces DISK with MEMORY, which has no such rows"
    return (
        f"SELECT rowid, * FROM {table.name} WHERE rowid IN ({rows[0]},{rows[1]}); keep one of them:"
        f" DELETE FROM {table.name} WHERE rowid={rows[1]}; then LOAD {module} TO RUNTIME and SAVE"
        f" {module} TO DISK, before anything reads RUNTIME"
    )


def tables_with_mistyped_cells(
    client: AdminClient, tables: Iterable[tuple[Layout, Layer]]
) -> set[str]:
    """Return the tables of MEMORY and DISK with a BLOB or a NUL, by name. Raises: InstanceError."""
    questions = [
        f"SELECT {literal(layout.name)}, count(*) FROM {table_name(layout, layer)}"
        f" WHERE {has_mistyped_cell(layout)}"
        for layout, layer in tables
        if layer is not Layer.RUNTIME  # where ProxySQL writes text and numbers
    ]
    answers = _answers(client, questions) if questions else []
    return {str(name) for name, count in answers if count != "0"}


def read_mistyped(client: AdminClient, layout: Layout) -> tuple[MistypedCells, ...]:
    """Return the cells of a table in MEMORY that have a type that its catalogue does not have.

    Shape: by column and type, in the order of the columns. Raises: InstanceError.
    """
    table = layout.table
    # LIKE also reads a name that is a BLOB.
    part = f" AND variable_name LIKE {literal(f'{table.prefix}%')}" if table.prefix else ""
    types = [(column, cell) for column in layout.columns for cell in mistyped(table, column)]
    found = _answers(
        client,
        [
            f"SELECT count(*), min(rowid), {_key(table)} FROM main.{table.sql_name}"
            f" WHERE ({cell.condition}){part}"
            for _, cell in types
        ],
    )
    return tuple(
        MistypedCells(table, column, cell, client.number(count), (*key,))
        for (column, cell), (count, _, *key) in zip(types, found, strict=True)
        if count != "0"
    )


def _answers(client: AdminClient, questions: Sequence[str]) -> list[tuple[str | None, ...]]:
    """Return the rows of SELECTs with one row each, in their order. Raises: InstanceError."""
    rows = retried(lambda: client.query(" UNION ALL ".join(questions)))
    if len(rows) != len(questions):
        raise InstanceError(
            f"{client.address}: ProxySQL answered with only part of the rows: {questions[0]}",
            fix="try again; PRAGMA integrity_check on the admin interface checks its database",
        )
    return rows
