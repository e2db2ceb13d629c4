"""Read the schema of an instance, and its tables layer by layer.

ProxySQL sends rows as JSON text; a layer with the text of another layer is not parsed again.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple, cast

from proxyctl.catalog import (
    TABLES,
    Column,
    Deviations,
    Layout,
    Table,
    Version,
    layout_of,
)
from proxyctl.catalog.deviations import unlisted_column
from proxyctl.errors import InstanceError
from proxyctl.instance.client import AdminClient, Patience, retried
from proxyctl.instance.lethal import (
    read_mistyped,
    refuse_stopped,
    refuse_twins,
    reject_rows_that_crash_proxysql,
    tables_with_mistyped_cells,
)
from proxyctl.instance.sockets import TABLE_LIMIT
from proxyctl.instance.table_text import parse_rows
from proxyctl.proxysql.cell_types import MistypedCells, as_read, as_text
from proxyctl.proxysql.configuration import ConfigTable, Configuration, variables_of
from proxyctl.rows.desired import DesiredTable
from proxyctl.rows.row import DesiredRow, Key, Layer, Rows
from proxyctl.rows.sql import Statement, literal, quoted_name, select_json, table_name

CHUNK_ROWS = 500
"""Rows in one JSON array. A field must stay below the 16 MB of a packet: 32 KB for each row."""


def read_layouts(client: AdminClient) -> dict[str, Layout]:
    """Return the configuration tables of the instance, with the columns that it really has.

    Shape: by catalogue name. A column that the catalogue does not list (of a newer ProxySQL) is
    included as the instance describes it, if RUNTIME shows it too.
    """
    # Without 'main', SQLite looks into every attached database, also into a locked one.
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
        instance_columns = columns.get(table.sql_name)
        if instance_columns and (table.prefix is None or table.exists_in(client.version)):
            shown = {row[0] for row in columns.get(f"runtime_{table.sql_name}", instance_columns)}
            described = [row for row in instance_columns if row[0] in shown]
            layouts[table.name] = _layout(table, described, client.version)
    _refuse_unknown_schema(client, layouts)
    return layouts


def _refuse_unknown_schema(client: AdminClient, layouts: Mapping[str, Layout]) -> None:
    """Refuse an instance whose tables are not ProxySQL's. Raises: InstanceError."""
    missing = [f"table {name}" for name in ("mysql_servers", "mysql_users") if name not in layouts]
    missing += [
        f"column {layout.name}.{key}"
        for layout in layouts.values()
        for key in layout.table.key
        if key not in layout.index
    ]
    if missing:
        raise InstanceError(
            f"{client.address}: there is no {missing[0]}: the tables are not those of a ProxySQL"
            f" {client.version} that proxyctl knows",
            fix="report it unless this is your own build: nothing was read or changed",
        )


def read_deviations(client: AdminClient, layouts: Mapping[str, Layout]) -> Deviations:
    """Return what the instance has beyond the catalogue. `layouts`: from `read_layouts`."""
    names = client.query("SELECT variable_name FROM global_variables")
    return Deviations.of(layouts, (str(name) for (name,) in names), client.version)


def _layout(
    table: Table, instance_columns: Iterable[tuple[str | None, ...]], version: Version
) -> Layout:
    known = layout_of(table, version)
    unlisted = {column.name: column for column in table.columns}
    columns = tuple(
        known.column(name) if name in known.index else unlisted.get(name) or unlisted_column(*row)
        for row in instance_columns
        for name in (str(row[0]),)
    )
    return known if columns == known.columns else Layout(table, columns, version)


