"""Make SQL: literals, and the statements for one table. No other place makes SQL.

ProxySQL's admin interface is SQLite behind the MySQL protocol: a quote is doubled, a backslash is
an ordinary character, and only the first statement of a text runs. Names come from the catalogue or
from the schema of the instance, values only through `literal`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import NoneType
from typing import cast

from proxyctl.catalog import TABLES, Column, ColumnKind, Layout, Role, Value
from proxyctl.catalog.model import SECOND_PASSWORD
from proxyctl.catalog.variables import is_secret_variable
from proxyctl.rows.row import Key, Layer, Row, Secret
from proxyctl.text import CONTROL

MAX_STATEMENT = 1_000_000
"""The longest statement in characters. Above 16 MB ProxySQL loses the protocol."""


BATCH_ROWS = 1000
"""The number of rows whose literals are made together."""


MASK = "***"


NUL = "a NUL character cannot be stored in ProxySQL"


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, and a function that returns it with its secrets masked.

    Most statements are never shown, so the masked text is made on demand.
    """

    sql: str
    mask: Callable[[], str]

    @property
    def masked(self) -> str:
        """The statement with its secrets masked."""
        return self.mask()

    @classmethod
    def plain(cls, sql: str) -> Statement:
        """Return a statement that holds no secret."""
        return cls(sql, lambda: sql)


def literal(value: Value) -> str:
    """Return `value` as an SQLite literal.

    Raises: ValueError for text with a NUL character, which ends a statement for SQLite.
    """
    if value is None:
        return "NULL"
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError(NUL)
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


_NOT_FOR_CLIENTS = re.compile(rf"[{CONTROL}]+|\\+(?=')")
"""Control characters, which a terminal must not see; and backslashes before a quote, which escape
the quote for the `mysql` client, but not for ProxySQL."""


def for_clients(statement: str) -> str:
    """Return a statement on one line that a terminal can show and the `mysql` client can send.

    Characters that either would change occur only in literals, and become `char()`.
    """

    def spelled(match: re.Match[str]) -> str:
        return f"'||char({','.join(str(ord(character)) for character in match[0])})||'"

    return _NOT_FOR_CLIENTS.sub(spelled, statement)


def table_name(layout: Layout, layer: Layer) -> str:
    """Return the name of the table in a layer."""
    name = layout.table.sql_name
    match layer:
        case Layer.MEMORY:
            return f"main.{name}"
        case Layer.RUNTIME:
            return f"main.runtime_{name}"
        case Layer.DISK:
            return f"disk.{name}"


_KNOWN_NAMES = frozenset(column.name for table in TABLES.values() for column in table.columns)
"""Names that SQLite reads without quotes. Names of a later ProxySQL may be keywords."""


def quoted_name(name: str) -> str:
    """Return a column name as SQLite reads it, quoted where necessary."""
    return name if name in _KNOWN_NAMES else '"' + name.replace('"', '""') + '"'


def _shown(layout: Layout, position: int, row: Row) -> str:
    return literal(MASK) if is_secret(layout, position, row) else literal(row[position])


def is_secret(layout: Layout, position: int, row: Row) -> bool:
    """Return whether the field must never be shown. For variables this depends on the name.

    A value from a reference is a secret in every column outside the key, which names the row. User
    attributes are a secret if they hold a second password (ProxySQL 3.0).
    """
    if isinstance(row[position], Secret) and position not in layout.key_index:
        return True
    if layout.table.prefix:
        return position == 1 and row[1] is not None and is_secret_variable(str(row[0]))
    if layout.table.role is Role.USERS and layout.columns[position].kind is ColumnKind.JSON:
        return _holds_second_password(str(row[position]))
    return layout.columns[position].secret and row[position] not in (None, "")


def _holds_second_password(attributes: str) -> bool:
    """Return whether the text contains the key, plain or with JSON escapes."""
    if SECOND_PASSWORD in attributes:
        return True
    try:
        return "\\" in attributes and SECOND_PASSWORD in json.dumps(json.loads(attributes))
    except (ValueError, RecursionError):
        return False


def _condition(layout: Layout, key: Key) -> str:
    parts = (
        f"{quoted_name(name)}={literal(value)}"
        for name, value in zip(layout.table.key, key, strict=True)
    )
    return " AND ".join(parts)


