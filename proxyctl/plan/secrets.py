"""Texts of an instance that are secrets as well: files replace them, or put them there. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from proxyctl.catalog import Layout
from proxyctl.state.compare import Difference
from proxyctl.state.row import Key, Row, Rows, Secret, with_secrets

Place = Callable[[Key], object]
"""What stays the same of a key: halves of a user are one, and nodes in other hostgroups."""


def replaced_secrets(
    layout: Layout, changes: Iterable[Iterable[Difference]], place: Place
) -> dict[object, frozenset[int]]:
    """Return where secrets of the files replace a text: a restore writes that text again.

    Shape: positions of columns, by what `place` makes of a key.
    """
    hidden: dict[object, frozenset[int]] = {}
    for difference in (one for found in changes for one in found):
        desired = difference.desired
        if desired is None or Secret not in set(map(type, desired)):
            continue
        found = frozenset(
            position
            for position, cell in enumerate(desired)
            if isinstance(cell, Secret) and position not in layout.key_index
        )
        if found:
            where = place(difference.key)
            hidden[where] = hidden.get(where, frozenset()) | found
    return hidden


def covered(rows: Rows, hidden: dict[object, frozenset[int]], place: Place) -> Rows:
    """Return the rows with the texts at these positions as secrets."""
    nothing: frozenset[int] = frozenset()
    return {key: with_secrets(row, hidden.get(place(key), nothing)) for key, row in rows.items()}


def hide_references(layout: Layout, rows: Rows, names: Collection[str]) -> Rows:
    """Return the rows with the texts of these columns, or of these variables, as secrets."""
    return {key: hidden_row(layout, key, row, names) for key, row in rows.items()}


def hidden_row(layout: Layout, key: Key, row: Row, names: Collection[str]) -> Row:
    """Return the row with the texts of these columns, or variables, as secrets."""
    positions = (n for n in range(len(row)) if n not in layout.key_index)
    return with_secrets(row, [n for n in positions if reference_name(layout, key, n) in names])


def reference_name(layout: Layout, key: Key, position: int) -> str:
    """Return what references call a cell: its column, or its variable."""
    return layout.names[position] if layout.table.prefix is None else str(key[0])