@dataclass(frozen=True)
class TableLayers:
    """One table as read.

    Layers with the same text share one set of rows.
    """

    layout: Layout
    rows: Mapping[Layer, Rows]
    """The rows of each layer."""
    texts: Mapping[Layer, list[bytes]]
    """The rows of each layer as ProxySQL sent them: JSON arrays of rows."""
    mistyped: tuple[MistypedCells, ...] = ()
    """The cells of MEMORY that have another type there, for a table with such a key or a NUL."""

    @classmethod
    def parsed(
        cls,
        layout: Layout,
        answers: Mapping[Layer, list[bytes]],
        desired: Mapping[Key, DesiredRow] | None = None,
    ) -> TableLayers:
        """Return the table in these texts.

        `desired`: a layer with equal rows has this object, not a copy of a large table.
        """
        rows: dict[Layer, Rows] = {}
        texts: dict[Layer, list[bytes]] = {}
        for layer, text in answers.items():
            same = next((other for other in texts if texts[other] == text), None)
            rows[layer] = parse_rows(layout, text) if same is None else rows[same]
            # Variables are few, and a LOAD takes them in the order of MEMORY.
            if same is None and layout.table.prefix is None and rows[layer] == desired:
                rows[layer] = cast("Rows", desired)
            texts[layer] = text if same is None else texts[same]
        return cls(layout, rows, texts)


TableRequest = tuple[Layout, Layer]


class TableReader:
    """Read tables with all their layers, one statement per call of `add`.

    ProxySQL works on a statement while the caller does other work, and on the next statement while
    the answer is parsed. Nothing else may use the connection between `add` and `tables`.
    """

    def __init__(self, client: AdminClient) -> None:
        self._client = client
        self._known: set[str] = set()
        self._waiting: list[list[Layout]] = []
        self._sent: list[TableRequest] = []
        self._answer: Callable[[], TablesRead] = lambda: TablesRead([], [])
        self._found: dict[str, TableLayers] = {}

    def add(self, layouts: Iterable[Layout]) -> None:
        """Ask for these tables, unless an earlier call did. Raises: InstanceError."""
        new = {layout.name: layout for layout in layouts if layout.name not in self._known}
        if new:
            self._known |= new.keys()
            self._waiting.append([*new.values()])
        if not self._sent:
            self._send_next()

    def _send_next(self) -> None:
        self._sent = []
        if self._waiting:
            self._sent = [(layout, layer) for layout in self._waiting.pop(0) for layer in Layer]
            self._answer = ask(self._client, self._sent)

    def tables(
        self, desired: Mapping[str, DesiredTable] = MappingProxyType({})
    ) -> dict[str, TableLayers]:
        """Return every table that `add` asked for, by name.

        `desired`: rows by table that it may hold. Raises: InstanceError.
        """
        while self._sent:
            sent, answer = self._sent, self._answer()
            answers: dict[str, dict[Layer, list[bytes]]] = {}
            layouts = {layout.name: layout for layout, _ in sent}
            for (layout, layer), text in zip(sent, answer.texts, strict=True):
                answers.setdefault(layout.name, {})[layer] = text
            mistyped = {
                name: read_mistyped(self._client, layouts[name])
                for name in layouts
                if name in answer.converted
            }
            self._send_next()
            for name, layout in layouts.items():
                likely = desired[name].rows if name in desired else None
                parsed = TableLayers.parsed(layout, answers.pop(name), likely)
                self._found[name] = replace(parsed, mistyped=mistyped.get(name, ()))
            for request, count in zip(sent, answer.counts, strict=True):
                rows = self._found[request[0].name].rows[request[1]]
                refuse_lost_rows(self._client, rows, request, count)
        return self._found


def read_tables(client: AdminClient, layouts: Iterable[Layout]) -> dict[str, TableLayers]:
    """Return these tables with all their layers, by name. Raises: InstanceError."""
    reading = TableReader(client)
    reading.add(layouts)
    return reading.tables()


def read_rows(client: AdminClient, layout: Layout, layer: Layer) -> Rows:
    """Return the rows of one table in one layer. Raises: InstanceError."""
    return read_layer(client, [layout], layer)[layout.name]


