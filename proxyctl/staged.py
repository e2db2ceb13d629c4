"""What MEMORY of a table holds before a LOAD."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from proxyctl.catalog import Layout, Value
from proxyctl.catalog.variable_effects import freed_by_next_load
from proxyctl.compare import Difference
from proxyctl.state import KEEP, DesiredRow, Key, Row, Rows


def staged(layout: Layout, memory: Rows, folded: Rows, changes: Iterable[Difference]) -> Rows:
    """Return MEMORY after the changes: KEEP keeps what is there, or becomes ProxySQL's default.

    A user held in two halves becomes one row as soon as anything about it changes.
    """
    result = dict(memory)
    is_users = folded is not memory
    found = list(changes)
    # All rows leave before any comes: the second half of a user that goes may be a row that comes.
    # A variable stays where it is, as in MEMORY: a LOAD takes them in their order.
    is_variables = layout.table.prefix is not None
    for change in found:
        if change.current is not None and not is_variables:
            # Not change.key: a node of a family may stand elsewhere than where it is configured.
            _remove(result, layout.key_of(change.current), memory, folded, is_users=is_users)
    for change in found:
        if change.desired is None:
            continue
        if change.current is None and KEEP not in change.desired:
            row = cast("Row", change.desired)
        elif change.current is None:
            row = tuple(
                default if cell is KEEP else cell
                for cell, default in zip(change.desired, layout.defaults, strict=True)
            )
        else:
            cells = list(change.current)
            for position in change.columns:
                cells[position] = value_of(change.desired, position)
            row = tuple(cells)
        result[layout.key_of(row)] = row
    return result


def _remove(result: Rows, key: Key, memory: Rows, folded: Rows, *, is_users: bool) -> None:
    result.pop(key, None)
    if is_users and key[1] == 1 and (key[0], 0) in memory and (key[0], 0) not in folded:
        result.pop((key[0], 0), None)


def value_of(row: DesiredRow, position: int) -> Value:
    """Return a desired value as a plain one. A column that differs is never KEEP."""
    value = row[position]
    return None if value is KEEP else value


def in_loads(runtime: Rows, wanted: Rows) -> list[Rows]:
    """Return what MEMORY of admin variables has to hold, a LOAD at a time, to become `wanted`.

    A checksum that comes back on frees its difference count only for the next LOAD.
    """
    late = freed_by_next_load(_texts(runtime), _texts(wanted))
    if not late:
        return [wanted]
    first = {key: (key[0], "0") if key[0] in late else row for key, row in wanted.items()}
    return [first, wanted]


def _texts(rows: Rows) -> dict[str, str]:
    return {str(name): str(text) for name, text in rows.values()}
