"""The shapes of tables, columns, admin modules and variables. Sibling files hold the data.

A *layout* is a table in one ProxySQL version: the columns of that version, in order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from proxyctl.catalog.releases import NEWEST_KNOWN, OLDEST, REFERENCE, Version, parse_version

Value = int | float | str | None
"""One field as ProxySQL stores it. None is SQL NULL and nothing else; bytes that are not UTF-8
become surrogate escapes."""


MAX_INT = 2_147_483_647
"""Largest integer in a column or variable. ProxySQL reads 32 bits: 3000000000 becomes a negative
number, the row vanishes at RUNTIME, or the process aborts. Source: ProxySQL 2.7.1, run."""


class ColumnKind(StrEnum):
    """How the values of a column are written and compared."""

    INT = "integer"
    BOOL = "boolean"
    TEXT = "text"
    JSON = "json"


SECOND_PASSWORD = "additional_password"  # noqa: S105 - a key
"""The key of a second password in a JSON mapping: its bytes as hexadecimal digits, or those of its
hash. ProxySQL ignores any other value. Source: ProxySQL 3.0.3, run."""


class JsonKey(NamedTuple):
    """A key of a JSON mapping, for an integer within limits. ProxySQL ignores other values."""

    name: str
    low: int
    high: int


def _exists(since: str, until: str | None, version: Version) -> bool:
    is_gone = until is not None and version.stable > parse_version(until)
    return version.has(parse_version(since)) and not is_gone


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    """The name in ProxySQL."""
    sql_type: str
    """The type in CREATE TABLE."""
    notnull: bool = False
    """Whether the column refuses NULL."""
    default: int | str | None = None
    """The default in CREATE TABLE; None if it has none."""
    check: str | None = None
    """The expression that ProxySQL enforces, which is also the text of its error message."""
    since: str = str(OLDEST)
    """The first version with the column."""
    until: str | None = None
    """The last version with the column; None if the newest has it."""
    hostgroup: bool = False
    """Whether the column holds a hostgroup number: files may write a hostgroup name instead."""
    secret: bool = False
    """Whether its values are secrets."""
    absent: int | str | None = None
    """The value of a row in a file that does not set the column; None: `default`."""
    kept: bool = False
    """Whether an existing row keeps its value where the files do not set the column."""
    is_listed: bool = True
    """False: an instance has the column, but no version in the catalogue. The meaning of its values
    is not known, so they are compared unchanged."""
    json_keys: tuple[JsonKey, ...] = ()
    """All the keys that ProxySQL reads in a JSON column; it ignores other keys. Empty where every
    key may have a meaning."""
    holds_password: bool = False
    """Whether a JSON mapping in it may hold a second password: SECOND_PASSWORD."""
    reserved: tuple[str, ...] = ()
    """The words of the check that ProxySQL itself sets at RUNTIME, and that no file may set."""

    @cached_property
    def kind(self) -> ColumnKind:
        """The kind of the values, derived from the type and the check."""
        if self.check and "JSON_VALID" in self.check:
            return ColumnKind.JSON
        if not self.is_numeric:
            return ColumnKind.TEXT
        is_flag = self.check is not None and re.search(r"IN ?\(0, ?1\)", self.check)
        return ColumnKind.BOOL if is_flag else ColumnKind.INT

    @property
    def is_numeric(self) -> bool:
        """Whether SQLite gives the column integer affinity."""
        return "INT" in self.sql_type.upper()

    @property
    def file_default(self) -> int | str | None:
        """The value in a new row whose file does not set the column."""
        return self.default if self.absent is None else self.absent

    @property
    def is_required(self) -> bool:
        """Whether a row in a file must set the column."""
        return self.notnull and self.file_default is None

    @cached_property
    def bounds(self) -> tuple[int | None, int | None]:
        """The smallest and the largest integer that the check allows; None: no limit."""
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
        """The values of an `IN (...)` check that a file may set; None without such a check."""
        if not self.check:
            return None
        match = re.fullmatch(rf"(?:UPPER|LOWER)?\(?{self.name}\)? IN ?\((.*)\)", self.check)
        if match is None:
            return None
        items = [item.strip() for item in match[1].split(",")]
        words = (item[1:-1] if item.startswith("'") else int(item) for item in items)
        return tuple(word for word in words if word not in self.reserved)


class Role(StrEnum):
    """The role of a table whose rows ProxySQL reads in a special way."""

    SERVERS = "servers"
    USERS = "users"
    RULES = "rules"


@dataclass(frozen=True)
class Table:
    """One configuration table, with the columns of every version."""

    name: str
    """The name in files and plans."""
    admin_module: str
    """The admin module that LOADs and SAVEs the table."""
    key: tuple[str, ...]
    """The columns of the primary key."""
    columns: tuple[Column, ...]
    """The columns of every version, in order."""
    unique: tuple[tuple[str, ...], ...] = ()
    """The columns of each further UNIQUE constraint."""
    since: str = str(OLDEST)
    """The first version with the table."""
    until: str | None = None
    """The last version with the table; None if the newest has it."""
    autoincrement: bool = False
    """Whether the key is an AUTOINCREMENT column."""
    prefix: str | None = None
    """The beginning of the names of its rows, for a part of global_variables."""
    role: Role | None = None
    """The special way in which ProxySQL reads the rows, if any."""
    at_runtime: tuple[Column, ...] = ()
    """The columns that only the runtime table has, or has in another form."""
    monitor_row: str | None = None
    """The SQL condition that is true for the runtime rows that the monitor made: they are no
    configuration, and never read."""

    def __hash__(self) -> int:
        return hash(self.name)  # hashing the columns is slow

    @property
    def sql_name(self) -> str:
        """The name of the table in SQL."""
        return "global_variables" if self.prefix else self.name

    def exists_in(self, version: Version) -> bool:
        """Return whether this ProxySQL version has the table."""
        return _exists(self.since, self.until, version)


@dataclass(frozen=True)
class Layout:
    """A table in one ProxySQL version."""

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
        """The position of each column in a row."""
        return {name: position for position, name in enumerate(self.names)}

    @cached_property
    def key_index(self) -> tuple[int, ...]:
        """The positions of the key columns in a row."""
        return tuple(self.index[name] for name in self.table.key)

    @cached_property
    def defaults(self) -> tuple[Value, ...]:
        """A row of ProxySQL's own defaults; NULL also for a column without a default."""
        return tuple(column.default for column in self.columns)

    def column(self, name: str) -> Column:
        """Return the column of that name.

        Raises: KeyError when this version has no such column.
        """
        return self.columns[self.index[name]]

    def key_of(self, row: tuple[Any, ...]) -> tuple[Value, ...]:
        """Return the primary key of a row."""
        return tuple([row[position] for position in self.key_index])