def read_layer(client: AdminClient, layouts: Sequence[Layout], layer: Layer) -> dict[str, Rows]:
    """Return the rows of tables in one layer, by name, as of one moment. Raises: InstanceError."""
    requests = [(layout, layer) for layout in layouts]
    answer = ask(client, requests)() if requests else TablesRead([], [])
    found: dict[str, Rows] = {}
    for request, texts, count in zip(requests, answer.texts, answer.counts, strict=True):
        rows = found[request[0].name] = parse_rows(request[0], texts)
        refuse_lost_rows(client, rows, request, count)
    return found


def read_counts(client: AdminClient, layouts: Iterable[Layout]) -> dict[str, int]:
    """Return the numbers of rows in MEMORY, by name; counting at RUNTIME would fill its tables.

    Raises: InstanceError.
    """
    parts = [
        f"SELECT {literal(layout.name)}, count(*) FROM {table_name(layout, Layer.MEMORY)}"
        for layout in layouts
        if layout.table.prefix is None
    ]
    rows = client.query(" UNION ALL ".join(parts)) if parts else []
    return {str(name): client.number(count) for name, count in rows}


def read_configuration(
    client: AdminClient, layer: Layer, tables: Iterable[str] | None = None
) -> Configuration:
    """Return a layer. Sends SELECTs only.

    `tables`: the tables to read, by catalogue name (default: all); a table that the instance lacks
    is left out. Raises: InstanceError.
    """
    layouts = read_layouts(client)
    held: dict[str, ConfigTable] = {}
    variables: dict[str, str] = {}
    for name in layouts if tables is None else tables:
        if name not in layouts:
            continue
        rows = read_rows(client, layouts[name], layer)
        if layouts[name].table.prefix is not None:
            variables |= variables_of(rows.values())
        else:
            held[name] = ConfigTable(layouts[name], rows)
    return Configuration(client.version, held, variables)


class TablesRead(NamedTuple):
    """What ProxySQL answered to `ask`."""

    texts: list[list[bytes]]
    """The rows of each request, in order: JSON arrays of rows."""
    counts: list[int]
    """The number of rows of each request."""
    converted: frozenset[str] = frozenset()
    """The tables read as ProxySQL reads their cells: text up to a NUL, keys as numbers."""


def ask(client: AdminClient, requests: Sequence[TableRequest]) -> Callable[[], TablesRead]:
    """Ask for tables in one statement; return a function that waits for the answer.

    A BLOB is read as its text. Where text has a NUL, the tables are read again, up to it.

    Raises: InstanceError when the question would end ProxySQL or its DISK is locked; the returned
    function raises it when the answer is not complete.
    """
    if any(layer is Layer.DISK for _, layer in requests):
        refuse_locked_disk(client)
    at_runtime = (layout.table for layout, layer in requests if layer is Layer.RUNTIME)
    modules = dict.fromkeys(table.admin_module for table in at_runtime)
    keys = {
        table.name
        for module in modules
        for table in reject_rows_that_crash_proxysql(client, module)
    }
    if modules:
        refuse_stopped(client)
    sql = _select(requests, keys)
    client.send(Statement.plain(sql), limit=TABLE_LIMIT)

    def answer() -> TablesRead:
        rows = client.receive(most_rows=_MOST_TEXTS)[0] or retried(lambda: _raw(client, sql))
        converted = keys
        if any(_NUL in (text or b"") for _, text, _ in rows):
            converted = keys | tables_with_mistyped_cells(client, requests)
            rows = _raw(client, _select(requests, converted))
        if not _is_complete(rows):
            raise _incomplete(client, requests)
        return TablesRead(*_by_table(rows, len(requests)), frozenset(converted))

    return answer


_MOST_TEXTS = 100_000
"""The most texts in an answer; each has the rows of many."""


def _raw(client: AdminClient, sql: str) -> list[tuple[bytes | None, ...]]:
    return client.raw(sql, limit=TABLE_LIMIT, most_rows=_MOST_TEXTS)


def refuse_lost_rows(client: AdminClient, rows: Rows, request: TableRequest, count: int) -> None:
    """Refuse a table of which two rows have the same key. Raises: InstanceError."""
    if len(rows) != count:
        refuse_twins(client, [request])


