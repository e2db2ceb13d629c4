"""Compares values, and sets of rows. Pure: rows in, differences out.

Values are compared by their meaning to ProxySQL: a JSON column by its content, a password by
verification, a variable by its kind. Neither side is rewritten first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from proxyctl.catalog import Column, Kind, Layout, Value
from proxyctl.catalog.variable_rules import canonical
from proxyctl.state.cells import as_read, number
from proxyctl.state.passwords import same_password
from proxyctl.state.row import KEEP, DesiredRow, Key, Row, Rows


class Difference(NamedTuple):
    """One row that a layer holds otherwise than desired.

    Shape: `current` None means that the row is missing in the layer, `desired` None that it should
    not be there. `columns` are the positions that differ, for a row present on both sides.
    """

    key: Key
    current: Row | None
    desired: DesiredRow | None
    columns: tuple[int, ...] = ()


def differences(
    layout: Layout,
    current: Rows,
    desired: Iterable[tuple[Key, DesiredRow]],
    *,
    ignored: frozenset[str] = frozenset(),
) -> Iterator[Difference]:
    """Yield the desired rows that `current` lacks or holds otherwise, but no deletions."""
    skip = frozenset(layout.index[name] for name in ignored if name in layout.index)
    for key, row in desired:
        found = current.get(key)
        if found is None:
            yield Difference(key, None, row)
        elif found is not row and found != row:
            columns = differing(layout, found, row)
            if skip:
                columns = tuple(position for position in columns if position not in skip)
            if columns:
                yield Difference(key, found, row, columns)


def differing(layout: Layout, current: Row, desired: DesiredRow) -> tuple[int, ...]:
    """Return the positions in which the rows differ in meaning. KEEP equals anything."""
    if layout.table.prefix is not None:
        return () if same_variable(str(current[0]), current[1], desired[1]) else (1,)
    return tuple(
        position
        for position, (have, want) in enumerate(zip(current, desired, strict=True))
        if have != want and want is not KEEP and not same_cell(layout, position, have, want)
    )


def same_cell(layout: Layout, position: int, one: Value, other: Value) -> bool:
    """Return whether two values of a column mean the same to ProxySQL."""
    column = layout.columns[position]
    if column.secret and column.is_listed and isinstance(one, str) and isinstance(other, str):
        return same_password(layout.name, one, other)
    return same(column, as_read(layout.table, column, one), as_read(layout.table, column, other))


def same(column: Column, one: Value, other: Value) -> bool:
    """Return whether two values of a column without passwords mean the same to ProxySQL."""
    if one == other and type(one) is type(other):
        return True
    if one is None or other is None:
        return False
    if column.is_numeric and column.is_listed:
        return number(one) == number(other)
    if not isinstance(one, str) or not isinstance(other, str):
        return str(one) == str(other)
    if column.kind is Kind.JSON:
        return _same_json(one, other)
    if column.check and column.check.startswith(("UPPER(", "LOWER(")):
        return one.upper() == other.upper()
    return False


def _same_json(one: str, other: str) -> bool:
    """Return whether two texts are the same JSON: 1, 1.0 and true differ, as for ProxySQL.

    Source: ProxySQL 2.7.1, what it logs when servers_defaults or flagOUTs are loaded.
    """
    try:
        return _normal_json(one) == _normal_json(other)
    except (ValueError, RecursionError):
        return False


def _normal_json(text: str) -> str:
    return json.dumps(json.loads(text), sort_keys=True)


def same_variable(name: str, one: Value, other: object) -> bool:
    """Return whether a layer that holds the text `one` holds what `other` asks for."""
    return other is KEEP or canonical_variable(name, one) == canonical_variable(name, other)


def canonical_variable(name: str, value: object) -> str:
    """Return the text that RUNTIME shows for a variable, apart from effects of other variables.

    NULL and `(null)` are ''. Names of character sets and collations are lower-cased: RUNTIME shows
    them as written, and their case has no meaning.
    """
    return canonical(name, "" if value is None else str(value))


def fold_users(layout: Layout, rows: Rows) -> Rows:
    """Return user rows with the halves of a user joined, if they agree elsewhere.

    RUNTIME always holds halves, as does MEMORY after SAVE ... TO MEMORY: (u, backend 1, frontend 0)
    and (u, backend 0, frontend 1) mean the same as the row (u, 1, 1). Shape: keyed by (username,
    backend); a joined user has the key (username, 1).
    """
    backend, frontend = layout.index["backend"], layout.index["frontend"]
    folded: Rows = {}
    for key, row in rows.items():
        if row[backend] == 1 and row[frontend] == 0:
            half = rows.get((key[0], 0))
            joined = _joined(layout, row, half) if half is not None else None
            folded[key] = row if joined is None else joined
        elif row[backend] == 0 and row[frontend] == 1:
            other = rows.get((key[0], 1))
            if other is None or other[frontend] != 0 or _joined(layout, other, row) is None:
                folded[key] = row
        else:
            folded[key] = row
    return folded


def _joined(layout: Layout, backend_half: Row, frontend_half: Row) -> Row | None:
    frontend = layout.index["frontend"]
    backend = layout.index["backend"]
    first, last = min(frontend, backend), max(frontend, backend)
    if (
        backend_half[:first] == frontend_half[:first]
        and backend_half[last + 1 :] == frontend_half[last + 1 :]
        and last == first + 1
    ):
        return (*backend_half[:frontend], 1, *backend_half[frontend + 1 :])
    for position, (one, other) in enumerate(zip(backend_half, frontend_half, strict=True)):
        if position in (frontend, backend) or one == other:
            continue
        if not same_cell(layout, position, one, other):
            return None
    return (*backend_half[:frontend], 1, *backend_half[frontend + 1 :])


def value_of(row: DesiredRow, position: int) -> Value:
    """Return a desired value as a plain one. A column that differs is never KEEP."""
    value = row[position]
    return None if value is KEEP else value