def _chunks(parts: Iterable[str], limit: int) -> Iterator[tuple[int, int, list[str]]]:
    """Yield runs of parts below `limit` characters, each with its first and last position."""
    run: list[str] = []
    length = start = end = 0
    for part in parts:
        if run and length + len(part) > limit:
            yield start, end, run
            run, length, start = [], 0, end
        run.append(part)
        length += len(part) + 1
        end += 1
    if run:
        yield start, end, run


def inserts(layout: Layout, rows: Iterable[Row]) -> Iterator[Statement]:
    """Yield multi-row INSERTs. A REPLACE would delete other rows silently."""
    all_rows = list(rows)
    names = ", ".join(map(quoted_name, layout.names))
    head = f"INSERT INTO {layout.table.sql_name} ({names}) VALUES "

    def masked(start: int, end: int) -> Callable[[], str]:
        def text() -> str:
            return head + ",".join(_shown_row(layout, row) for row in all_rows[start:end])

        return text

    for start, end, run in _chunks(_row_literals(all_rows), MAX_STATEMENT):
        yield Statement(head + ",".join(run), masked(start, end))


def _row_literals(rows: Sequence[Row]) -> Iterator[str]:
    """Yield each row as literals in parentheses.

    Making literals column by column is faster: the cells of a column mostly share a type.
    """
    for start in range(0, len(rows), BATCH_ROWS):
        columns = zip(*rows[start : start + BATCH_ROWS], strict=True)
        for cells in zip(*map(_literals, columns), strict=True):
            yield "(" + ",".join(cells) + ")"


def _literals(cells: tuple[Value, ...]) -> Sequence[str]:
    """Return the literal of each cell. Raises: as `literal`."""
    kinds = set(map(type, cells))
    if kinds == {str}:
        # A literal cannot contain NUL, so NUL can separate them.
        text = "\0".join(cast("tuple[str, ...]", cells))
        if text.count("\0") >= len(cells):
            raise ValueError(NUL)
        return ("'" + text.replace("'", "''").replace("\0", "'\0'") + "'").split("\0")
    if kinds == {int}:
        return list(map(repr, cells))
    if kinds == {NoneType}:
        return ["NULL"] * len(cells)
    return list(map(literal, cells))


def _shown_row(layout: Layout, row: Row) -> str:
    return "(" + ",".join(_shown(layout, position, row) for position in range(len(row))) + ")"


def deletes(layout: Layout, keys: Iterable[Key]) -> Iterator[Statement]:
    """Yield DELETEs of the rows with these keys, many rows per statement."""
    for condition in _in_chunks(layout, keys):
        yield Statement.plain(f"DELETE FROM {layout.table.sql_name} WHERE {condition}")


def _in_chunks(layout: Layout, keys: Iterable[Key]) -> Iterator[str]:
    """Yield conditions that hold for rows with these keys, each short enough for a statement."""
    columns = ", ".join(map(quoted_name, layout.table.key))
    if len(layout.table.key) == 1:
        head = f"{columns} IN ("
        parts = (literal(key[0]) for key in keys)
    else:
        head = f"({columns}) IN (VALUES "
        parts = ("(" + ",".join(map(literal, key)) + ")" for key in keys)
    for _, _, run in _chunks(parts, MAX_STATEMENT):
        yield head + ",".join(run) + ")"


def updates(
    layout: Layout, keys: Iterable[Key], before: Mapping[Key, Row], after: Mapping[Key, Row]
) -> Iterator[Statement]:
    """Yield UPDATEs of the differing columns; rows with the same change share a statement."""
    by_change: dict[object, tuple[tuple[int, ...], list[Key]]] = {}
    for key in keys:
        cells = enumerate(zip(before[key], after[key], strict=True))
        changed = tuple([position for position, (old, new) in cells if old != new])
        row = after[key]
        # A secret is masked; the same text in another row may be no secret.
        new = tuple([(row[position], is_secret(layout, position, row)) for position in changed])
        by_change.setdefault((changed, new), (changed, []))[1].append(key)
    for changed, members in by_change.values():
        yield from _update(layout, members, changed, after[members[0]])


def _update(
    layout: Layout, keys: Sequence[Key], changed: Sequence[int], row: Row
) -> Iterator[Statement]:
    """Yield the UPDATEs that copy the changed cells of `row` to the rows with these keys."""

    def text(value: Callable[[int], str], condition: str) -> str:
        sets = (f"{quoted_name(layout.names[position])}={value(position)}" for position in changed)
        return f"UPDATE {layout.table.sql_name} SET {', '.join(sets)} WHERE {condition}"

    def plain(position: int) -> str:
        return literal(row[position])

    def masked(position: int) -> str:
        return _shown(layout, position, row)

    is_one = len(keys) == 1
    for condition in [_condition(layout, keys[0])] if is_one else _in_chunks(layout, keys):
        yield Statement(text(plain, condition), partial(text, masked, condition))


