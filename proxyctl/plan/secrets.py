"""Texts of an instance that are secrets because files set or replace them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import chain

from proxyctl.catalog import Layout
from proxyctl.state.compare import Difference
from proxyctl.state.row import Key, Row, Rows, Secret, with_secrets

Place = Callable[[Key], object]
"""Maps the keys of the halves of a user, or of a node's hostgroups, to one identity."""


def replaced_secrets(
    layout: Layout, changes: Iterable[Iterable[Difference]], place: Place
) -> dict[object, frozenset[int]]:
    """Return the columns in which secrets of the files replace texts: a restore writes those texts.

    Shape: positions of columns by the identity that `place` gives a key.
    """
    positions: dict[object, frozenset[int]] = {}
    for difference in chain.from_iterable(changes):
        desired = difference.desired
        if desired is None or Secret not in set(map(type, desired)):
            continue
        replaced = frozenset(
            position
            for position, cell in enumerate(desired)
            if isinstance(cell, Secret) and position not in layout.key_index
        )
        if replaced:
            where = place(difference.key)
            positions[where] = positions.get(where, frozenset()) | replaced
    return positions


def hide(rows: Rows, positions: dict[object, frozenset[int]], place: Place) -> Rows:
    """Return the rows with the texts at these positions as secrets. `positions`: by identity."""
    nothing: frozenset[int] = frozenset()
    return {key: with_secrets(row, positions.get(place(key), nothing)) for key, row in rows.items()}


def hide_references(layout: Layout, rows: Rows, names: Collection[str]) -> Rows:
    """Return the rows with the texts of these columns, or of these variables, as secrets."""
    return {key: hidden_row(layout, key, row, names) for key, row in rows.items()}


def hidden_row(layout: Layout, key: Key, row: Row, names: Collection[str]) -> Row:
    """Return the row with the texts of these columns, or variables, as secrets."""
    positions = (n for n in range(len(row)) if n not in layout.key_index)
    return with_secrets(row, [n for n in positions if reference_name(layout, key, n) in names])


def reference_name(layout: Layout, key: Key, position: int) -> str:
    """Return the name that references have for a cell: its column, or its variable."""
    return layout.names[position] if layout.table.prefix is None else str(key[0])