_NUL = b"\\u0000"
"""A NUL in JSON. Text with these six characters has another backslash before them."""


def _select(requests: Sequence[TableRequest], converted: Container[str]) -> str:
    """Return the SELECT for tables; `converted`: the tables to read as ProxySQL reads them."""

    def cell(layout: Layout, layer: Layer, column: Column) -> str:
        if layer is Layer.RUNTIME:  # where ProxySQL writes text and numbers
            return quoted_name(column.name)
        return as_read(layout.table, column) if layout.name in converted else as_text(column)

    return select_json(requests, chunk=CHUNK_ROWS, cell=cell)


def _incomplete(client: AdminClient, requests: Sequence[TableRequest]) -> InstanceError:
    """Return the error for tables that cannot be read, with the name of the first of them."""
    name = next(
        (
            table_name(*request)
            for request in requests
            if not _is_complete(_raw(client, _select([request], [request[0].name])))
        ),
        "several tables",
    )
    return InstanceError(
        f"{client.address}: {name}: ProxySQL answered with only part of the rows",
        fix=_LOCKED_FIX,
    )


def _is_complete(answer: list[tuple[bytes | None, ...]]) -> bool:
    """Return whether an answer to `select_json` has its last row, and all the rows it counts."""
    *parts, (number, _, total) = answer or [(b"", b"", b"")]
    return number is None and sum(int(part[2] or 0) for part in parts) == int(total or 0)


def _by_table(
    answer: list[tuple[bytes | None, ...]], tables: int
) -> tuple[list[list[bytes]], list[int]]:
    """Return the JSON texts of a complete answer, and the counts.

    Shape: one list of texts and one number of rows per table, in order.
    """
    chunks: list[list[bytes]] = [[] for _ in range(tables)]
    counts = [0] * tables
    for number, text, count in answer:
        if number is not None and text is not None:
            chunks[int(number)].append(text)
            counts[int(number)] += int(count or 0)
    return chunks, counts


_LOCKED_FIX = (
    "check which other program (a backup, sqlite3) has locked ProxySQL's files; if none has, check"
    " its database: PRAGMA integrity_check on the admin interface"
)

_DISK_LOCKED = "another program (a backup, sqlite3) has locked proxysql.db, which holds DISK"

_DISK_FIX = (
    "try again when it is done: `fuser -v proxysql.db` in the datadir lists the programs that have"
    " it open. If no other does, the database may be damaged: run PRAGMA integrity_check on the"
    " admin interface"
)

_DISK_PATIENCE = Patience(
    5.0, f"{_DISK_LOCKED}, and the admin interface does not answer until it is unlocked", _DISK_FIX
)


def refuse_locked_disk(client: AdminClient) -> None:
    """Send a small query to DISK, before a statement reads more of it.

    While the file is locked, ProxySQL 2.7 answers without rows, and 3.0 waits and blocks every
    other administrator. Source: 2.7.1 and 3.0.3, run.

    Raises: InstanceError.
    """
    with client.waiting(_DISK_PATIENCE):
        if not retried(lambda: client.raw("SELECT count(*) FROM disk.sqlite_master")):
            raise InstanceError(f"{client.address}: no answer: {_DISK_LOCKED}", fix=_DISK_FIX)


END = "the end of this answer"
"""The text in every cell of the last row that `query_whole` asks for."""


def query_whole(client: AdminClient, sql: str, *, width: int) -> list[tuple[str | None, ...]]:
    """Return all rows of a SELECT as text. Shape: `width` cells per row.

    Raises: InstanceError if ProxySQL keeps answering with a part of the rows; as `client.query`.
    """
    end = (END,) * width
    marked = f"SELECT * FROM ({sql}) UNION ALL SELECT {', '.join(map(literal, end))}"
    *rows, last = retried(lambda: client.query(marked)) or [()]
    if last != end:
        message = f"{client.address}: ProxySQL answered with only part of the rows: {sql}"
        raise InstanceError(message, fix=_LOCKED_FIX)
    return rows