@lru_cache(maxsize=512)
def layout_of(table: Table, version: Version) -> Layout:
    """Return the table as `version` has it. An unknown release may read more JSON keys."""
    columns = (c for c in table.columns if _exists(c.since, c.until, version))
    if version > NEWEST_KNOWN:
        columns = (replace(c, json_keys=()) if c.json_keys else c for c in columns)
    return Layout(table, tuple(columns), version)


@dataclass(frozen=True)
class AdminModule:
    """The tables that LOAD and SAVE move together."""

    name: str
    tables: tuple[Table, ...]

    @property
    def load(self) -> str:
        """The statement that copies MEMORY to RUNTIME."""
        return f"LOAD {self.name} TO RUNTIME"

    @property
    def save(self) -> str:
        """The statement that copies MEMORY to DISK."""
        return f"SAVE {self.name} TO DISK"


# Variables ----------------------------------------------------------------------------------------


class VariableKind(StrEnum):
    """How ProxySQL reads a variable's text."""

    BOOL = "boolean"
    INT = "integer"
    TEXT = "text"


BOOL, INT, TEXT = VariableKind.BOOL, VariableKind.INT, VariableKind.TEXT

_DEFAULTS_BEFORE_2_6: Mapping[str, str] = {
    "mysql-have_ssl": "false",
    "mysql-monitor_history": "600000",
    "mysql-query_digests_groups_grouping_limit": "0",
    "mysql-server_capabilities": "569899",
    "mysql-server_version": "5.5.30",
    "mysql-set_parser_algorithm": "1",
    "mysql-tcp_keepalive_time": "0",
    "mysql-use_tcp_keepalive": "false",
}
_OLDER_LIMITS: Mapping[str, tuple[str, int, int]] = {
    "mysql-max_stmts_cache": ("2.6.0", 1024, 1048576),
    "mysql-monitor_threads_max": ("2.4.4", 4, 256),
    "mysql-monitor_threads_min": ("2.4.4", 2, 16),
    "mysql-server_capabilities": ("2.6.0", 11, 65535),
    "mysql-set_parser_algorithm": ("3.0.9", 1, 2),
    "pgsql-set_parser_algorithm": ("3.0.9", 1, 2),
}
"""The limits before a version. Source: MySQL_Thread.cpp of each release; 2.5.5 run."""

