"""Read a layer back, and raise unless it holds what was written.

Most layers hold exactly that. Then their text is the one that the written rows make, and not one of
the rows has to be parsed or compared. Only where the text is another one, rows decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from proxyctl.admin.client import AdminClient
from proxyctl.admin.read import Known, TableLayers, TableReader, parse_rows, rows_text
from proxyctl.admin.verify import Shortfall, runtime_rows, runtime_shortfalls, stored_shortfalls
from proxyctl.catalog import Layout
from proxyctl.change import sorted_keys
from proxyctl.errors import ProxyctlError
from proxyctl.families import Family
from proxyctl.runtime_image import is_copied
from proxyctl.state import Layer, Rows

MOST_SHOWN = 20


class ReadBackError(ProxyctlError):
    """A layer does not hold what was written to it. Becomes an ApplyError or InstanceError."""


def in_key_order(rows: Rows) -> Rows:
    """Return the rows sorted by key.

    In this order RUNTIME lists rules and routes. A table that was empty has it in MEMORY and on
    DISK too if its rows come in it: then one text is expected of all three layers.
    """
    return {key: rows[key] for key in sorted_keys(rows)}


class ReadBack:
    """Reads back what one apply writes, over its connection."""

    def __init__(self, client: AdminClient) -> None:
        self._client = client
        self._layers: dict[str, TableLayers] = {}
        self._expected: dict[str, Known] = {}

    def read(self, layout: Layout, layer: Layer) -> Rows:
        """Return the rows of a table, whatever they are."""
        return self._layers_of(layout)(layer)

    def expect(self, layout: Layout, rows: Rows, ordered: Rows) -> Known:
        """Make the text that is expected of a layer with these rows; `ordered` has them by key."""
        made = self._expected[layout.name] = Known(rows_text(ordered.values()), rows)
        return made

    def stored(self, layout: Layout, layer: Layer, wanted: Rows) -> None:
        """Read MEMORY or DISK back.

        Raises: ReadBackError unless it holds exactly the rows that are wanted.
        """
        found = self._layers_of(layout)(layer, self._known(layout, wanted))
        _demand(stored_shortfalls(layout, found, wanted), layer)

    def runtime(
        self, layouts: Sequence[Layout], loaded: Mapping[str, Rows], families: Iterable[Family]
    ) -> dict[str, Rows]:
        """Read RUNTIME back after a LOAD; return the rows of those tables that were parsed.

        Raises: ReadBackError unless it holds what a LOAD makes of these rows.
        """
        answer = TableReader(self._client).ask([(layout, Layer.RUNTIME) for layout in layouts])
        expected = [self._runtime_text(layout, loaded[layout.name]) for layout in layouts]
        parsed: dict[str, Rows] = {}
        for layout, found, text in zip(layouts, answer(), expected, strict=True):
            if b",".join(found) != text:
                rows = parsed[layout.name] = parse_rows(layout, found)
                shortfalls = runtime_shortfalls(layout, rows, loaded[layout.name], families)
                _demand(shortfalls, Layer.RUNTIME)
        return parsed

    def _layers_of(self, layout: Layout) -> TableLayers:
        if layout.name not in self._layers:
            self._layers[layout.name] = TableReader(self._client).layers_of(layout)
        return self._layers[layout.name]

    def _known(self, layout: Layout, rows: Rows) -> Known:
        known = self._expected.get(layout.name)
        if known is None or known.rows is not rows:
            known = self.expect(layout, rows, in_key_order(rows))
        return known

    def _runtime_text(self, layout: Layout, loaded: Rows) -> bytes | None:
        if is_copied(layout):
            return self._known(layout, loaded).text
        rows = runtime_rows(layout, loaded)
        return None if rows is None else rows_text(rows)


def _demand(shortfalls: Iterable[Shortfall], layer: Layer) -> None:
    found = [shortfall.text() for shortfall in shortfalls]
    if found:
        more = len(found) - MOST_SHOWN
        shown = found[:MOST_SHOWN] + ([f"... and {more} more"] if more > 0 else [])
        raise ReadBackError(
            f"{layer.name} does not hold what was written:", then=[f"  {one}" for one in shown]
        )
