"""Rows and layers: the shapes of what the files ask for and of what an instance holds. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum, StrEnum
from operator import itemgetter
from typing import Final, NamedTuple, TypeVar

from proxyctl.catalog import TABLES, Layout, Role, Value

Row = tuple[Value, ...]
"""One row in the column order of its layout."""


ColumnValues = Mapping[str, Value]
"""The cells of a row by column; some may be left out."""


class Secret(str):
    """A text from a reference to the environment, a file or a command, which is never shown.

    Only the type marks it; it is compared, hashed and sent like any text.
    """

    __slots__ = ()


class SecretBytes(bytes):
    """A query that a replace_pattern from a reference rewrote, which is never shown."""

    __slots__ = ()


SENSITIVE = "(sensitive)"
"""What people see instead of a secret."""

REFERENCES = frozenset(("env", "file", "hex", "command"))
"""The keys of `{env: NAME}`, `{file: PATH}`, `{hex: DIGITS}` and `{command: WORDS}`, which files
write for text."""


def with_secrets(row: Row, positions: Collection[int]) -> Row:
    """Return the row with the texts at these positions as secrets."""
    if not positions:
        return row
    return tuple(
        Secret(cell) if n in positions and isinstance(cell, str) else cell
        for n, cell in enumerate(row)
    )


def replace_cells(layout: Layout, row: Row, **cells: Value) -> Row:
    """Return the row with new cells, by the names of their columns."""
    replaced = list(row)
    for name, cell in cells.items():
        replaced[layout.index[name]] = cell
    return tuple(replaced)


Key = tuple[Value, ...]
"""The primary key of a row, in the order of the table's key columns."""


Rows = dict[Key, Row]
"""The rows of one table in one layer, unique by key, sorted only where something is shown."""


def secret_columns(layout: Layout, rows: Mapping[Key, DesiredRow]) -> list[int]:
    """Return the positions of the columns outside the key in which any row has a secret.

    Most tables have none, which whole columns tell fast.
    """
    return [
        n
        for n, column in enumerate(layout.columns)
        if n not in layout.key_index and not column.is_numeric
        if Secret in set(map(type, map(itemgetter(n), rows.values())))
    ]


class Layer(StrEnum):
    """Where ProxySQL holds a configuration table."""

    MEMORY = "memory"
    RUNTIME = "runtime"
    DISK = "disk"


class _Keep(Enum):
    """The type of KEEP; an enum, so that type checkers can tell it from a value."""

    KEEP = "keep"

    def __repr__(self) -> str:
        return "KEEP"


KEEP: Final = _Keep.KEEP
"""In a desired row: the files do not set the column, so any value of the instance is right."""


DesiredRow = tuple[Value | _Keep, ...]


AnyRow = TypeVar("AnyRow", Row, DesiredRow)


class Where(NamedTuple):
    """The place in the files that a row comes from."""

    path: str
    """The file."""
    line: int
    """The line; 0: the file has no readable lines. Units: counts from 1."""
    column: int
    """The column in the line. Units: counts from 1."""
    origin: str = ""
    """The section that generated the row ("sharding sbtest", "pxc_clusters main"); empty for a row
    that the file writes itself."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}" if self.line else self.path


NOUNS: Final = {
    "query_rules": "rule",
    "query_rules_fast_routing": "route",
    "servers": "server",
    "users": "user",
    "replication_hostgroups": "replication hostgroups",
    "galera_hostgroups": "galera hostgroups",
    "group_replication_hostgroups": "group replication hostgroups",
    "aws_aurora_hostgroups": "aurora hostgroups",
    "aws_rds_bgd_hostgroups": "RDS Blue/Green hostgroups",
    "hostgroup_attributes": "hostgroup attributes",
    "servers_ssl_params": "ssl params",
    "firewall_whitelist_users": "firewall user",
    "firewall_whitelist_rules": "firewall rule",
    "firewall_whitelist_sqli_fingerprints": "firewall fingerprint",
    "scheduler": "scheduler",
    "restapi_routes": "restapi route",
}
"""What people call a row of a table, by the table's name without `mysql_` or `pgsql_`."""


def row_name(table: str, key: Key) -> str:
    """Return what people call a row: `rule 5`, `server db1:3306 in hostgroup 20`, `mysql-threads`.

    Both halves of a user have the same name.
    """
    entry = TABLES[table]
    if entry.prefix is not None:
        return str(key[0])
    if table == "proxysql_servers":
        return f"proxysql server {key[0]}:{key[1]}"
    short = table.removeprefix("mysql_").removeprefix("pgsql_")
    side = "pgsql " if table.startswith("pgsql_") else ""
    noun = f"{side}{NOUNS[short]}" if short in NOUNS else table
    if entry.role is Role.SERVERS:
        node = f"{key[1]}:{key[2]}" if key[2] else key[1]
        return f"{noun} {node} in hostgroup {key[0]}"
    parts = key[:1] if entry.role is Role.USERS else key
    return f"{noun} {':'.join(map(str, parts))}"


_LISTED_ROWS = 5


def listed_rows(names: Sequence[str]) -> str:
    """Return the first names of rows, and the number of the others."""
    hidden = len(names) - _LISTED_ROWS
    return ", ".join(names[:_LISTED_ROWS]) + (f" and {hidden} more" if hidden > 0 else "")


def named_rows(table: str, keys: Iterable[Key]) -> str:
    """Return the names of rows in order of their keys, as `listed_rows` lists them."""
    return listed_rows([*dict.fromkeys(row_name(table, key) for key in sorted_keys(keys))])


def sorted_keys(keys: Iterable[Key]) -> list[Key]:
    """Return keys in order: numbers before text where a column holds both."""
    unsorted = list(keys)
    try:
        return sorted(unsorted)
    except TypeError:
        return sorted(unsorted, key=_sortable)


def _sortable(key: Key) -> tuple[tuple[int, float, str], ...]:
    return tuple((1, 0.0, cell) if isinstance(cell, str) else (0, cell or 0, "") for cell in key)