_DEFAULTS_ELSEWHERE: Mapping[str, str] = {
    "admin-hash_passwords": "true",
    "admin-pgsql_ifaces": "0.0.0.0:6132",
    "mysql-default_tx_isolation": "READ-COMMITTED",
}
"""Defaults of variables that 2.7.1 does not have."""


@dataclass(frozen=True)
class Variable:
    """One variable."""

    name: str
    """The full name, such as mysql-threads."""
    kind: VariableKind
    """How ProxySQL reads the text."""
    default: str | None
    """The value in a fresh ProxySQL 2.7.1, or in the first later version that has the variable;
    None if 2.7.1 no longer has it."""
    minimum: int | None = None
    """The smallest number that ProxySQL accepts; None: no limit."""
    maximum: int | None = None
    """The largest number that ProxySQL accepts; None: no limit."""
    since: str = str(OLDEST)
    """The first version with the variable."""
    until: str | None = None
    """The last version with the variable; None if the newest has it."""
    secret: bool = False
    """Whether its value is a secret."""

    def default_in(self, version: Version) -> str | None:
        """Return the value in a fresh ProxySQL of this version; None if it is not known."""
        if not version.has(parse_version("2.6.0")) and self.name in _DEFAULTS_BEFORE_2_6:
            return _DEFAULTS_BEFORE_2_6[self.name]
        return _DEFAULTS_ELSEWHERE.get(self.name) if self.default is None else self.default

    def limits_in(self, version: Version) -> tuple[int | None, int | None]:
        """Return the smallest and the largest number that this version accepts; None: no limit."""
        if self.name in _OLDER_LIMITS:
            before, low, high = _OLDER_LIMITS[self.name]
            if not version.has(parse_version(before)):
                return low, high
        return self.minimum, self.maximum

    def exists_in(self, version: Version) -> bool:
        """Return whether this ProxySQL version has the variable."""
        return _exists(self.since, self.until, version)


_SECRET_NAME = re.compile(
    r"pas+w|ps?wd|pass(?:phrase|code)|(?<![a-z])(?:pass|pw|creds?|salt|jwt|bearer)(?![a-z])"
    r"|secret|token|credential|hmac|auth(?:entication)?_?string"
    r"|(?<!ssl)[-_]key(?![a-z])|(?:api|access|private|encryption|master|signing)key",
    re.IGNORECASE,
)
"""Matches anywhere in a name, also in a misspelt name: hiding too much is safer.

A key that follows `ssl` is the name of a file.
"""


def names_a_secret(name: str) -> bool:
    """Return whether a column or variable of this name may hold a secret."""
    return _SECRET_NAME.search(name) is not None
