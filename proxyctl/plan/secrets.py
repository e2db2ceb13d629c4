"""Texts of an instance that are secrets because files take them from references. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from proxyctl.catalog import Layout
from proxyctl.state.row import (
    DesiredTable,
    Key,
    Layer,
    Row,
    Rows,
    Secret,
    secret_columns,
    with_secrets,
)
from proxyctl.state.runtime import runtime_image

Place = Callable[[Key], object]
"""Maps the keys of the halves of a user, or of a node's hostgroups, to one identity."""


def hide_references(
    desired: DesiredTable, layers: Mapping[Layer, Rows], place: Place
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
        replaced.setdefault(place(key), set()).update(own)
    both = (*wanted.values(), *runtime_image(layout, wanted).values())
    texts = {row[n] for row in both for n in referring if isinstance(row[n], Secret)} - {""}

    def hidden(key: Key, row: Row) -> Row:
        own = replaced.get(place(key), ())
        if own or not texts.isdisjoint(row):
            row = with_secrets(row, [n for n in columns if n in own or row[n] in texts])
        return hidden_row(layout, key, row, desired.references) if desired.references else row

    distinct = {id(rows): rows for rows in layers.values()}
    hidden_rows = {
        number: {key: hidden(key, row) for key, row in rows.items()}
        for number, rows in distinct.items()
    }
    return {layer: hidden_rows[id(rows)] for layer, rows in layers.items()}


def hidden_row(layout: Layout, key: Key, row: Row, names: Collection[str]) -> Row:
    """Return the row with the texts of these columns, or variables, as secrets."""
    positions = (n for n in range(len(row)) if n not in layout.key_index)
    return with_secrets(row, [n for n in positions if reference_name(layout, key, n) in names])


def reference_name(layout: Layout, key: Key, position: int) -> str:
    """Return the name that references have for a cell: its column, or its variable."""
    return layout.names[position] if layout.table.prefix is None else str(key[0])
