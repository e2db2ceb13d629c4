"""Texts of an instance that are secrets because files take them from references. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from proxyctl.catalog import Layout, Role
from proxyctl.proxysql.configuration import Configuration, variables_of
from proxyctl.proxysql.load_image import runtime_image
from proxyctl.rows.desired import Desired, DesiredTable
from proxyctl.rows.row import Key, Layer, Row, Rows, Secret, secret_columns, with_secrets

IdentityOf = Callable[[Key], object]
"""Maps the keys of the halves of a user, or of a node's hostgroups, to one identity."""


def hide_references(
    desired: DesiredTable, layers: Mapping[Layer, Rows], identity_of: IdentityOf
) -> Mapping[Layer, Rows]:
    """Return the layers with the texts of references as secrets.

    These are the text that a reference replaces, since a restore writes it again; the text of a
    reference in any row, since its row may get another key; and, also in deleted rows, the texts of
    `desired.references`. Layers that are the same object stay the same.
    """
    layout, referring = desired.layout, secret_columns(desired.layout, desired.rows)
    columns = [n for n in range(len(layout.columns)) if n not in layout.key_index]
    if not referring and not desired.references:
        return layers
    wanted = {
        key: row
        for key, row in desired.rows.items()
        if any(isinstance(row[n], Secret) for n in referring)
    }
    replaced: dict[object, set[int]] = {}
    for key, row in wanted.items():
        own = (n for n in referring if isinstance(row[n], Secret))
        replaced.setdefault(identity_of(key), set()).update(own)
    both = (*wanted.values(), *runtime_image(layout, wanted).values())
    texts = {row[n] for row in both for n in referring if isinstance(row[n], Secret)} - {""}

    def hidden(key: Key, row: Row) -> Row:
        own = replaced.get(identity_of(key), ())
        if own or not texts.isdisjoint(row):
            row = with_secrets(row, [n for n in columns if n in own or row[n] in texts])
        return hidden_row(layout, key, row, desired.references) if desired.references else row

    distinct = {id(rows): rows for rows in layers.values()}
    hidden_rows = {
        number: {key: hidden(key, row) for key, row in rows.items()}
        for number, rows in distinct.items()
    }
    return {layer: hidden_rows[id(rows)] for layer, rows in layers.items()}


def hide_in_configuration(configuration: Configuration, desired: Desired) -> Configuration:
    """Return what an instance holds, with the texts as secrets that its files take by reference."""
    variables: dict[Key, Row] = {(name,): (name, v) for name, v in configuration.variables.items()}
    tables = dict(configuration.tables)
    for name, table in desired.tables.items():
        if table.layout.table.prefix is not None:
            variables = _hidden(table, variables)
        elif name in tables:
            tables[name] = replace(tables[name], rows=_hidden(table, tables[name].rows))
    return replace(configuration, tables=tables, variables=variables_of(variables.values()))


def _hidden(table: DesiredTable, rows: Rows) -> Rows:
    """Return the rows with secrets, whichever hostgroup the monitor has moved a node to."""
    role = table.layout.table.role
    first, last = int(role is Role.SERVERS), 1 if role is Role.USERS else None
    hidden = hide_references(table, {Layer.RUNTIME: rows}, lambda key: key[first:last])
    return dict(hidden[Layer.RUNTIME])


def hidden_row(layout: Layout, key: Key, row: Row, names: Collection[str]) -> Row:
    """Return the row with the texts of these columns, or variables, as secrets."""
    positions = (n for n in range(len(row)) if n not in layout.key_index)
    return with_secrets(row, [n for n in positions if reference_name(layout, key, n) in names])


def reference_name(layout: Layout, key: Key, position: int) -> str:
    """Return the name that references have for a cell: its column, or its variable."""
    return layout.names[position] if layout.table.prefix is None else str(key[0])
