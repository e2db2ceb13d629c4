"""Instance -> rows: the schema as this instance has it, and its tables layer by layer."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proxyctl.admin.client import AdminClient
from proxyctl.admin.lethal_numbers import refuse_lethal_numbers
from proxyctl.admin.prefetch import Prefetch, Request, quick_switching
from proxyctl.admin.rows_text import parse_rows
from proxyctl.admin.whole_answer import LOCKED, answered, query_whole
from proxyctl.catalog import TABLES, Additions, Layout, Table, Version, layout_of
from proxyctl.catalog.additions import unlisted_column
from proxyctl.errors import InstanceError
from proxyctl.sql import select_json, table_name
from proxyctl.state import Layer, Rows

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        self._prefetch: Prefetch | None = None

    @contextmanager
    def reading_ahead(self, requests: Sequence[Request]) -> Iterator[None]:
        """Read these layers ahead, in this order, while the block runs.

        Inside another such block it changes nothing: one thread reads ahead at a time.
        """
        if self._prefetch is not None or not requests:
            yield
            return
        with (
            quick_switching(),
            Prefetch(lambda: _SecondReader(self._client), requests) as self._prefetch,
        ):
            try:
                yield
            finally:
                self._prefetch = None

    def layers_of(self, layout: Layout) -> TableLayers:
        """Return a function that reads this table in a given layer."""
        return TableLayers(self, layout)

    def read(self, layout: Layout, layer: Layer) -> Rows:
        """Return the rows of a table in one layer."""
        return self.layers_of(layout)(layer)

    def read_together(self, layouts: Sequence[Layout], layer: Layer) -> dict[str, Rows]:
        """Return the rows of several tables in one layer, by table, read at one moment."""
        texts = self.chunks_together(layouts, layer)
        return {layout.name: parse_rows(layout, texts[layout.name]) for layout in layouts}

    def chunks_together(self, layouts: Sequence[Layout], layer: Layer) -> dict[str, list[bytes]]:
        """Return the texts of several tables in one layer, by table, read at one moment."""
        found = self._json_chunks(layouts, layer)
        return {layout.name: texts for layout, texts in zip(layouts, found, strict=True)}

    def chunks(self, layout: Layout, layer: Layer) -> list[bytes]:
        """Return the rows of a table as JSON texts without the outer brackets."""
        ahead = self._prefetch.take(layout, layer) if self._prefetch else None
        chunks = self._json_chunks([layout], layer)[0] if ahead is None else ahead
        if self._tee:
            self._tee(layout, layer, chunks)
        return chunks

    def _json_chunks(self, layouts: Sequence[Layout], layer: Layer) -> list[list[bytes]]:
        """Return the rows of each table as JSON.

        Raises: InstanceError when ProxySQL keeps back rows, or would not survive the question.
        """
        if layer is Layer.RUNTIME:
            self._refuse_lethal(layouts)
        sql = select_json(layouts, layer, chunk=CHUNK_ROWS)
        answer = answered(lambda: self._client.raw(sql))
        if _is_complete(answer, self._client.number):
            return _by_table(answer, len(layouts))
        names = ", ".join(table_name(layout, layer) for layout in layouts)
        raise InstanceError(
            f"{self._client.address}: {names}: ProxySQL answered with a part of the rows only",
            hint=f"a cell may be a BLOB: {NO_BLOBS}; or {LOCKED}",
        )

    def _refuse_lethal(self, layouts: Iterable[Layout]) -> None:
        """Look at each admin module once, before its RUNTIME is read."""
        for module in {layout.table.admin_module for layout in layouts} - self._looked_at:
            refuse_lethal_numbers(self._client, module)
            self._looked_at.add(module)


class _SecondReader:
    """The connection that reads ahead. Only `cut` may be called while it reads."""

    def __init__(self, first: AdminClient) -> None:
        def told(text: str) -> None:
            first.tell(f"2nd connection: {text}")

        self._client = _CutClient(first.login, trace=told if first.is_traced else None)
        self.chunks = TableReader(self._client).chunks
        self.close = self._client.close
        self.cut = self._client.cut


class _CutClient(AdminClient):
    """A connection that another thread may end while an answer is awaited."""

    def cut(self) -> None:
        """End the connection; whoever waits for an answer meets a lost connection.

        Closing the socket would not wake him up.
        """
        opened: socket.socket | None = getattr(self._connection, "_sock", None)
        if opened is not None:
            with suppress(OSError):
                opened.shutdown(socket.SHUT_RDWR)


def _is_complete(
    answer: list[tuple[bytes | None, ...]], count: Callable[[bytes | None], int]
) -> bool:
    """Return whether an answer to `select_json` has its end, and all the rows that this counts."""
    *parts, (number, _, total) = answer or [(b"", b"", b"")]
    return number is None and sum(count(part[2]) for part in parts) == count(total)


def _by_table(answer: list[tuple[bytes | None, ...]], tables: int) -> list[list[bytes]]:
    """Return the JSON texts of a complete answer, without their brackets, by number of the table.

    Shape: a list of texts for each table, in order.
    """
    chunks: list[list[bytes]] = [[] for _ in range(tables)]
    for number, text, _ in answer:
        if number is not None and text is not None:
            chunks[int(number)].append(text[1:-1])
    return chunks
