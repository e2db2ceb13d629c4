"""Rows -> a SQL script that a person can paste into the admin port.

One statement a line, in the order of an apply: rows, LOAD ... TO RUNTIME, SAVE ... TO DISK. It does
no more than the files say: rows outside `manage:` stay, and so do columns that a row does not set.
Comments stand only above the statements: a client that sends them along would hide a LOAD from
ProxySQL.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from proxyctl.catalog import ADMIN_MODULES, REFERENCE, Layout, Table, layout_of
from proxyctl.catalog.variables import READ_ONLY, RESTART_ONLY
from proxyctl.errors import ProxyctlError
from proxyctl.state import sql
from proxyctl.state.row import KEEP, DesiredRow, DesiredTable, Glob, Scope, Span, Term
from proxyctl.state.sql import for_clients, literal, quoted_name

_ROWS = 500
"""Most rows of one INSERT."""


def write_script(
    tables: Mapping[str, tuple[Layout, Sequence[DesiredRow]]],
    variables: Mapping[str, str],
    *,
    owned: Mapping[str, DesiredTable] | None = None,
    header: Sequence[str] = (),
) -> str:
    """Return the script: it replaces the rows that the files own, and sets the variables.

    Rows that hold KEEP, and columns that count only at INSERT, are updated instead of replaced. The
    INSERT of a user without a password here is a comment: anybody could log in as that user.

    Shape: `tables` by catalogue name; `owned` says which part of a table the files own, by default
    all of it. Raises: ValueError for text with a NUL character; ProxyctlError for a pattern of
    `manage` that SQL cannot say.
    """
    writer = _Writer(tables, variables, owned or {})
    statements = list(writer.statements())
    comments = [" ".join(line.split()) for line in header]
    if writer.withheld:
        comments += [
            "this script holds no passwords and creates no users: put each password in place of",
            "'***', and move its statement in front of LOAD MYSQL USERS or PGSQL USERS",
            *writer.withheld,
        ]
    lines = [f"-- {line}" for line in comments]
    lines += [f"{for_clients(statement)};" for statement in statements]
    return "\n".join(lines) + "\n"


@dataclass
class _Writer:
    tables: Mapping[str, tuple[Layout, Sequence[DesiredRow]]]
    variables: Mapping[str, str]
    owned: Mapping[str, DesiredTable]
    withheld: list[str] = field(default_factory=list)
    """Lines of statements that nobody can run as they are."""

    def statements(self) -> Iterator[str]:
        """Yield every statement. Changes: self.withheld."""
        modules = [
            module
            for module in ADMIN_MODULES.values()
            if any(table.name in self.tables for table in module.tables)
            or any(self._variables_of(table) for table in module.tables)
        ]
        for module in modules:
            for table in module.tables:
                if table.name in self.tables:
                    yield from self._table(*self.tables[table.name])
                for name, value in self._variables_of(table).items():
                    if name not in RESTART_ONLY:
                        yield _set(table, name, value)
        for module in modules:
            yield module.load
        for module in modules:
            for table in module.tables:
                for name, value in self._variables_of(table).items():
                    # LOAD puts these back in MEMORY: set before it, they would never reach DISK.
                    if name in RESTART_ONLY:
                        yield _set(table, name, value)
            yield module.save

    def _variables_of(self, table: Table) -> dict[str, str]:
        prefix = table.prefix
        if prefix is None:
            return {}
        return {
            name: value
            for name, value in self.variables.items()
            if name.startswith(prefix) and name not in READ_ONLY
        }

    def _table(self, layout: Layout, rows: Sequence[DesiredRow]) -> Iterator[str]:
        """Yield the statements of one table. Changes: self.withheld."""
        owned = self.owned.get(layout.name)
        ours = _condition(layout, owned.scope if owned else None)
        kept = owned.keep_on_update if owned else frozenset()
        if not kept and all(KEEP not in row for row in rows):
            yield f"DELETE FROM {layout.table.sql_name}{f' WHERE {ours}' if ours else ''}"
            yield from (one.sql for one in sql.inserts(layout, rows))  # type: ignore[arg-type]
            return
        yield _delete_others(layout, rows, ours)
        for row in rows:
            yield from _update(layout, row, kept)
        for columns, alike in _by_columns(rows).items():
            secret = [n for n, c in enumerate(layout.columns) if c.secret and n not in columns]
            if secret:
                self._withhold(layout, alike, secret)
            else:
                yield from _insert_missing(layout, alike, columns)

    def _withhold(
        self, layout: Layout, rows: Sequence[DesiredRow], secret: Collection[int]
    ) -> None:
        """Keep back the INSERT of users without a password here. Changes: self.withheld."""
        for row in rows:
            cells = [sql.MASK if n in secret else cell for n, cell in enumerate(row)]
            columns = tuple(n for n, cell in enumerate(cells) if cell is not KEEP)
            for statement in _insert_missing(layout, [tuple(cells)], columns):
                self.withheld.append(f"{for_clients(statement)};")


def _condition(layout: Layout, scope: Scope | None) -> str | None:
    """Return the condition that is true for the rows that the files own; None for all of them.

    Raises: ValueError for a scope that is not given as data; ProxyctlError for a pattern.
    """
    if scope is None:
        return None
    if not scope.terms:
        raise ValueError(f"the scope of {layout.name} cannot be said in SQL: {scope.text}")
    columns = []
    for name, terms in scope.terms.items():
        choices = [_term(quoted_name(name), term) for term in terms]
        columns.append(choices[0] if len(choices) == 1 else f"({' OR '.join(choices)})")
    return " AND ".join(columns)


def _term(column: str, term: Term) -> str:
    match term:
        case Span(low, high):
            return f"{column}>={low} AND {column}<={high}"
        case Glob(pattern) if "[" in pattern:
            # SQLite reads some classes of characters in another way.
            message = f"manage: {pattern!r} cannot be written in SQL"
            raise ProxyctlError(message, fix="a pattern of a script may have * and ?, no class [ ]")
        case Glob(pattern):
            return f"{column} GLOB {literal(pattern)}"
        case _:
            return f"{column}={literal(term)}"


def _by_columns(rows: Sequence[DesiredRow]) -> dict[tuple[int, ...], list[DesiredRow]]:
    """Return the rows by the positions of the columns that they say."""
    found: dict[tuple[int, ...], list[DesiredRow]] = {}
    for row in rows:
        columns = tuple([n for n, cell in enumerate(row) if cell is not KEEP])
        found.setdefault(columns, []).append(row)
    return found


def _cell(value: object) -> str:
    if value is not None and not isinstance(value, int | float | str):
        raise ValueError("KEEP is no value that can be written")
    return literal(value)


def _tuple(row: DesiredRow, positions: Collection[int]) -> str:
    return "(" + ",".join([_cell(row[position]) for position in positions]) + ")"


def _names(layout: Layout, positions: Collection[int]) -> str:
    return ", ".join(quoted_name(layout.names[position]) for position in positions)


def _delete_others(layout: Layout, rows: Sequence[DesiredRow], ours: str | None) -> str:
    """Return the DELETE of our rows that are not among these: the others are updated in place."""
    parts = [ours] if ours else []
    if rows:
        keys = ",".join([_tuple(row, layout.key_index) for row in rows])
        parts.append(f"({_names(layout, layout.key_index)}) NOT IN (VALUES {keys})")
    where = f" WHERE {' AND '.join(parts)}" if parts else ""
    return f"DELETE FROM {layout.table.sql_name}{where}"


def _update(layout: Layout, row: DesiredRow, kept: Collection[str]) -> Iterator[str]:
    """Yield the UPDATE of what the row says; none where it says nothing but its key."""
    sets = [
        f"{quoted_name(name)}={_cell(cell)}"
        for position, (name, cell) in enumerate(zip(layout.names, row, strict=True))
        if cell is not KEEP and name not in kept and position not in layout.key_index
    ]
    if sets:
        key = " AND ".join(
            f"{quoted_name(layout.names[n])}={_cell(row[n])}" for n in layout.key_index
        )
        yield f"UPDATE {layout.table.sql_name} SET {', '.join(sets)} WHERE {key}"


def _insert_missing(
    layout: Layout, rows: Sequence[DesiredRow], columns: Sequence[int]
) -> Iterator[str]:
    """Yield INSERTs of the rows that are not there yet, with the columns that they say.

    Not INSERT OR IGNORE, which would hide what a CHECK refuses, and no upsert, which older ProxySQL
    does not know.
    """
    name = layout.table.sql_name
    keys = ",".join(f"column{columns.index(position) + 1}" for position in layout.key_index)
    tail = f") WHERE ({keys}) NOT IN (SELECT {_names(layout, layout.key_index)} FROM {name})"
    head = f"INSERT INTO {name} ({_names(layout, columns)}) SELECT * FROM (VALUES "
    for start in range(0, len(rows), _ROWS):
        yield head + ",".join(_tuple(row, columns) for row in rows[start : start + _ROWS]) + tail


def _set(table: Table, name: str, value: str) -> str:
    """Return an UPDATE: ProxySQL keeps a row for every variable it has, and drops any other."""
    key, layout = (name,), layout_of(table, REFERENCE)
    (statement,) = sql.updates(layout, [key], {key: (name, None)}, {key: (name, value)})
    return statement.sql
