"""Tables, columns and values that a release lacks or refuses. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator

from proxyctl.catalog import TABLES, Column, Value, layout_of
from proxyctl.proxysql.configuration import ConfigTable
from proxyctl.rows.row import Key
from proxyctl.upgrade.finding import UpgradeFinding
from proxyctl.upgrade.subject import UpgradeSubject


def tables(subject: UpgradeSubject) -> Iterator[UpgradeFinding]:
    """Yield the rows, columns and values that the release does not take."""
    for name, held in subject.before.tables.items():
        if not held.rows:
            continue
        if not TABLES[name].exists_in(subject.to):
            yield UpgradeFinding(
                "table-gone",
                name,
                f"ProxySQL {subject.to} has no such table: its rows have no effect",
                "decide what replaces the rows, and remove the section from the files",
                subject.rows(name, held.rows),
            )
            continue
        for column in held.layout.columns:
            yield from _of_column(subject, held, column)


def _of_column(
    subject: UpgradeSubject, held: ConfigTable, column: Column
) -> Iterator[UpgradeFinding]:
    name, position = held.layout.name, held.layout.index[column.name]
    layout = layout_of(held.layout.table, subject.to)
    if not column.is_listed:
        return
    if column.name not in layout.index:
        used = [key for key, row in held.rows.items() if row[position] != column.file_default]
        if used:
            yield UpgradeFinding(
                "column-gone",
                f"{name}.{column.name}",
                f"ProxySQL {subject.to} has no such column",
                "decide whether the rows can do without it, and remove it from the files",
                subject.rows(name, used),
            )
        return
    new = layout.column(column.name)
    if new == column:
        return
    refused: dict[str, list[Key]] = {}
    for key, row in held.rows.items():
        now, then = (_reason(definition, row[position]) for definition in (column, new))
        if then is not None and now is None:
            refused.setdefault(then, []).append(key)
    for reason, keys in refused.items():
        yield UpgradeFinding(
            "value-refused",
            f"{name}.{column.name}",
            f"ProxySQL {subject.to} {reason}",
            "write a value that both releases accept",
            subject.rows(name, keys),
        )


def _reason(column: Column, value: Value) -> str | None:
    """Return why ProxySQL does not take a value of a column, or None."""
    if column.json_keys and isinstance(value, str) and value:
        known = {key.name for key in column.json_keys}
        ignored = [key for key in _json_keys(value) if key not in known]
        return f"ignores the key {ignored[0]}" if ignored else None
    choices = column.choices
    if choices is None or value is None:
        return None
    words = {str(choice).upper() for choice in choices}
    if str(value).upper() in words:
        return None
    return f"accepts only {', '.join(map(str, choices))}"


def _json_keys(text: str) -> list[str]:
    try:
        parsed = json.loads(text)
    except ValueError:
        return []
    return list(parsed) if isinstance(parsed, dict) else []


def new_tables(subject: UpgradeSubject) -> tuple[str, ...]:
    """Return the tables that the release has and the present one lacks, without PostgreSQL's."""
    return tuple(
        name
        for name, table in TABLES.items()
        if table.prefix is None and not name.startswith("pgsql_")
        if table.exists_in(subject.to) and not table.exists_in(subject.version)
    )


def new_columns(subject: UpgradeSubject) -> tuple[str, ...]:
    """Return the columns that tables of both releases get, without PostgreSQL's."""
    return tuple(
        f"{name}.{column.name}"
        for name, table in TABLES.items()
        if not name.startswith("pgsql_")
        if table.exists_in(subject.to) and table.exists_in(subject.version)
        for column in layout_of(table, subject.to).columns
        if column.name not in layout_of(table, subject.version).index
    )
