"""Where an instance differs from its release by the catalogue: files for it may use what it has."""

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
    """How one instance differs: it is newer than the catalogue, or a build of its own.

    Shape: `columns` and `variables` are those it has beyond its release, the columns with the name
    of their table. `tables` are those that it has although its release has not; `missing` are
    tables, and pairs of table and column, that its release has and it lacks.
    """

    columns: frozenset[tuple[str, Column]] = frozenset()
    variables: frozenset[str] = frozenset()
    tables: frozenset[str] = frozenset()
    missing: frozenset[str | tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, layouts: Mapping[str, Layout], variables: Iterable[str], version: Version) -> Self:
        """Return how an instance differs. `layouts` and `variables` are those of the instance."""
        of_release = {
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
            frozenset(layouts.keys() - of_release.keys()),
            frozenset(
                (
                    *(of_release.keys() - layouts.keys()),
                    *(
                        (name, column)
                        for name in of_release.keys() & layouts.keys()
                        for column in of_release[name]
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
        """Return the table as the instance has it; columns beyond its release stand behind."""
        layout = layout_of(table, version)
        more = sorted((column for name, column in self.columns if name == table.name), key=_name)
        kept = tuple(c for c in layout.columns if (table.name, c.name) not in self.missing)
        return (
            layout
            if kept == layout.columns and not more
            else Layout(table, (*kept, *more), version)
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
    """Return the default that SQLite gives as SQL; None also for an expression."""
    if text is None or text.upper() == "NULL":
        return None
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1].replace(text[0] * 2, text[0])
    try:
        return int(text)
    except ValueError:
        return None
