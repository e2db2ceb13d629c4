"""Where rows stand in files: in a YAML list, in lines of a table, in items of special sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from proxyctl.config.mistakes import key_text
from proxyctl.config.yaml import Document, YamlList
from proxyctl.state.row import Where


class RowSource(Protocol):
    """Where the rows of one batch stand in the files. Units: positions count from 0."""

    @property
    def origins(self) -> frozenset[str]:
        """The special sections that generate the rows; none for rows written out as such."""

    def place(self, position: int) -> Where:
        """Return the place of a row."""

    def field(self, position: int, column: str) -> Where:
        """Return the place of a field; of the row, where it does not set the column."""

    def label(self, position: int, column: str) -> str:
        """Return how the field is called in a message."""


@dataclass(frozen=True)
class YamlRows:
    """Rows that stand as a list in a YAML file, under `keys`."""

    document: Document
    keys: tuple[str | int, ...]
    rows: YamlList
    origins: frozenset[str] = frozenset()

    def place(self, position: int) -> Where:
        """Return the place of the row."""
        return self.document.at(self.rows.marks[position])

    def field(self, position: int, column: str) -> Where:
        """Return the place of the value."""
        return self.document.where((*self.keys, position, column))

    def label(self, position: int, column: str) -> str:
        """Return `mysql_query_rules[5].weight`."""
        return key_text((*self.keys, position, column))


@dataclass(frozen=True)
class FileRows:
    """Rows that stand one a line in a CSV or JSONL file. Units: lines count from 1."""

    path: str
    lines: Sequence[int]
    origins: frozenset[str] = frozenset()

    def place(self, position: int) -> Where:
        """Return the place of the line."""
        return Where(self.path, self.lines[position], 1)

    def field(self, position: int, column: str) -> Where:  # noqa: ARG002 - see RowSource
        """Return the place of the line."""
        return self.place(position)

    def label(self, position: int, column: str) -> str:  # noqa: ARG002 - see RowSource
        """Return the name of the column."""
        return column


@dataclass(frozen=True)
class Item:
    """One item of a special section that stands for rows.

    A field is looked for under each of `prefixes` in turn, by its name there (`renamed`).
    """

    document: Document
    prefixes: tuple[tuple[str | int, ...], ...]
    origin: str
    renamed: Mapping[str, str] = field(default_factory=dict)

    def place(self) -> Where:
        """Return the place of the item."""
        return self.document.where(self.prefixes[0])._replace(origin=self.origin)

    def keys_of(self, column: str) -> tuple[str | int, ...]:
        """Return the keys that lead to the field, or to the item if it is not set."""
        name = self.renamed.get(column, column)
        for prefix in self.prefixes:
            value: Any = self.document.root
            for key in prefix:
                is_there = key in value if isinstance(value, dict) else isinstance(value, list)
                value = value[key] if is_there else None
            if isinstance(value, dict) and name in value:
                return (*prefix, name)
        return self.prefixes[0]


@dataclass(frozen=True)
class ItemRows:
    """Rows that items of a special section stand for, one item a row."""

    items: Sequence[Item]

    @property
    def origins(self) -> frozenset[str]:
        """The sections of the items."""
        return frozenset(item.origin for item in self.items)

    def place(self, position: int) -> Where:
        """Return the place of the item."""
        return self.items[position].place()

    def field(self, position: int, column: str) -> Where:
        """Return the place of the value in the item."""
        item = self.items[position]
        where = item.document.where(item.keys_of(column))
        return where._replace(origin=item.origin)

    def label(self, position: int, column: str) -> str:
        """Return `pxc_clusters[0].nodes[1].weight`."""
        return key_text(self.items[position].keys_of(column))


@dataclass(frozen=True)
class PlacedRow:
    """A row that no file has, at the place of what asks for it."""

    where: Where
    name: str

    @property
    def origins(self) -> frozenset[str]:
        """What asks for it, if that is a section."""
        return frozenset(filter(None, [self.where.origin]))

    def place(self, position: int) -> Where:  # noqa: ARG002 - see RowSource
        """Return the place."""
        return self.where

    def field(self, position: int, column: str) -> Where:  # noqa: ARG002 - see RowSource
        """Return the place."""
        return self.where

    def label(self, position: int, column: str) -> str:  # noqa: ARG002 - see RowSource
        """Return the name of the table and the column."""
        return f"{self.name}.{column}"
