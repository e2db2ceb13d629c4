"""Compare values and sets of rows. Pure.

Values are compared by their meaning to ProxySQL: a JSON column by its content, a password by
verification, a variable by its kind.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from proxyctl.catalog import Column, ColumnKind, Layout, Value
from proxyctl.catalog.variable_rules import canonical, is_out_of_reach
from proxyctl.catalog.variables import READ_ONLY, RESTART_ONLY
from proxyctl.proxysql.cells import as_read, number
from proxyctl.proxysql.passwords import same_password
from proxyctl.rows.row import KEEP, DesiredRow, Key, Row, Rows


class Difference(NamedTuple):
    """One row that differs between a layer and the desired state."""

    key: Key
    """The key of the row."""
    current: Row | None
    """The row of the layer; None: the layer lacks it."""
    desired: DesiredRow | None
    """The desired row; None: the layer should not have it."""
    columns: tuple[int, ...] = ()
    """The positions that differ, for a row on both sides."""


def same_rows(left: Mapping[Key, DesiredRow], right: Mapping[Key, DesiredRow]) -> bool:
    """Return whether two mappings hold equal rows; one object does, however large."""
    return left is right or left == right


def differences(
    layout: Layout,
    current: Rows,
    desired: Iterable[tuple[Key, DesiredRow]],
    *,
    ignored: frozenset[str] = frozenset(),
) -> Iterator[Difference]:
    """Yield the desired rows that `current` lacks or holds with other values; no deletions."""
    skip = frozenset(layout.index[name] for name in ignored if name in layout.index)
    for key, row in desired:
        held = current.get(key)
        if held is None:
            yield Difference(key, None, row)
        elif held is not row and held != row:
            columns = differing(layout, held, row)
            if skip:
                columns = tuple(position for position in columns if position not in skip)
            if columns:
                yield Difference(key, held, row, columns)


NOT_PUBLISHED = frozenset(RESTART_ONLY | READ_ONLY)
"""The variables that are not compared between MEMORY and another layer."""


def differences_from_memory(
    layout: Layout, layer: Rows, memory: Mapping[Key, DesiredRow]
) -> list[Difference]:
    """Return the differences of a layer from MEMORY; the layer's row is `current`.

    Only variables that a statement can set are compared.
    """
    if same_rows(layer, memory):
        return []
    differing_rows = list(differences(layout, layer, memory.items()))
    if layout.table.prefix is not None:
        # This ProxySQL does not know a variable that only DISK has: LOAD removed it from MEMORY,
        # and no SAVE removes it from DISK.
        return [
            difference
            for difference in differing_rows
            if difference.key[0] not in NOT_PUBLISHED and is_settable(layout, difference)
        ]
    gone = (Difference(key, row, None) for key, row in layer.items() if key not in memory)
    return [*differing_rows, *gone]


def is_settable(layout: Layout, difference: Difference) -> bool:
    """Return whether a statement can settle the difference of a variable.

    No statement can if this version accepts neither of the two values.
    """
    texts = [str(row[1]) for row in (difference.current, difference.desired) if row is not None]
    return not all(is_out_of_reach(str(difference.key[0]), t, layout.version) for t in texts)


def differing(layout: Layout, current: Row, desired: DesiredRow) -> tuple[int, ...]:
    """Return the positions of the cells that differ in meaning. KEEP equals anything."""
    if layout.table.prefix is not None:
        return () if same_variable(str(current[0]), current[1], desired[1]) else (1,)
    return tuple(
        position
        for position, (have, want) in enumerate(zip(current, desired, strict=True))
        if have != want and want is not KEEP and not same_cell(layout, position, have, want)
    )


def same_cell(layout: Layout, position: int, left: Value, right: Value) -> bool:
    """Return whether two values of a column mean the same to ProxySQL."""
    column = layout.columns[position]
    if column.secret and column.is_listed and isinstance(left, str) and isinstance(right, str):
        return same_password(layout.name, left, right)
    return same(column, as_read(layout.table, column, left), as_read(layout.table, column, right))


def same(column: Column, left: Value, right: Value) -> bool:
    """Return whether two values of a column that holds no password mean the same to ProxySQL."""
    if left == right and type(left) is type(right):
        return True
    if left is None or right is None:
        return False
    if column.is_numeric and column.is_listed:
        return number(left) == number(right)
    if not isinstance(left, str) or not isinstance(right, str):
        return str(left) == str(right)
    if column.kind is ColumnKind.JSON:
        return _same_json(left, right)
    if column.check and column.check.startswith(("UPPER(", "LOWER(")):
        return left.upper() == right.upper()
    return False


def _same_json(left: str, right: str) -> bool:
    """Return whether two texts are the same JSON. 1, 1.0 and true differ, as in ProxySQL.

    Source: what ProxySQL 2.7.1 logs when it loads servers_defaults or flagOUTs.
    """
    try:
        return _normal_json(left) == _normal_json(right)
    except (ValueError, RecursionError):
        return False


def _normal_json(text: str) -> str:
    return json.dumps(json.loads(text), sort_keys=True)


def same_variable(name: str, current: Value, desired: object) -> bool:
    """Return whether the text `current` in a layer means the same as `desired`."""
    return desired is KEEP or canonical_variable(name, current) == canonical_variable(name, desired)


def canonical_variable(name: str, value: object) -> str:
    """Return the text that RUNTIME shows for a variable, apart from effects of other variables.

    NULL and `(null)` become ''. Names of character sets and collations become lower case: RUNTIME
    shows them as written, and ProxySQL ignores their case.
    """
    return canonical(name, "" if value is None else str(value))


def value_of(row: DesiredRow, position: int) -> Value:
    """Return a desired value, with None for KEEP (a column that differs is never KEEP)."""
    value = row[position]
    return None if value is KEEP else value
