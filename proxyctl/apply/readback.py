"""Read a layer back, and raise unless it holds the written rows.

Mostly the JSON text of a layer equals that of the written rows, and no row has to be parsed. Rows
are compared only if the texts differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from proxyctl.catalog import Layout, Role
from proxyctl.catalog.variables import READ_ONLY
from proxyctl.errors import ProxyctlError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.read import ask
from proxyctl.instance.table_text import joined, parse_rows, rows_text
from proxyctl.proxysql.compare import (
    NOT_PUBLISHED,
    Difference,
    differences,
    is_settable,
)
from proxyctl.proxysql.compare_servers import compare_servers
from proxyctl.proxysql.load_image import is_copied, runtime_image
from proxyctl.proxysql.servers import without_off
from proxyctl.proxysql.topology import Topology
from proxyctl.proxysql.user_halves import fold_users
from proxyctl.rows.row import KEEP, DesiredRow, Key, Layer, Row, Rows, row_name, sorted_keys
from proxyctl.rows.sql import MASK, is_secret

MOST_SHOWN = 20


class ReadBackError(ProxyctlError):
    """A layer does not hold the written rows. Becomes an ApplyError or InstanceError."""


def in_key_order(rows: Rows) -> Rows:
    """Return the rows sorted by key.

    RUNTIME lists rules and routes in this order. If they are inserted in this order into an empty
    table, MEMORY and DISK do, too, and all three layers have the same text.
    """
    return {key: rows[key] for key in sorted_keys(rows)}


@dataclass(frozen=True)
class _RowsText:
    """Rows, and the text that ProxySQL returns for them; None if the text is not known."""

    text: bytes | None
    rows: Rows


class ReadBack:
    """Reads layers back over the connection of one apply."""

    def __init__(self, client: AdminClient) -> None:
        self._client = client
        self._expected: dict[str, _RowsText] = {}
        self._parsed: dict[str, _RowsText] = {}
        """The rows that were parsed last, by table: MEMORY and DISK may have the same text with
        rows in another order than expected."""

    def read(self, layout: Layout, layer: Layer) -> Rows:
        """Return the rows of a table in one layer."""
        return self._rows(layout, layer, None)

    def expect(self, layout: Layout, rows: Rows, ordered: Rows) -> None:
        """Prepare the text of a layer with these rows; `ordered` has the rows sorted by key."""
        self._expected[layout.name] = _RowsText(rows_text(ordered.values()), rows)

    def stored(self, layout: Layout, layer: Layer, wanted: Rows) -> None:
        """Read MEMORY or DISK back. Raises: ReadBackError unless it holds exactly these rows."""
        rows = self._rows(layout, layer, self._known(layout, wanted))
        _require_none([*stored_shortfalls(layout, rows, wanted)], layer)

    def runtime(
        self, layouts: Sequence[Layout], loaded: Mapping[str, Rows], topology: Topology
    ) -> dict[str, Rows]:
        """Read RUNTIME back after a LOAD; return the rows of the tables that were parsed.

        Raises: ReadBackError unless RUNTIME holds the rows that a LOAD makes of these.
        """
        answer = ask(self._client, [(layout, Layer.RUNTIME) for layout in layouts])
        expected = [self._runtime_text(layout, loaded[layout.name]) for layout in layouts]
        parsed: dict[str, Rows] = {}
        for layout, chunks, text in zip(layouts, answer().texts, expected, strict=True):
            if joined(chunks) != text:
                rows = parsed[layout.name] = parse_rows(layout, chunks)
                shortfalls = [*runtime_shortfalls(layout, rows, loaded[layout.name], topology)]
                _require_none(shortfalls, Layer.RUNTIME)
        return parsed

    def _rows(self, layout: Layout, layer: Layer, expected: _RowsText | None) -> Rows:
        chunks = ask(self._client, [(layout, layer)])().texts[0]
        text = joined(chunks)
        for known in (expected, self._parsed.get(layout.name)):
            if known is not None and text == known.text:
                return known.rows
        rows = parse_rows(layout, chunks)
        self._parsed[layout.name] = _RowsText(text, rows)
        return rows

    def _known(self, layout: Layout, rows: Rows) -> _RowsText:
        known = self._expected.get(layout.name)
        if known is None or known.rows is not rows:
            self.expect(layout, rows, in_key_order(rows))
        return self._expected[layout.name]

    def _runtime_text(self, layout: Layout, loaded: Rows) -> bytes | None:
        if is_copied(layout):
            return self._known(layout, loaded).text
        rows = runtime_rows(layout, loaded)
        return None if rows is None else rows_text(rows)


def _require_none(shortfalls: Sequence[Shortfall], layer: Layer) -> None:
    if shortfalls:
        unlisted = len(shortfalls) - MOST_SHOWN
        shown = [shortfall.text() for shortfall in shortfalls[:MOST_SHOWN]]
        shown += [f"... and {unlisted} more"] if unlisted > 0 else []
        is_refused = layer is Layer.RUNTIME and all(
            lacking.layout.table.prefix for lacking in shortfalls
        )
        raise ReadBackError(
            f"{layer.name} does not hold what was written:",
            then=[f"  {line}" for line in shown],
            fix="correct the value: ProxySQL refused it, and its error log says why"
            if is_refused
            else None,
        )


@dataclass(frozen=True)
class Shortfall:
    """A row that a layer does not hold as written."""

    layout: Layout
    difference: Difference

    def text(self) -> str:
        """Return the written and the held values, with secrets masked."""
        difference, name = self.difference, row_name(self.layout.name, self.difference.key)
        if difference.current is None:
            return f"{name}: missing row"
        if difference.desired is None:
            return f"{name}: unexpected row"
        fields = (self._field(difference, position) for position in difference.columns)
        return f"{name}: {', '.join(fields)}"

    def _field(self, difference: Difference, position: int) -> str:
        current, desired = difference.current or (), difference.desired or ()
        plain: Row = tuple(None if cell is KEEP else cell for cell in desired)
        name = "" if self.layout.table.prefix is not None else f"{self.layout.names[position]} "
        if is_secret(self.layout, position, plain) or is_secret(self.layout, position, current):
            return f"{name}should be {MASK}, but is something else"
        return f"{name}should be {plain[position]!r}, but is {current[position]!r}"


def stored_shortfalls(layout: Layout, rows: Rows, written: Rows) -> Iterator[Shortfall]:
    """Yield the rows of MEMORY or DISK that differ from the written rows."""
    if rows is written or rows == written:
        return
    # Restart-only variables are checked: DISK is the layer that sets them.
    yield from _row_shortfalls(layout, rows, written, unchecked=READ_ONLY)


def runtime_shortfalls(
    layout: Layout, runtime: Rows, loaded: Rows, topology: Topology
) -> Iterator[Shortfall]:
    """Yield the rows of RUNTIME that differ from those that the LOAD should make.

    The monitor may have moved nodes of families since the LOAD: only their membership and
    attributes are compared.
    """
    if is_copied(layout) and runtime == loaded:
        return
    image = runtime_image(layout, loaded)
    if layout.name in ("mysql_servers", "pgsql_servers"):
        verdict = compare_servers(layout, without_off(layout, runtime), image, topology)
        yield from (Shortfall(layout, difference) for difference in verdict.differences)
        return
    rows = fold_users(layout, runtime)
    yield from _row_shortfalls(layout, rows, image, unchecked=NOT_PUBLISHED)


def runtime_rows(layout: Layout, loaded: Rows) -> list[Row] | None:
    """Return the rows of rules or users as RUNTIME lists them after a LOAD, in its order.

    None for other tables. RUNTIME lists all frontends before all backends, both by key after a
    first LOAD of users in that order. The order is a guess for a user whose two rows differ: the
    caller compares rows if the texts differ.
    """
    role = layout.table.role
    image = cast("Rows", runtime_image(layout, loaded))  # rows of MEMORY hold no KEEP
    if role is Role.RULES:
        return [image[key] for key in sorted_keys(image)]
    if role is Role.USERS:
        return _as_halves(layout, [image[key] for key in sorted_keys(image)])
    return None


def _as_halves(layout: Layout, rows: list[Row]) -> list[Row] | None:
    backend, frontend = layout.index["backend"], layout.index["frontend"]
    if frontend != backend + 1:
        return None
    return [
        *[(*row[:backend], 0, 1, *row[frontend + 1 :]) for row in rows if row[frontend] == 1],
        *[(*row[:backend], 1, 0, *row[frontend + 1 :]) for row in rows if row[backend] == 1],
    ]


def _row_shortfalls(
    layout: Layout,
    rows: Rows,
    expected: Mapping[Key, DesiredRow] | Rows,
    *,
    unchecked: frozenset[str],
) -> Iterator[Shortfall]:
    if rows == expected:
        return
    is_variables = layout.table.prefix is not None
    for difference in differences(layout, rows, expected.items()):
        is_unchecked = difference.key[0] in unchecked or not is_settable(layout, difference)
        if not (is_variables and is_unchecked):
            yield Shortfall(layout, difference)
    for key, row in rows.items():
        if key not in expected and not is_variables:
            yield Shortfall(layout, Difference(key, row, None))
