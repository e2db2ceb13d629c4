"""SQL about cells of another type than the catalogue has, such as a BLOB in a text column. Pure.

SQLite keeps a BLOB apart from the text of its bytes, and 3306 from 3306.5. ProxySQL reads every
cell as text up to the first NUL, and a number from the beginning of that text. So it may take two
keys for one, and such keys end it in most tables.
Source: ProxySQL 2.7.1 and 3.0.3, run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from proxyctl.catalog import Column, Layout, Table
from proxyctl.proxysql.cells import PASTED
from proxyctl.rows.row import Key, row_name
from proxyctl.rows.sql import quoted_name


class CellType(NamedTuple):
    """A type of cells: its name, an SQL condition for such a cell, and what ProxySQL reads."""

    name: str
    condition: str
    as_read: str


@dataclass(frozen=True)
class MistypedCells:
    """The cells of one column of MEMORY of one type that the catalogue does not have there."""

    table: Table
    """The table."""
    column: Column
    """The column."""
    type: CellType
    """The type of the cells."""
    count: int
    """The number of the cells."""
    first: Key
    """The key of the first row with such a cell, as ProxySQL reads it."""

    @property
    def is_key(self) -> bool:
        """Whether the column is part of the key: then statements do not find the row."""
        return self.column.name in self.table.key

    @property
    def subject(self) -> str:
        """The table and the column."""
        return f"{self.table.name}.{self.column.name}"

    @property
    def rows(self) -> str:
        """The name of the first row, and the number of the others."""
        more = f" and {self.count - 1} more" if self.count > 1 else ""
        return f"{row_name(self.table.name, self.first)}{more}"

    @property
    def fix(self) -> str:
        """The statement that gives the cells the value that ProxySQL reads, and the SAVE."""
        sets = f"{quoted_name(self.column.name)}={self.type.as_read}"
        update = f"UPDATE {self.table.sql_name} SET {sets} WHERE {self.type.condition}"
        return f"{update}; then SAVE {self.table.admin_module} TO DISK"


def mistyped(table: Table, column: Column) -> Iterator[CellType]:
    """Yield the types that a cell of the column must not have.

    Outside the key a number may be text or have a fraction: comparisons read it as ProxySQL does.
    """
    name = quoted_name(column.name)
    cast = f"CAST({name} AS {'INTEGER' if column.is_numeric else 'TEXT'})"
    until_nul = f"CAST(substr({name},1,instr({name},X'00')-1) AS TEXT)"
    yield CellType("a BLOB", f"typeof({name})='blob'", cast)
    yield CellType("text with a NUL", f"instr({name},X'00')", until_nul)
    if column.is_numeric and column.name in table.key:
        yield CellType("a number with a fraction", f"typeof({name})='real'", cast)
        yield CellType("text", f"typeof({name})='text'", cast)


def has_mistyped_key(table: Table) -> str:
    """Return a condition for rows whose key has a mistyped cell; empty if there can be none.

    It is short, since it is tried on every row of a large table.
    """
    parts: list[str] = []
    for column in table.columns:
        name = quoted_name(column.name)
        if column.name not in table.key or column.sql_type == "INTEGER" or column.choices:
            continue  # SQLite takes only integers there
        if column.is_numeric:
            parts.append(f"typeof({name})<>'integer'")
        else:
            parts += [f"typeof({name})='blob'", f"instr({name},char(0))"]
    return " OR ".join(dict.fromkeys(parts))


def has_mistyped_cell(layout: Layout) -> str:
    """Return a condition for rows with a BLOB or a NUL in any column."""
    names = map(quoted_name, layout.names)
    return " OR ".join(f"typeof({name})='blob' OR instr({name},char(0))" for name in names)


def as_text(column: Column) -> str:
    """Return an expression for a cell that is never a BLOB, and costs next to nothing.

    JSON functions end a statement at a BLOB, or from SQLite 3.45 on take some BLOBs for their own
    binary form of JSON. A BLOB is greater than every other value.
    """
    name = quoted_name(column.name)
    return f"CASE WHEN {name}>=X'' THEN CAST({name} AS TEXT) ELSE {name} END"


def as_read(table: Table, column: Column) -> str:
    """Return an expression for a cell as ProxySQL reads it: up to a NUL, a key as its number."""
    name = quoted_name(column.name)
    octets = f"CAST({name} AS BLOB)"
    text = (
        f"CAST(CASE WHEN instr({octets},X'00') THEN substr({octets},1,instr({octets},X'00')-1)"
        f" ELSE {name} END AS TEXT)"
    )
    if not column.is_numeric:
        return text
    if column.name in table.key and table.name not in PASTED:
        return f"CAST({name} AS INTEGER)"
    return f"CASE WHEN typeof({name}) IN ('blob','text') THEN {text} ELSE {name} END"
