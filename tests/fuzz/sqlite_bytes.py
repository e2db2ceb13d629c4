"""SQLite as ProxySQL uses it: a statement is bytes, of whatever encoding, and so is an answer."""

from __future__ import annotations

import _sqlite3
import ctypes
from collections.abc import Sequence

Cell = bytes | int | None

_ROW, _DONE = 100, 101


class SqliteError(Exception):
    """SQLite does not take the statement."""


class SqliteBytes:
    """A database in memory, by way of the library that Python's own module is linked with."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(_sqlite3.__file__)
        for name in ("sqlite3_column_blob", "sqlite3_errmsg"):
            getattr(self._library, name).restype = ctypes.c_void_p
        self._library.sqlite3_column_int64.restype = ctypes.c_int64
        self._database = ctypes.c_void_p()
        self._check(self._library.sqlite3_open(b":memory:", ctypes.byref(self._database)))

    def rows(self, sql: bytes) -> list[tuple[Cell, ...]]:
        """Run the one statement that the text has to be. Raises: SqliteError."""
        library, statement, tail = self._library, ctypes.c_void_p(), ctypes.c_char_p()
        text = ctypes.create_string_buffer(sql)
        self._check(
            library.sqlite3_prepare_v2(
                self._database, text, len(sql), ctypes.byref(statement), ctypes.byref(tail)
            )
        )
        found = []
        try:
            if tail.value:
                raise SqliteError(f"something is left behind the statement: {tail.value!r}")
            while (code := library.sqlite3_step(statement)) == _ROW:
                found.append(tuple(self._cells(statement)))
            if code != _DONE:
                self._check(code)
        finally:
            library.sqlite3_finalize(statement)
        return found

    def _cells(self, statement: ctypes.c_void_p) -> Sequence[Cell]:
        library = self._library
        cells: list[Cell] = []
        for place in range(library.sqlite3_column_count(statement)):
            match library.sqlite3_column_type(statement, place):
                case 1:
                    cells.append(library.sqlite3_column_int64(statement, place))
                case 5:
                    cells.append(None)
                case _:
                    start = library.sqlite3_column_blob(statement, place)
                    size = library.sqlite3_column_bytes(statement, place)
                    cells.append(ctypes.string_at(start, size) if size else b"")
        return cells

    def _check(self, code: int) -> None:
        if code:
            message = ctypes.string_at(self._library.sqlite3_errmsg(self._database))
            raise SqliteError(message.decode(errors="replace"))

    def close(self) -> None:
        """Close the database."""
        self._library.sqlite3_close(self._database)
