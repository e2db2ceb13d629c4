"""SQLite as ProxySQL's admin interface shows it: attached schemas, errors, stored bytes.

SQLite's own authorizer decides here what a client may do, so that no spelling slips through.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from proxyctl.sandbox.replies import (
    AdminError,
    Answer,
    SqliteValue,
    not_modelled,
    refusal,
    sqlite_error,
    transaction_refusal,
)
from proxyctl.sandbox.text import without_surrogates

_READING_PRAGMAS = frozenset(
    {"database_list", "index_info", "index_list", "integrity_check", "table_info"}
)

_NO_TABLE = re.compile(r"no such table: (?:\w+\.)?(\w+)")
_NO_FUNCTION = re.compile(r"no such function: (\w+)")
_FUNCTIONS = frozenset({"mysql_native_password", "caching_sha2_password", "from_unixtime", "unhex"})
"""Functions that ProxySQL adds to SQLite, and `unhex`, which SQLite has since 3.41."""

_LEFT_OUT = re.compile(
    r"stats_(mysql|pgsql|proxysql)_\w+|history_\w+|mysql_collations|ssl_ciphers"
    r"|(runtime_)?coredump_filters|global_(settings|variables)|(mysql|pgsql)_server_\w+_log"
    r"|(mysql_connections|myhgm_connections|mysql_query_cache|system_cpu|system_memory)\w*"
)
"""Tables of ProxySQL that the sandbox lacks."""

_ATTACH = {sqlite3.SQLITE_ATTACH: "ATTACH", sqlite3.SQLITE_DETACH: "DETACH"}
_DROPS = frozenset({sqlite3.SQLITE_DROP_TABLE, sqlite3.SQLITE_DROP_TEMP_TABLE})


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


class Database:
    """One SQLite connection with its schemas. All sessions share it, as in ProxySQL."""

    def __init__(self, schemas: Mapping[str, str]) -> None:
        """Attach `schemas` (name to file) in the given order behind an empty `main`."""
        self._connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False, cached_statements=0
        )
        self._connection.text_factory = _decoded
        try:
            for name, file in schemas.items():
                self._connection.execute(f"ATTACH DATABASE ? AS {name}", (file,))
        except sqlite3.Error:
            self._connection.close()
            raise
        self._protected: set[tuple[str, str]] = set()
        self._guarded = self._readonly = False
        self._statement = ""
        self._refusal: AdminError | None = None
        self._connection.set_authorizer(self._authorize)

    def close(self) -> None:
        """Close the connection; the files stay."""
        self._connection.close()

    def copy(self) -> Database:
        """Return another database in memory, with the same schemas and rows."""
        names = [str(name) for _, name, _ in self.fetch("PRAGMA database_list") if name != "temp"]
        twin = Database(dict.fromkeys(names[1:], ":memory:"))
        for name in names:
            twin.restore(name, self.image(name))
        twin._protected = set(self._protected)
        return twin

    def image(self, schema: str) -> bytes:
        """Return the content of a schema as an SQLite image."""
        return self._connection.serialize(name=schema)

    def restore(self, schema: str, content: bytes) -> None:
        """Replace a schema by the content of an image, in memory: its file is no longer used."""
        self._connection.deserialize(content, name=schema)

    def create(self, schema: str, table: str, sql: str) -> None:
        """Create a table that clients may write to but not drop or alter.

        Raises: sqlite3.DatabaseError when a file has the table with other columns.
        """
        stored = self.fetch(f"SELECT sql FROM {schema}.sqlite_master WHERE name=?", (table,))
        if not stored:
            self._connection.execute(sql)
        elif stored != [(sql.replace(f" {schema}.", " ", 1),)]:
            raise sqlite3.DatabaseError(f"its table {table} has a different layout")
        self._protected.add((schema, table.lower()))

    def fetch(
        self, sql: str, parameters: Sequence[SqliteValue] = ()
    ) -> list[tuple[SqliteValue, ...]]:
        """Return the rows of one of our own statements."""
        return self._connection.execute(sql, parameters).fetchall()

    def execute(self, sql: str, parameters: Sequence[SqliteValue] = ()) -> int:
        """Run one of our own statements and return how many rows it changed."""
        return self._connection.execute(sql, parameters).rowcount

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make a block of our own statements all or nothing."""
        self._connection.execute("SAVEPOINT block")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK TO block")
            self._connection.execute("RELEASE block")
            raise
        self._connection.execute("RELEASE block")

    def insert(self, table: str, rows: Iterable[Sequence[SqliteValue]], *, verb: str = "") -> None:
        """Insert whole rows; `verb` may be `OR REPLACE` or `OR IGNORE`. All or nothing."""
        cells = list(rows)
        if not cells:
            return
        head = f"INSERT {verb} INTO {table} VALUES "
        try:
            with self.transaction():
                marks = ", ".join("?" * len(cells[0]))
                self._connection.executemany(f"{head}({marks})", cells)
        except UnicodeEncodeError:
            # Python hands SQLite text that is not UTF-8 only as bytes, which a CAST makes text.
            with self.transaction():
                for row in cells:
                    self._connection.execute(*_with_bytes(head, row))

    def refill(self, table: str, rows: Iterable[Sequence[SqliteValue]]) -> None:
        """Replace the whole content of a table."""
        with self.transaction():
            self._connection.execute(f"DELETE FROM {table}")
            self.insert(table, rows)

    def run(self, sql: str, *, readonly: bool = False) -> Answer:
        """Run a client's statement.

        Raises: AdminError with SQLite's text, or with our reason for refusing it.
        """
        statement = without_surrogates(sql)
        if readonly:
            self._connection.execute("PRAGMA query_only=ON")
        self._statement = statement
        self._guarded, self._readonly, self._refusal = True, readonly, None
        try:
            return self._run(statement)
        except sqlite3.ProgrammingError as error:
            # Python itself raises this: it wants a value for each parameter.
            raise refusal(f"cannot run this statement: {error}") from error
        except sqlite3.Error as error:
            if self._refusal is None and (columns := self._columns_of_query(statement)):
                return Answer(columns)
            raise self._refusal or self._error(str(error)) from error
        finally:
            self._guarded = False
            if readonly:
                self._connection.execute("PRAGMA query_only=OFF")

    def _run(self, statement: str) -> Answer:
        changed_before = self._connection.total_changes
        cursor = self._connection.execute(statement)
        try:
            if cursor.description is not None:
                columns = tuple(column[0] for column in cursor.description)
                return Answer(columns, self._rows(cursor, statement))
        finally:
            cursor.close()
        # The cursor's own count misses an INSERT after WITH.
        return Answer(affected=self._connection.total_changes - changed_before)

    def _rows(self, cursor: sqlite3.Cursor, statement: str) -> list[tuple[SqliteValue, ...]]:
        """Return the rows before the first row that fails.

        ProxySQL ends its answer there, with OK. Python's cursor steps ahead, and so loses the row
        before the failure, too: the query runs again with a LIMIT.
        Source: ProxySQL 2.7.1 does not check why sqlite3_step returned no further row.
        """
        rows: list[tuple[SqliteValue, ...]] = []
        try:
            rows.extend(cursor)
        except sqlite3.DatabaseError:
            limited = f"SELECT * FROM ({statement}\n) LIMIT {len(rows) + 1}"
            return self._connection.execute(limited).fetchall()
        return rows

    def _error(self, text: str) -> AdminError:
        """Return the error packet for a message of SQLite."""
        missing = _NO_TABLE.fullmatch(text)
        names = {table for _, table in self._protected}
        if missing and missing[1] not in names and _LEFT_OUT.fullmatch(missing[1]):
            return not_modelled(f"the table {missing[1]}")
        function = _NO_FUNCTION.fullmatch(text)
        if function and function[1].lower() in _FUNCTIONS:
            return not_modelled(f"the function {function[1]}")
        return sqlite_error(text)

    def _columns_of_query(self, statement: str) -> tuple[str, ...]:
        """Return the columns of a failed query that compiles; none for any other statement.

        Such a query failed at its first row, which ProxySQL does not notice.
        """
        try:
            self._connection.execute(f"EXPLAIN {statement}").close()
            cursor = self._connection.execute(f"SELECT * FROM ({statement}\n) LIMIT 0")
        except sqlite3.Error:
            return ()
        return tuple(column[0] for column in cursor.description)

    def _authorize(
        self,
        action: int,
        first: str | None,
        second: str | None,
        schema: str | None,
        _trigger: str | None,
    ) -> int:
        if not self._guarded:
            return sqlite3.SQLITE_OK
        self._refusal = self._reason(action, first or "", second, schema or "")
        return sqlite3.SQLITE_DENY if self._refusal else sqlite3.SQLITE_OK

    def _reason(
        self, action: int, first: str, second: str | None, schema: str
    ) -> AdminError | None:
        """Return the error for an action of SQLite that is refused; None for any other action."""
        if action in (sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT):
            return transaction_refusal("SAVEPOINT" if second and first == "BEGIN" else first)
        if action in _ATTACH:
            # VACUUM attaches a file of its own.
            is_vacuum = self._statement[:6].upper() == "VACUUM"
            return not_modelled("VACUUM" if is_vacuum else _ATTACH[action])
        if action == sqlite3.SQLITE_CREATE_VTABLE:
            return not_modelled("CREATE VIRTUAL TABLE")
        if action == sqlite3.SQLITE_PRAGMA and first.lower() not in _READING_PRAGMAS:
            return not_modelled(f"PRAGMA {first}")
        table = first
        if action == sqlite3.SQLITE_ALTER_TABLE:
            schema, table = first, second or ""
        elif action not in _DROPS or self._readonly:
            return None
        if (schema, table.lower()) not in self._protected:
            return None
        verb = "drop" if action in _DROPS else "alter"
        return refusal(f"refuses to {verb} {table}: ProxySQL would repair it only at a restart")


def _with_bytes(head: str, row: Sequence[SqliteValue]) -> tuple[str, Sequence[SqliteValue]]:
    """Return an INSERT that passes text as bytes, and its parameters."""
    marks = ", ".join("CAST(? AS TEXT)" if isinstance(cell, str) else "?" for cell in row)
    cells = [c.encode("utf-8", "surrogateescape") if isinstance(c, str) else c for c in row]
    return f"{head}({marks})", cells
