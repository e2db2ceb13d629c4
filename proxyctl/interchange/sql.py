"""Rows -> a SQL script that a person can paste into the admin port.

The script has one statement per line, in the order of an apply: rows, LOAD ... TO RUNTIME, SAVE ...
TO DISK. Rows outside `manage:` stay, and so do columns that a row does not set. Comments appear
only above the statements: a client that sends them too would hide a LOAD from ProxySQL.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from proxyctl.catalog import ADMIN_MODULES, REFERENCE, Layout, Table, layout_of
from proxyctl.catalog.variables import READ_ONLY, RESTART_ONLY
from proxyctl.errors import ProxyctlError
from proxyctl.proxysql.plugin_ledger import NO_PLUGINS, PluginLedger
from proxyctl.rows import sql
from proxyctl.rows.desired import DesiredTable, Glob, NumberRange, Scope, Term
from proxyctl.rows.row import KEEP, DesiredRow
from proxyctl.rows.sql import for_clients, literal, quoted_name


def write_script(
    tables: Mapping[str, tuple[Layout, Sequence[DesiredRow]]],
    variables: Mapping[str, str],
    *,
    owned: Mapping[str, DesiredTable] | None = None,
    ledger: PluginLedger = NO_PLUGINS,
    header: Sequence[str] = (),
) -> str:
    """Return the script, which replaces the rows that the files own, and sets the variables.

    A table with KEEP in a row, or with columns set only at INSERT, has its rows updated instead.
    The INSERT of a user whose password is KEEP is a comment: anybody could log in as that user.

    Shape: `tables` by catalogue name; `owned` by name, with the part that the files own, by default
    the whole table. `ledger`: the rows of plugins, which stay. Raises: ValueError for text with a
    NUL character; ProxyctlError for a pattern of `manage` that SQL cannot express.
    """
    writer = _SqlWriter(tables, variables, owned or {}, ledger)
    statements = list(writer.statements())
    comments = [" ".join(line.split()) for line in header]
    if writer.withheld:
        comments += [
            "this script holds no passwords and creates no users: put each password in place of",
            "'***', and move its statement before LOAD MYSQL USERS or PGSQL USERS",
            *writer.withheld,
        ]
    lines = [f"-- {line}" for line in comments]
    lines += [f"{for_clients(statement)};" for statement in statements]
    return "\n".join(lines) + "\n"


@dataclass
class _SqlWriter:
    tables: Mapping[str, tuple[Layout, Sequence[DesiredRow]]]
    variables: Mapping[str, str]
    owned: Mapping[str, DesiredTable]
    ledger: PluginLedger
    withheld: list[str] = field(default_factory=list)
    """Statements that need a password before anybody can run them, one per line."""

    def statements(self) -> Iterator[str]:
        """Yield every statement. Changes: self.withheld."""
        modules = [
            module
            for module in ADMIN_MODULES.values()
            if any(
                table.name in self.tables or self._variables_of(table) for table in module.tables
            )
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
        owned, name, keys = self.owned.get(layout.name), layout.table.sql_name, layout.table.key
        kept = owned.keep_on_update if owned else frozenset()
        conditions = list(_conditions(layout, owned.scope if owned else None))
        if of_plugins := self.ledger.keys(layout):
            conditions.append(f"{keys[0]} NOT IN ({','.join(map(literal, of_plugins))})")
        is_whole = not kept and all(KEEP not in row for row in rows)
        if rows and not is_whole:
            # Rows of these keys are updated in place.
            row_keys = ",".join(f"({','.join(_cells(layout, row, keys).values())})" for row in rows)
            conditions.append(f"({', '.join(map(quoted_name, keys))}) NOT IN (VALUES {row_keys})")
        yield f"DELETE FROM {name}" + (f" WHERE {' AND '.join(conditions)}" if conditions else "")
        if is_whole:
            inserts = sql.inserts(layout, rows)  # type: ignore[arg-type]
            yield from (insert.sql for insert in inserts)
            return
        changed = [column for column in layout.names if column not in keys and column not in kept]
        for row in rows:
            where = " AND ".join(_pairs(_cells(layout, row, keys)))
            if pairs := _pairs(_cells(layout, row, changed)):
                yield f"UPDATE {name} SET {', '.join(pairs)} WHERE {where}"
            cells = _cells(layout, row, layout.names)
            secrets = {c.name for c in layout.columns if c.secret} - cells.keys()
            cells |= dict.fromkeys(secrets, literal(sql.MASK))
            # No INSERT OR IGNORE, which would hide what a CHECK refuses.
            insert = (
                f"INSERT INTO {name} ({', '.join(map(quoted_name, cells))})"
                f" SELECT {','.join(cells.values())}"
                f" WHERE NOT EXISTS (SELECT 1 FROM {name} WHERE {where})"
            )
            if secrets:
                self.withheld.append(f"{for_clients(insert)};")
            else:
                yield insert


def _cells(layout: Layout, row: DesiredRow, names: Collection[str]) -> dict[str, str]:
    """Return the cells that the row sets in these columns, as literals."""
    return {
        name: literal(cell)
        for name, cell in zip(layout.names, row, strict=True)
        if name in names and cell is not KEEP
    }


def _pairs(cells: Mapping[str, str]) -> list[str]:
    return [f"{quoted_name(name)}={text}" for name, text in cells.items()]


def _conditions(layout: Layout, scope: Scope | None) -> Iterator[str]:
    """Yield the conditions of the rows that the files own; nothing if they own the whole table.

    Raises: ValueError for a scope without terms; ProxyctlError for a pattern.
    """
    if scope is not None and not scope.terms:
        raise ValueError(f"the scope of {layout.name} cannot be written in SQL: {scope.text}")
    for name, terms in scope.terms.items() if scope else ():
        choices = [_term(quoted_name(name), term) for term in terms]
        yield choices[0] if len(choices) == 1 else f"({' OR '.join(choices)})"


def _term(column: str, term: Term) -> str:
    match term:
        case NumberRange(low, high):
            return f"{column}>={low} AND {column}<={high}"
        case Glob(pattern) if "[" in pattern:
            # SQLite reads some classes of characters differently.
            message = f"manage: {pattern!r} cannot be written in SQL"
            raise ProxyctlError(message, fix="use * and ? in the pattern, not a class [ ]")
        case Glob(pattern):
            return f"{column} GLOB {literal(pattern)}"
        case _:
            return f"{column}={literal(term)}"


def _set(table: Table, name: str, value: str) -> str:
    """Return an UPDATE: ProxySQL keeps a row for every variable it has, and drops any other."""
    key, layout = (name,), layout_of(table, REFERENCE)
    (statement,) = sql.updates(layout, [key], {key: (name, None)}, {key: (name, value)})
    return statement.sql
