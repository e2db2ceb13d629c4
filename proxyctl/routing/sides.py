"""What routes queries at RUNTIME now, and what would once the files are applied. Pure.

Rows and columns that the files do not manage stay as they are at RUNTIME.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from proxyctl.catalog import Layout, Version
from proxyctl.routing.router import ROUTING_TABLES
from proxyctl.state.compare import fold_users
from proxyctl.state.configuration import Configuration, Held, variables_of
from proxyctl.state.families import FAMILY_TABLES
from proxyctl.state.row import KEEP, DesiredRow, DesiredTable, Row, Rows
from proxyctl.state.runtime import runtime_image

SIDE_TABLES = (*ROUTING_TABLES, "mysql_servers", *FAMILY_TABLES)
"""What decides where a query goes, and which servers are there."""


@dataclass(frozen=True)
class Sides:
    """Two configurations in one set of layouts. Tables that stay are the same object in both."""

    before: Configuration
    after: Configuration


def sides_of(
    layouts: Mapping[str, Layout],
    desired: Mapping[str, DesiredTable],
    runtime: Callable[[Layout], Rows],
    *,
    version: Version,
    hostgroup_names: Mapping[int, str],
) -> Sides:
    """Return both sides. `desired` in the instance's layouts; `runtime` reads RUNTIME."""
    tables: tuple[dict[str, Held], dict[str, Held]] = {}, {}
    variables: tuple[dict[str, str], dict[str, str]] = {}, {}
    for name in SIDE_TABLES:
        if name not in layouts:
            continue
        layout = layouts[name]
        before = _folded(layout, runtime(layout))
        after = rows_after(layout, before, desired.get(name))
        for side, rows in enumerate((before, after)):
            if layout.table.prefix is not None:
                variables[side].update(variables_of(rows.values()))
            else:
                tables[side][name] = Held(layout, rows)
    made = [
        Configuration(version, held, values, hostgroup_names)
        for held, values in zip(tables, variables, strict=True)
    ]
    return Sides(made[0], made[1])


def _folded(layout: Layout, rows: Rows) -> Rows:
    return fold_users(layout, rows) if layout.name == "mysql_users" else rows


def rows_after(layout: Layout, before: Rows, desired: DesiredTable | None) -> Rows:
    """Return the rows of RUNTIME after an apply; the same object where they stay.

    `before`: RUNTIME now, users folded. A column that the files leave alone keeps what it has.
    """
    if desired is None:
        return before
    ignored = [layout.index[n] for n in desired.keep_on_update if n in layout.index]
    wanted = {
        key: _settled(layout, row, before.get(key), ignored)
        for key, row in runtime_image(layout, dict(desired.rows)).items()
    }
    is_variables = layout.table.prefix is not None
    kept = {key: row for key, row in before.items() if is_variables or not desired.owns(key)}
    after = {**kept, **wanted}
    return before if after == before else after


def _settled(layout: Layout, row: DesiredRow, current: Row | None, ignored: list[int]) -> Row:
    if current is None:
        if KEEP not in row:
            return cast("Row", row)
        return tuple(
            default if cell is KEEP else cell
            for cell, default in zip(row, layout.defaults, strict=True)
        )
    if KEEP not in row and not ignored:
        return cast("Row", row)
    cells = [old if cell is KEEP else cell for cell, old in zip(row, current, strict=True)]
    for position in ignored:
        cells[position] = current[position]
    return tuple(cells)
