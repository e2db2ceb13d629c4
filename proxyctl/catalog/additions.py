"""What an instance has beyond the catalogue: files for that instance may use it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from proxyctl.catalog.model import Column, Layout, Table, layout_of
from proxyctl.catalog.releases import Version
from proxyctl.catalog.secret_names import names_a_secret
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
