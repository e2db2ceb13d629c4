"""Instance -> rows: the schema as this instance has it, and its tables layer by layer.

Rows come as the JSON text that ProxySQL makes of them; a layer whose text is known is not parsed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from typing import TypeVar

from proxyctl.catalog import (
    ADMIN_MODULES,
    TABLES,
    Additions,
    Layout,
    Table,
    Value,
    Version,
    layout_of,
)
from proxyctl.catalog.additions import unlisted_column
from proxyctl.errors import InstanceError
from proxyctl.instance.client import AdminClient
from proxyctl.state.row import Key, Layer, Row, Rows
from proxyctl.state.sql import Statement, literal, quoted_name, select_json, table_name

NO_BLOBS = "UPDATE ... SET column=CAST(column AS TEXT) WHERE typeof(column)='blob' turns it to text"


CHUNK_ROWS = 500
"""Rows in one JSON array. A field must stay below the 16 MB of a packet: 32 KB a row are left."""


def read_layouts(client: AdminClient) -> dict[str, Layout]:
    """Return the configuration tables that the instance has, with the columns it really has.

    Shape: by catalogue name. A column that the catalogue does not list (of a newer ProxySQL) is
    there as the instance describes it, as long as RUNTIME shows it too.
    """
    # Without 'main', SQLite looks into every database that is attached, locked ones included.
    rows = query_whole(
        client,
        'SELECT m.name, p.name, p.type, p."notnull", p.dflt_value FROM sqlite_master m'
        " JOIN pragma_table_info(m.name, 'main') p WHERE m.type='table' ORDER BY m.name, p.cid",
        width=5,
    )
    columns: dict[str, list[tuple[str | None, ...]]] = {}
    for row in rows:
        columns.setdefault(str(row[0]), []).append(row[1:])
    layouts = {}
    for table in TABLES.values():
        found = columns.get(table.sql_name)
        if found and table.exists_in(client.version):
            shown = {row[0] for row in columns.get(f"runtime_{table.sql_name}", found)}
            described = [row for row in found if row[0] in shown]
            layouts[table.name] = _layout(table, described, client.version)
    return layouts


def read_additions(client: AdminClient, layouts: Mapping[str, Layout]) -> Additions:
    """Return what the instance has beyond the catalogue; `layouts` are those of `read_layouts`."""
    names = client.query("SELECT variable_name FROM global_variables")
    return Additions.of(layouts, (str(name) for (name,) in names), client.version)


def _layout(table: Table, found: Iterable[tuple[str | None, ...]], version: Version) -> Layout:
    known = layout_of(table, version)
    of_others = {column.name: column for column in table.columns}
    columns = tuple(
        known.column(name) if name in known.index else of_others.get(name) or unlisted_column(*row)
        for row in found
        for name in (str(row[0]),)
    )
    return known if columns == known.columns else Layout(table, columns, version)


@dataclass(frozen=True)
class Known:
    """Rows, and the text that ProxySQL gives of them: a layer with this text needs no parsing.

    `text` None: it is not known.
    """

    text: bytes | None
    rows: Rows


class TableLayers:
    """Reads one table, layer by layer. Layers with the same text share one set of rows."""

    def __init__(self, reader: TableReader, layout: Layout) -> None:
        self._reader = reader
        self._layout = layout
        self._first: Known | None = None

    def __call__(self, layer: Layer, expected: Known | None = None) -> Rows:
        """Return the rows of a layer; those `expected` if it has their text."""
        chunks = self._reader.chunks(self._layout, layer)
        text = b",".join(chunks)
        for known in (expected, self._first):
            if known is not None and text == known.text:
                return known.rows
        rows = parse_rows(self._layout, chunks)
        if self._first is None:
            self._first = Known(text, rows)
        return rows


Request = tuple[Layout, Layer]


class TableReader:
    """Reads tables of one instance. Two layers with the same text share one set of rows.

    `tee` receives every table as read, for the snapshot: (table, layer, JSON text of the rows).
    """

    def __init__(
        self,
        client: AdminClient,
        *,
        tee: Callable[[Layout, Layer, list[bytes]], None] | None = None,
    ) -> None:
        self._client = client
        self._tee = tee
        self._looked_at: set[str] = set()
        self._ahead: _Ahead | None = None

    @contextmanager
    def reading_ahead(self, layouts: Sequence[Layout]) -> Iterator[None]:
        """Ask for all layers of these tables before they are needed, while the block runs.

        Making RUNTIME of a large table takes ProxySQL as long as comparing it takes us.
        """
        if not layouts:
            yield
            return
        with self._client.beside() as second:
            self._ahead = _Ahead(TableReader(second), layouts)
            try:
                yield
            finally:
                self._ahead = None

    def layers_of(self, layout: Layout) -> TableLayers:
        """Return a function that reads this table in a given layer."""
        return TableLayers(self, layout)

    def read(self, layout: Layout, layer: Layer) -> Rows:
        """Return the rows of a table in one layer."""
        return self.layers_of(layout)(layer)

    def chunks(self, layout: Layout, layer: Layer) -> list[bytes]:
        """Return the rows of a table as JSON texts without the outer brackets."""
        found = self._ahead.take(layout, layer) if self._ahead else None
        if found is None:
            found = self.ask([(layout, layer)])()[0]
        if self._tee:
            self._tee(layout, layer, found)
        return found

    def ask(self, requests: Sequence[Request]) -> Callable[[], list[list[bytes]]]:
        """Ask for tables in one statement; return a function that waits for their texts.

        Shape: as `chunks` returns them, one list for each request. Raises: InstanceError when
        ProxySQL would not survive the question; that function, when it keeps back rows.
        """
        self._refuse_lethal(layout for layout, layer in requests if layer is Layer.RUNTIME)
        sql = select_json(requests, chunk=CHUNK_ROWS)
        self._client.send(Statement.plain(sql))

        def texts() -> list[list[bytes]]:
            answer = self._client.receive()[0] or answered(lambda: self._client.raw(sql))
            if _is_complete(answer):
                return _by_table(answer, len(requests))
            names = ", ".join(table_name(layout, layer) for layout, layer in requests)
            raise InstanceError(
                f"{self._client.address}: {names}: ProxySQL answered with a part of the rows only",
                hint=f"a cell may be a BLOB: {NO_BLOBS}; or {LOCKED}",
            )

        return texts

    def _refuse_lethal(self, layouts: Iterable[Layout]) -> None:
        """Look at each admin module once, before its RUNTIME is read."""
        for module in {layout.table.admin_module for layout in layouts} - self._looked_at:
            refuse_lethal_numbers(self._client, module)
            self._looked_at.add(module)


class _Ahead:
    """Asks for tables, one admin module after another; ProxySQL is always one statement ahead."""

    def __init__(self, reader: TableReader, layouts: Sequence[Layout]) -> None:
        self._reader = reader
        modules = dict.fromkeys(layout.table.admin_module for layout in layouts)
        self._coming = [
            [
                (layout, layer)
                for layout in layouts
                if layout.table.admin_module == module
                for layer in Layer
            ]
            for module in modules
        ]
        self._texts: dict[tuple[str, Layer], list[bytes]] = {}
        self._ask_next()

    def _ask_next(self) -> None:
        self._asked = self._coming.pop(0) if self._coming else []
        self._answer = self._reader.ask(self._asked) if self._asked else list

    def take(self, layout: Layout, layer: Layer) -> list[bytes] | None:
        """Return a text that was asked for, None for any other."""
        wanted = layout.name, layer
        if any(wanted == (one.name, of) for one, of in self._asked):
            keys = [(one.name, of) for one, of in self._asked]
            self._texts.update(zip(keys, self._answer(), strict=True))
            self._ask_next()
        return self._texts.pop(wanted, None)


def _is_complete(answer: list[tuple[bytes | None, ...]]) -> bool:
    """Return whether an answer to `select_json` has its end, and all the rows that this counts."""
    *parts, (number, _, total) = answer or [(b"", b"", b"")]
    return number is None and sum(int(part[2] or 0) for part in parts) == int(total or 0)


def _by_table(answer: list[tuple[bytes | None, ...]], tables: int) -> list[list[bytes]]:
    """Return the JSON texts of a complete answer, without their brackets, by number of the table.

    Shape: a list of texts for each table, in order.
    """
    chunks: list[list[bytes]] = [[] for _ in range(tables)]
    for number, text, _ in answer:
        if number is not None and text is not None:
            chunks[int(number)].append(text[1:-1])
    return chunks


def rows_text(rows: Iterable[Row]) -> bytes | None:
    """Return the text that ProxySQL gives of these rows, if it lists them in this order.

    None where that is not known: text that is not UTF-8. What has this text holds these rows, since
    a text stands for one set of rows only. Another text proves nothing: it has to be parsed.
    Source: SQLite 3.43 and orjson escape the same characters, in the same way.
    """
    import orjson

    try:
        return orjson.dumps(list(rows))[1:-1]
    except orjson.JSONEncodeError:
        return None


def parse_rows(layout: Layout, chunks: Iterable[bytes]) -> Rows:
    """Return the rows of JSON texts, by key."""
    rows: Rows = {}
    keys_of = _keys_function(layout)
    for chunk in chunks:
        made = list(map(tuple, _loads(b"[" + chunk + b"]")))
        rows.update(zip(keys_of(made), made, strict=True))
    return rows


def _keys_function(layout: Layout) -> Callable[[list[Row]], Iterable[Key]]:
    """Return a function from rows to their keys, without a Python step a row."""
    get = itemgetter(*layout.key_index)
    if len(layout.key_index) == 1:
        return lambda rows: zip(map(get, rows), strict=True)
    return lambda rows: map(get, rows)


def _loads(text: bytes) -> list[list[Value]]:
    import orjson

    try:
        rows: list[list[Value]] = orjson.loads(text)
    except orjson.JSONDecodeError:
        # Text that is not UTF-8: keep its bytes as surrogate escapes.
        import json

        rows = json.loads(text.decode("utf-8", "surrogateescape"), strict=False)
    return rows


LOCKED = (
    "another program (a backup, sqlite3) has ProxySQL's files locked, or its database is damaged:"
    " PRAGMA integrity_check on the admin interface"
)


END = "the end of this answer"
"""What stands in every cell of the last row that `query_whole` asks for."""


_PAUSES_S = (0.005, 0.01, 0.02, 0.04, 0.08, 0.16)


_Row = TypeVar("_Row")


def answered(ask: Callable[[], list[_Row]]) -> list[_Row]:
    """Return the answer to a SELECT that always has a row; an empty list if it stays away."""
    for pause in _PAUSES_S:
        if answer := ask():
            return answer
        time.sleep(pause)
    return ask()


def query_whole(client: AdminClient, sql: str, *, width: int) -> list[tuple[str | None, ...]]:
    """Return the rows of a SELECT as text, all of them. Shape: `width` cells a row.

    Raises: InstanceError where ProxySQL goes on answering with a part, and as `client.query`.
    """
    end = (END,) * width
    marked = f"SELECT * FROM ({sql}) UNION ALL SELECT {', '.join(map(literal, end))}"
    *rows, last = answered(lambda: client.query(marked)) or [()]
    if last != end:
        message = f"{client.address}: ProxySQL answered with a part of the rows only: {sql}"
        raise InstanceError(message, hint=LOCKED)
    return rows


_SIGN = 1 << 31


_GROUPS = ("writer_hostgroup", "backup_writer_hostgroup", "reader_hostgroup", "offline_hostgroup")


LETHAL: Mapping[str, tuple[str, ...]] = {
    "mysql_servers": ("hostgroup_id", "max_connections"),
    "mysql_query_rules_fast_routing": ("destination_hostgroup",),
    "mysql_galera_hostgroups": (*_GROUPS, "max_writers", "max_transactions_behind"),
    "mysql_group_replication_hostgroups": (*_GROUPS, "max_writers", "max_transactions_behind"),
    "mysql_aws_aurora_hostgroups": ("writer_hostgroup", "reader_hostgroup"),
    "proxysql_servers": ("weight",),
}
"""Columns that have such a CHECK, by table."""


_WAYS_OUT = {
    "PROXYSQL SERVERS": "correct the row in MEMORY, SAVE {module} TO DISK and restart ProxySQL: a"
    " LOAD would end it too"
}


_WAY_OUT = "correct the row in MEMORY, then LOAD {module} TO RUNTIME"


def refuse_lethal_numbers(client: AdminClient, module: str) -> None:
    """Ask MEMORY of an admin module, before RUNTIME of one of its tables is asked for.

    ProxySQL fills several tables of a module when one of them is named.

    Raises: InstanceError that names a row.
    """
    tables = [
        table
        for table in ADMIN_MODULES[module].tables
        if table.name in LETHAL and table.exists_in(client.version)
    ]
    if not tables:
        return
    found = client.query(" UNION ALL ".join(map(_select, tables)) + " LIMIT 1")
    if found:
        name, key = found[0]
        raise InstanceError(
            f"{client.address}: {name} {key} has a number that ProxySQL takes for a negative one."
            " If it is at RUNTIME, ProxySQL ends as soon as that is read",
            hint=_WAYS_OUT.get(module, _WAY_OUT).format(module=module),
        )


def _select(table: Table) -> str:
    key = " || ':' || ".join(map(quoted_name, table.key))
    conditions = " OR ".join(f"{quoted_name(name)} & {_SIGN}" for name in LETHAL[table.name])
    return f"SELECT {literal(table.name)}, {key} FROM main.{table.name} WHERE {conditions}"
