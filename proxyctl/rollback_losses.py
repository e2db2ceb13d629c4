"""What of a snapshot has no place in the ProxySQL of now, as warnings. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.catalog import Layout, Version
from proxyctl.catalog.variables import VARIABLES
from proxyctl.change import sorted_keys
from proxyctl.compare import canonical_variable
from proxyctl.errors import counted
from proxyctl.state import DesiredTable, Row, Rows

_LISTED = 10
"""So many variables are named one by one; more are summed up."""


def lost_rows(table: str, count: int, *, is_known: bool = True) -> Iterator[str]:
    """Yield that a table is not there, if it had rows.

    `is_known` False: it is proxyctl that does not know the table.
    """
    if count:
        why = "this ProxySQL has no such table" if is_known else "this proxyctl knows no such table"
        yield f"{table}: left alone: {counted(count, 'row')}; {why}"


def lost_variables(table: str, rows: Rows, then: Version) -> Iterator[str]:
    """Yield that these variables are not there: one by one, or summed up where they are many.

    Of many those are named that were not at the defaults of `then`, the version of the snapshot.
    """
    names = [str(key[0]) for key in sorted_keys(rows)]
    if len(names) <= _LISTED:
        yield from (f"{name}: left alone: this ProxySQL has no such variable" for name in names)
        return
    chosen = [str(key[0]) for key in sorted_keys(rows) if not _is_default(rows[key], then)]
    of_those = f": {', '.join(chosen)}" if chosen else ""
    yield (
        f"{table}: left alone: {len(names)} variables, none of which this ProxySQL has;"
        f" {len(chosen)} of them not at their defaults{of_those}"
    )


def _is_default(row: Row, version: Version) -> bool:
    name, value = str(row[0]), row[1]
    known = VARIABLES.get(name)
    default = known.default_in(version) if known else None
    return default is not None and (
        canonical_variable(name, value) == canonical_variable(name, default)
    )


def lost_columns(table: DesiredTable, now: Layout) -> Iterator[str]:
    """Yield the columns that this ProxySQL has no more, where a row used them."""
    for position, column in enumerate(table.layout.columns):
        if column.name not in now.index and any(
            row[position] != column.default for row in table.rows.values()
        ):
            yield f"{table.layout.name}.{column.name}: left out: this ProxySQL has no such column"
