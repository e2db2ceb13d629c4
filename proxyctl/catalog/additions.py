"""What an instance has beyond the catalogue: files for that instance may use it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from proxyctl.catalog.model import Column, Layout, Table, Version, layout_of
from proxyctl.catalog.variables import VARIABLES


@dataclass(frozen=True)
class Additions:
    """Columns and variables of one instance: it is newer than the catalogue, or a build of its own.

    Shape: `columns` with the name of their table.
    """

    columns: frozenset[tuple[str, Column]] = frozenset()
    variables: frozenset[str] = frozenset()

    @classmethod
    def of(cls, layouts: Mapping[str, Layout], variables: Iterable[str], version: Version) -> Self:
        """Return what an instance has beyond the catalogue. `layouts` are those of the instance."""
        return cls(
            frozenset(
                (name, column)
                for name, layout in layouts.items()
                for column in layout.columns
                if column.name not in layout_of(layout.table, version).index
            ),
            frozenset(
                name
                for name in variables
                if name not in VARIABLES or not VARIABLES[name].exists_in(version)
            ),
        )

    def layout_of(self, table: Table, version: Version) -> Layout:
        """Return the table as `version` has it, with the columns of the instance behind."""
        layout = layout_of(table, version)
        more = sorted((column for name, column in self.columns if name == table.name), key=_name)
        return Layout(table, (*layout.columns, *more), version) if more else layout


def _name(column: Column) -> str:
    return column.name


NO_ADDITIONS = Additions()