def select_json(
    tables: Sequence[tuple[Layout, Layer]],
    *,
    chunk: int,
    cell: Callable[[Layout, Layer, Column], str],
) -> str:
    """Return one SELECT that reads tables as JSON arrays of at most `chunk` rows each.

    `cell`: the expression for a cell of a column.


    JSON made inside SQLite reads five times faster than rows, which ProxySQL sends field by field.
    Grouping by rowid costs no sort, and keeps every field far below the size of a packet. ProxySQL
    fills the RUNTIME tables that a statement names before it runs it, and with some of them their
    neighbours: tables in one statement are filled once, and show the same moment.

    Shape of the answer: rows of (number of the table, JSON text, its number of rows), and last one
    row (NULL, NULL, number of rows of all tables). A SELECT that fails while it runs, as at a BLOB,
    which JSON cannot hold, gets OK with some of the rows or none: an answer without the last row
    proves nothing.
    """
    sources = [f"{table_name(layout, layer)}{_where(layout, layer)}" for layout, layer in tables]

    def cells(layout: Layout, layer: Layer) -> str:
        return ",".join(cell(layout, layer, column) for column in layout.columns)

    parts = [
        f"SELECT {number}, json_group_array(json_array({cells(layout, layer)})), count(*)"
        f" FROM {source} GROUP BY rowid/{chunk}"
        for number, ((layout, layer), source) in enumerate(zip(tables, sources, strict=True))
    ]
    counts = "+".join(f"(SELECT count(*) FROM {source})" for source in sources)
    return " UNION ALL ".join([*parts, f"SELECT NULL, NULL, {counts}"])


def _where(layout: Layout, layer: Layer) -> str:
    prefix, monitor_row = layout.table.prefix, layout.table.monitor_row
    if monitor_row is not None and layer is Layer.RUNTIME:
        return f" WHERE NOT ({monitor_row})"
    if prefix is None:
        return ""
    return f" WHERE substr(variable_name,1,{len(prefix)})={literal(prefix)}"


def mask_literals(sql: str) -> str:
    """Return the statement with every text literal masked, also a truncated one."""
    return re.sub(r"'(?:[^']|'')*(?:'|\Z)", literal(MASK), sql)


def transition(
    layout: Layout, before: dict[Key, Row], after: dict[Key, Row]
) -> Iterator[Statement]:
    """Yield the statements that turn the rows `before` into the rows `after`.

    DELETEs come first, so that no UPDATE or INSERT collides with a deleted row. An update that
    would collide with the UNIQUE value of another row becomes a DELETE and an INSERT.
    """
    gone = [key for key in before if key not in after]
    changed = [key for key, row in after.items() if key in before and before[key] != row]
    new: list[Row] = [row for key, row in after.items() if key not in before]
    clashing = _clashing(layout, changed, before, after)
    if clashing:
        gone += clashing
        new += [after[key] for key in clashing]
        moved = set(clashing)
        changed = [key for key in changed if key not in moved]
    if gone:
        yield from deletes(layout, gone)
    if changed:
        yield from updates(layout, changed, before, after)
    if new:
        yield from inserts(layout, new)


def _clashing(
    layout: Layout, changed: list[Key], before: dict[Key, Row], after: dict[Key, Row]
) -> list[Key]:
    """Return the changed rows whose new UNIQUE value another row has before the updates.

    Each UNIQUE constraint is checked alone: a hostgroup may be the writer of one row and the reader
    of another. NULL does not equal NULL.
    """
    clashing_keys: dict[Key, None] = {}
    for unique in layout.table.unique:
        positions = [layout.index[name] for name in unique]

        def value(row: Row, positions: list[int] = positions) -> tuple[Value, ...]:
            return tuple([row[position] for position in positions])

        wanted = {key: value(after[key]) for key in changed}
        moved = [key for key in changed if wanted[key] != value(before[key])]
        if moved:
            kept = {value(row) for key, row in before.items() if key in after}
            clashing = (key for key in moved if None not in wanted[key] and wanted[key] in kept)
            clashing_keys |= dict.fromkeys(clashing)
    return list(clashing_keys)
