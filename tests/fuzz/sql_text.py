"""SQL that we write: what SQLite reads is what was meant, whatever bytes a value holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hypothesis import strategies as st

from proxyctl.catalog import Column, Layout, Table
from proxyctl.state.row import Key, Row
from proxyctl.state.sql import deletes, inserts, literal, mask_literals, quoted_name, transition
from tests.fuzz.sqlite_bytes import Cell, SqliteBytes
from tests.fuzz.target import Run, Target
from tests.support.build import layout, rows

_BETWEEN = "\x1f"
"""Stands between the values of one input."""

_STRANGE = Table("strange", "STRANGE", (), ())


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(sql: str) -> bytes:
    return sql.encode("utf-8", "surrogateescape")


@contextmanager
def _values(_folder: Path) -> Iterator[Run]:
    """Return what writes values as literals, alone and in rows, and has SQLite read them."""
    database = SqliteBytes()
    of = layout("mysql_users")
    names = ", ".join(f"{name} TEXT" for name in of.names)
    database.rows(f"CREATE TABLE mysql_users ({names})".encode())

    def run(data: bytes) -> None:
        parts = _text(data).split(_BETWEEN)
        if any("\0" in part for part in parts):
            _refused_as_it_has_a_nul(of, parts)
            parts = [part.replace("\0", "") for part in parts]
        for part in parts:
            sql = f"SELECT {literal(part)}"
            assert database.rows(_bytes(sql)) == [(_bytes(part),)]
            assert mask_literals(sql) == "SELECT '***'"
        before = _users(parts)
        after = _users(parts[1:], comment=parts[0])
        for statement in inserts(of, before.values()):
            database.rows(_bytes(statement.sql))
        assert _all(database) == _stored(before.values())
        for statement in transition(of, before, after):
            database.rows(_bytes(statement.sql))
            statement.mask()
        assert _all(database) == _stored(after.values())
        for statement in deletes(of, list(after)):
            database.rows(_bytes(statement.sql))
        assert _all(database) == []

    yield run


def _refused_as_it_has_a_nul(of: Layout, parts: Sequence[str]) -> None:
    try:
        list(inserts(of, _users(parts).values()))
    except ValueError:
        return
    raise AssertionError("a statement was made of a text with a NUL character")


def _users(names: Sequence[str], *, comment: str = "") -> dict[Key, Row]:
    """Return a user for each name, by key."""
    given = ({"username": name, "password": name, "comment": comment} for name in names)
    return rows("mysql_users", *given)


def _all(database: SqliteBytes) -> list[tuple[Cell, ...]]:
    return sorted(database.rows(b"SELECT * FROM mysql_users"), key=repr)


def _stored(given: Iterable[Row]) -> list[tuple[Cell, ...]]:
    """Return the rows as a table of texts gives them back."""
    found = [tuple(None if cell is None else _bytes(str(cell)) for cell in row) for row in given]
    return sorted(found, key=repr)


@contextmanager
def _names(_folder: Path) -> Iterator[Run]:
    """Return what has SQLite make and read a table with columns of such names.

    No file may name a column, but a ProxySQL newer than the catalogue may have any.
    """

    def run(data: bytes) -> None:
        parts = [part for part in _text(data).replace("\0", "").split(_BETWEEN) if part]
        columns = tuple(dict.fromkeys(parts))
        # SQLite compares names without case, for ASCII letters only.
        lowered = {column.encode("utf-8", "surrogateescape").lower() for column in columns}
        if not columns or len(lowered) < len(columns) or len(columns) > 500:
            return
        of = Layout(_STRANGE, tuple(Column(name, "VARCHAR") for name in columns))
        database = SqliteBytes()
        made = ", ".join(f"{quoted_name(name)} VARCHAR" for name in columns)
        database.rows(_bytes(f"CREATE TABLE strange ({made})"))
        row = tuple(f"value {number}" for number in range(len(columns)))
        for statement in inserts(of, [row]):
            database.rows(_bytes(statement.sql))
        for name, value in zip(columns, row, strict=True):
            found = database.rows(_bytes(f"SELECT {quoted_name(name)} FROM strange"))
            assert found == [(value.encode(),)], name
        database.close()

    yield run


def _value_seeds() -> Sequence[bytes]:
    return [
        b"it's",
        b"a\x1fb'\x1f''",
        b"\\'; DROP TABLE x; --",
        "é東🐬\x1f".encode(),
        b"\xe9\xff",
        b"\0",
    ]


def _name_seeds() -> Sequence[bytes]:
    return [
        b"hostname",
        b"order\x1fgroup\x1fselect",
        b'a"b',
        "größe".encode(),
        b"a b\x1f1",
        b"\xe9",
    ]


def _words() -> Sequence[bytes]:
    marks = (
        b"'",
        b"''",
        b'"',
        b'""',
        b"`",
        b"[",
        b"]",
        b"\\",
        b";",
        b"--",
        b"/*",
        b"*/",
        b"\x1f",
        b"?1",
    )
    keywords = (
        b"select",
        b"order",
        b"index",
        b"values",
        b"group",
        b"null",
        b"check",
        b"rowid",
        b"true",
    )
    return [*marks, *keywords, b"\n", b"\xed\xb3\xa9", b"X'41'", b"NULL", b"0x10", b"CURRENT_TIME"]


def _structured() -> st.SearchStrategy[bytes]:
    part = st.text(st.sampled_from("aé'\"\\;`[]\n\x01 -*/"), max_size=6).map(
        str.encode
    ) | st.binary(max_size=6)
    return st.lists(part | st.sampled_from(_words()), min_size=1, max_size=5).map(b"\x1f".join)


SQL_TARGETS = (
    Target("sql-values", "sql", _values, _value_seeds, _words, _structured),
    Target("sql-names", "sql", _names, _name_seeds, _words, _structured),
)
