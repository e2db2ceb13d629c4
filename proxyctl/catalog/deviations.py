"""How an instance differs from its release in the catalogue. Its files may use what it has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from proxyctl.catalog.model import Column, Layout, Table, layout_of, names_a_secret
from proxyctl.catalog.releases import Version
from proxyctl.catalog.tables import TABLES
from proxyctl.catalog.variables import VARIABLES


@dataclass(frozen=True)
class Deviations:
    """The differences of an instance that is newer than the catalogue, or a custom build."""

    columns: frozenset[tuple[str, Column]] = frozenset()
    """The columns that the instance has and its release lacks, each with the name of its table."""
    variables: frozenset[str] = frozenset()
    """The variables that the instance has and its release lacks."""
    tables: frozenset[str] = frozenset()
    """The tables that the instance has and its release lacks."""
    missing: frozenset[str | tuple[str, str]] = frozenset()
    """The tables, and the pairs of table and column, that the release has and the instance
    lacks."""

    @classmethod
    def of(cls, layouts: Mapping[str, Layout], variables: Iterable[str], version: Version) -> Self:
        """Return the deviations of an instance with these layouts and variables."""
        release_columns = {
            table.name: layout_of(table, version).names
            for table in TABLES.values()
            if table.exists_in(version)
        }
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
            frozenset(layouts.keys() - release_columns.keys()),
            frozenset(
                (
                    *(release_columns.keys() - layouts.keys()),
                    *(
                        (name, column)
                        for name in release_columns.keys() & layouts.keys()
                        for column in release_columns[name]
                        if column not in layouts[name].index
                    ),
                )
            ),
        )

    def layouts(self, version: Version) -> dict[str, Layout]:
        """Return the tables of the instance by name, in the order of the catalogue."""
        return {
            name: self.layout_of(table, version)
            for name, table in TABLES.items()
            if (table.exists_in(version) or name in self.tables) and name not in self.missing
        }

    def layout_of(self, table: Table, version: Version) -> Layout:
        """Return the table as the instance has it; columns beyond its release come last."""
        layout = layout_of(table, version)
        added = sorted((column for name, column in self.columns if name == table.name), key=_name)
        kept = tuple(c for c in layout.columns if (table.name, c.name) not in self.missing)
        return (
            layout
            if kept == layout.columns and not added
            else Layout(table, (*kept, *added), version)
        )


def _name(column: Column) -> str:
    return column.name


NO_DEVIATIONS = Deviations()


def unlisted_column(
    name: str | None, sql_type: str | None, notnull: str | None, default: str | None
) -> Column:
    """Return a column that the catalogue does not list, from a row of PRAGMA table_info."""
    return Column(
        str(name),
        sql_type or "VARCHAR",
        notnull=notnull == "1",
        default=_default(default),
        kept=True,
        is_listed=False,
        secret=names_a_secret(str(name)),
    )


def _default(text: str | None) -> int | str | None:
    """Return the value of a default in SQL; None also for an expression."""
    if text is None or text.upper() == "NULL":
        return None
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1].replace(text[0] * 2, text[0])
    try:
        return int(text)
    except ValueError:
        return None
