"""What the files ask for, as one configuration: as MEMORY would hold it, applied to nothing."""

from __future__ import annotations

from proxyctl.config.drops import field_place
from proxyctl.state.configuration import Configuration, Held, variables_of
from proxyctl.state.row import KEEP, Desired, DesiredTable, Key, Row, Where


def configuration_of(desired: Desired) -> Configuration:
    """Return the configuration. What the files leave to the instance has the column's default."""
    tables: dict[str, Held] = {}
    variables: dict[str, str] = {}
    for name, table in desired.tables.items():
        rows = _rows(table)
        if table.layout.table.prefix is not None:
            variables |= variables_of(rows.values())
        else:
            tables[name] = Held(table.layout, rows, is_whole=table.scope is None)

    def place(name: str, key: Key, column: str | None) -> Where | None:
        table = desired.tables.get(name)
        if table is None or key not in table.where:
            return None
        return table.where[key] if column is None else field_place(table, key, column)[0]

    return Configuration(desired.version, tables, variables, desired.hostgroup_names, place)


def _rows(table: DesiredTable) -> dict[Key, Row]:
    columns = table.layout.columns
    return {
        key: tuple(
            column.default if value is KEEP else value
            for column, value in zip(columns, row, strict=True)
        )
        for key, row in table.rows.items()
    }
