"""What a table, a column, a variable and an admin module are. The data stands in the sibling files.

A *layout* is a table as one ProxySQL version has it: the columns of that version, in order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import NamedTuple

from proxyctl.catalog.releases import NEWEST_KNOWN, OLDEST, REFERENCE, Version, parse_version

Value = int | float | str | None
"""One field as ProxySQL stores it. None is SQL NULL and nothing else; text that is not UTF-8 holds
its bytes as surrogate escapes."""


MAX_INT = 2_147_483_647
"""Largest integer in a column or variable. ProxySQL reads 32 bits: of 3000000000 it makes a
negative number, the row vanishes at RUNTIME, or the process aborts. Source: ProxySQL 2.7.1, run."""


class Kind(StrEnum):
    """How the values of a column are written and compared."""

    INT = "integer"
    BOOL = "boolean"
    TEXT = "text"
    JSON = "json"


class JsonKey(NamedTuple):
    """A key of a JSON mapping, for an integer within limits. ProxySQL ignores any other value."""

    name: str
    low: int
    high: int


def _exists(since: str, until: str | None, version: Version) -> bool:
    is_gone = until is not None and version.stable > parse_version(until)
    return version.has(parse_version(since)) and not is_gone


@dataclass(frozen=True)
class Column:
    """One column of a table.

    `check` is the expression that ProxySQL enforces; it is also the text of its error message.
    `hostgroup` marks a hostgroup number: files may use a hostgroup name there.

    A row in a file that does not name the column means `absent`, or `default` where that is None.
    With `kept` it means nothing: the column is left alone in a row that is there already.

    `is_listed` False: no version of the catalogue has it, an instance does. What its values mean is
    not known, so they are taken and compared as they are.

    `json_keys`: all that ProxySQL reads of a JSON column; it takes anything else and ignores it.
    Empty where any JSON may mean something.
    """

    name: str
    sql_type: str
    notnull: bool = False
    default: int | str | None = None
    check: str | None = None
    since: str = str(OLDEST)
    until: str | None = None
    hostgroup: bool = False
    secret: bool = False
    absent: int | str | None = None
    kept: bool = False
    is_listed: bool = True
    json_keys: tuple[JsonKey, ...] = ()

    @cached_property
    def kind(self) -> Kind:
        """The kind, read off the type and the check, so that it cannot disagree with them."""
        if self.check and "JSON_VALID" in self.check:
            return Kind.JSON
        if not self.is_numeric:
            return Kind.TEXT
        is_flag = self.check is not None and re.search(r"IN ?\(0, ?1\)", self.check)
        return Kind.BOOL if is_flag else Kind.INT

    @property
    def is_numeric(self) -> bool:
        """Whether SQLite gives the column integer affinity."""
        return "INT" in self.sql_type.upper()

    @property
    def file_default(self) -> int | str | None:
        """What a new row has where its file does not name the column."""
        return self.default if self.absent is None else self.absent

    @property
    def is_required(self) -> bool:
        """Whether a row in a file has to name the column."""
        return self.notnull and self.file_default is None

    @cached_property
    def bounds(self) -> tuple[int | None, int | None]:
        """The smallest and the largest integer that the check lets pass; None where it is open."""
        if not self.check or not self.is_numeric:
            return (None, None)
        low = re.search(rf"\b{self.name} ?>(=?) ?(\d+)", self.check)
        high = re.search(rf"\b{self.name} ?<= ?(\d+)", self.check)
        return (
            int(low[2]) + (0 if low[1] else 1) if low else None,
            int(high[1]) if high else None,
        )

    @cached_property
    def choices(self) -> tuple[int | str, ...] | None:
        """The values that an `IN (...)` check lists (text in the case it lists them), or None."""
        if not self.check:
            return None
        found = re.fullmatch(rf"(?:UPPER|LOWER)?\(?{self.name}\)? IN ?\((.*)\)", self.check)
        if found is None:
            return None
        items = [item.strip() for item in found[1].split(",")]
        return tuple(item[1:-1] if item.startswith("'") else int(item) for item in items)


class Role(StrEnum):
    """What the rows of a table are, where ProxySQL reads them in a way of their own."""

    SERVERS = "servers"
    USERS = "users"
    RULES = "rules"


@dataclass(frozen=True)
class Table:
    """One configuration table, with the columns of every version.

    `prefix` is set for the parts of global_variables: rows whose name begins with it.
    `at_runtime` are columns that the runtime table has besides, or in another form. Rows of it in
    which `monitor_row` is true were made by the monitor: they are no configuration, and never read.
    """

    name: str
    admin_module: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    unique: tuple[tuple[str, ...], ...] = ()
    since: str = str(OLDEST)
    until: str | None = None
    autoincrement: bool = False
    prefix: str | None = None
    role: Role | None = None
    at_runtime: tuple[Column, ...] = ()
    monitor_row: str | None = None

    def __hash__(self) -> int:
        return hash(self.name)  # the columns of a table take a while

    @property
    def sql_name(self) -> str:
        """The name of the table in SQL."""
        return "global_variables" if self.prefix else self.name

    def exists_in(self, version: Version) -> bool:
        """Return whether this ProxySQL version has the table."""
        return _exists(self.since, self.until, version)


@dataclass(frozen=True)
class Layout:
    """A table as one ProxySQL version has it."""

    table: Table
    columns: tuple[Column, ...]
    version: Version = REFERENCE

    def __hash__(self) -> int:
        return hash((self.table.name, self.version))

    @property
    def name(self) -> str:
        """The table's name in files and plans."""
        return self.table.name

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def index(self) -> dict[str, int]:
        """Where each column stands in a row."""
        return {name: position for position, name in enumerate(self.names)}

    @cached_property
    def key_index(self) -> tuple[int, ...]:
        """Where the key columns stand in a row."""
        return tuple(self.index[name] for name in self.table.key)

    @cached_property
    def defaults(self) -> tuple[Value, ...]:
        """A row of ProxySQL's own defaults; NULL also stands where a column has none."""
        return tuple(column.default for column in self.columns)

    def column(self, name: str) -> Column:
        """Return the column of that name.

        Raises: KeyError when this version has no such column.
        """
        return self.columns[self.index[name]]

    def key_of(self, row: tuple[Value, ...]) -> tuple[Value, ...]:
        """Return the primary key of a row."""
        return tuple([row[position] for position in self.key_index])


@lru_cache(maxsize=512)
def layout_of(table: Table, version: Version) -> Layout:
    """Return the table as `version` has it. A release that is not known may read more JSON keys."""
    columns = (c for c in table.columns if _exists(c.since, c.until, version))
    if version > NEWEST_KNOWN:
        columns = (replace(c, json_keys=()) if c.json_keys else c for c in columns)
    return Layout(table, tuple(columns), version)


@dataclass(frozen=True)
class AdminModule:
    """The unit that LOAD and SAVE move: all its tables together."""

    name: str
    tables: tuple[Table, ...]

    @property
    def load(self) -> str:
        """The statement that makes MEMORY the RUNTIME."""
        return f"LOAD {self.name} TO RUNTIME"

    @property
    def save(self) -> str:
        """The statement that writes MEMORY to DISK."""
        return f"SAVE {self.name} TO DISK"
