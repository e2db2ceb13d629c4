"""What RUNTIME holds: rows by table, as ProxySQL keeps them outside SQLite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence

from proxyctl.catalog import Layout
from proxyctl.sandbox.replies import Cell
from proxyctl.sandbox.runtime import Row


class RuntimeRows(MutableMapping[str, list[Row]]):
    """The rows at RUNTIME by table name, open to tests that play the monitor.

    Assign a whole table to change it; rows that come out are not to be edited in place. A row may
    be given as a tuple in column order, or as a mapping whose missing columns get their defaults.
    `stale` names the tables whose `runtime_` twin does not show their rows yet.
    """

    def __init__(self, layouts: Mapping[str, Layout]) -> None:
        self._layouts = layouts
        self._rows: dict[str, list[Row]] = {name: [] for name in layouts}
        self.stale: set[str] = set(layouts)

    def __getitem__(self, table: str) -> list[Row]:
        return list(self._rows[table])

    def __setitem__(self, table: str, rows: Iterable[Mapping[str, Cell] | Sequence[Cell]]) -> None:
        layout = self._layouts[table]
        self._rows[table] = [_complete(layout, row) for row in rows]
        self.stale.add(table)

    def __delitem__(self, table: str) -> None:
        self[table] = []

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def _complete(layout: Layout, row: Mapping[str, Cell] | Sequence[Cell]) -> Row:
    if not isinstance(row, Mapping):
        return dict(zip(layout.names, row, strict=True))
    unknown = set(row) - set(layout.names)
    if unknown:
        raise KeyError(f"{layout.name} has no column {', '.join(sorted(unknown))}")
    return {**dict(zip(layout.names, layout.defaults, strict=True)), **row}
