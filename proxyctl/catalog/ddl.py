"""CREATE TABLE text from the catalogue, as SQLite reads it.

The CHECK expressions stand as ProxySQL has them, since they are the text of its error messages.
"""

from __future__ import annotations

import re

from proxyctl.catalog.model import Column, Layout

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def _quoted(name: str) -> str:
    return name if _PLAIN_NAME.match(name) else '"' + name.replace('"', '""') + '"'


def _column(layout: Layout, column: Column) -> str:
    parts = [_quoted(column.name), column.sql_type]
    if layout.table.autoincrement and layout.table.key == (column.name,):
        parts.append("PRIMARY KEY AUTOINCREMENT")
    if column.check is not None:
        parts.append(f"CHECK ({column.check})")
    if column.notnull:
        parts.append("NOT NULL")
    match column.default:
        case None:
            pass
        case str(text):
            parts.append("DEFAULT '" + text.replace("'", "''") + "'")
        case number:
            parts.append(f"DEFAULT {number}")
    return " ".join(parts)


def create_table(layout: Layout, name: str | None = None) -> str:
    """Return the CREATE TABLE statement of a table; `name` overrides its name."""
    table = layout.table
    parts = [_column(layout, column) for column in layout.columns]
    if not table.autoincrement:
        parts.append(f"PRIMARY KEY ({', '.join(map(_quoted, table.key))})")
    parts += [f"UNIQUE ({', '.join(map(_quoted, unique))})" for unique in table.unique]
    return f"CREATE TABLE {name or table.sql_name} ({', '.join(parts)})"
