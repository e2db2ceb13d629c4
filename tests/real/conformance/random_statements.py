"""Random statements for configuration tables: plausible values, edges, and refused values.

They leave out what crashes a real ProxySQL: numbers that do not fit 32 bits, and hostgroups in the
family tables that are not numbers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from proxyctl.catalog import TABLES, Column, Layout, Version, layout_of

_TEXTS = (
    "", "a", "A", "é☃", "it's", 'say "x"', "x\\y", "  b ", "line\nend", "10.%", "10.%.1", "%",
    "0xAB", "0x0", "CASELESS", "global,caseless", "GLOBAL", "online", "SHUNNED", "Offline_Soft",
    "OFFLINE_HARD", ".x", "[]", "{}", '{"a":1}', "null", "GET", "post", "read_only", "OFF",
    "PROTECTING", "1", "-1", "007", "stats", "nobody",
)  # fmt: skip
_NUMBERS = (
    "0", "1", "2", "3", "10", "-1", "-2", "3306", "65535", "65536", "1000000", "16777215", "1.5",
    "'abc'", "'7x'", "' 5'", "''", "1e3", "'0x10'",
)  # fmt: skip
_SMALL = ("0", "1", "2", "3", "4", "5", "10", "20", "30", "100", "1000")
_VERBS = ("INSERT", "INSERT", "INSERT", "INSERT OR REPLACE", "INSERT OR IGNORE", "REPLACE")
_MOVES = (
    "LOAD {} TO RUNTIME",
    "LOAD {} TO RUNTIME",
    "SAVE {} TO DISK",
    "LOAD {} FROM DISK",
    "SAVE {} TO MEMORY",
)


def layouts(version: Version) -> list[Layout]:
    """Return the configuration tables of a version."""
    return [
        layout_of(table, version)
        for table in TABLES.values()
        if table.exists_in(version) and table.prefix is None
    ]


def statements(seed: int, version: Version) -> Iterator[str]:
    """Yield statements that end with a LOAD of every module; a seed always yields the same."""
    source = random.Random(seed)
    known = layouts(version)
    modules = list(dict.fromkeys(layout.table.admin_module for layout in known))
    for _ in range(source.randint(5, 25)):
        yield _statement(source, known, modules)
    for module in modules:
        yield f"LOAD {module} TO RUNTIME"


def _statement(source: random.Random, known: list[Layout], modules: list[str]) -> str:
    layout = source.choice(known)
    first = layout.columns[0]
    kind = source.random()
    if kind < 0.75:
        return _insert(source, layout)
    if kind < 0.85:
        column = source.choice(layout.columns)
        return f"UPDATE {layout.name} SET {column.name}={_value(source, column)}"
    if kind < 0.9:
        return f"DELETE FROM {layout.name} WHERE {first.name}={_value(source, first)}"
    return source.choice(_MOVES).format(source.choice(modules))


def _insert(source: random.Random, layout: Layout) -> str:
    columns = [
        column
        for column in layout.columns
        if (column.notnull and column.default is None)
        or column.name in layout.table.key
        or source.random() < 0.25
    ]
    rows = ",".join(
        "(" + ",".join(_value(source, column) for column in columns) + ")"
        for _ in range(source.choice((1, 1, 2, 3)))
    )
    names = ",".join(column.name for column in columns)
    schema = source.choice(("", "main.", "disk."))
    return f"{source.choice(_VERBS)} INTO {schema}{layout.name} ({names}) VALUES {rows}"


def _value(source: random.Random, column: Column) -> str:
    if source.random() < 0.08:
        return "NULL"
    if column.choices and source.random() < 0.8:
        choice = source.choice(column.choices)
        return str(choice) if isinstance(choice, int) else _quoted(choice)
    if column.hostgroup or (column.is_numeric and source.random() < 0.6):
        return source.choice(_SMALL)
    if column.is_numeric or source.random() < 0.1:
        return source.choice(_NUMBERS)
    return _quoted(source.choice(_TEXTS))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
