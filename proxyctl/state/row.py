"""Rows and layers: the shapes of what the files ask for and of what an instance holds. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from fnmatch import fnmatchcase
from operator import itemgetter
from typing import Final, NamedTuple, TypeVar

from proxyctl.catalog import TABLES, Layout, Role, Value, Version

Row = tuple[Value, ...]
"""One row in the column order of its layout."""


ColumnValues = Mapping[str, Value]
"""The cells of a row by column; some may be left out."""


class Secret(str):
    """A text from a reference to the environment or a file, which is never shown.

    Only the type marks it; it is compared, hashed and sent like any text.
    """

    __slots__ = ()


class SecretBytes(bytes):
    """A query that a replace_pattern from a reference rewrote, which is never shown."""

    __slots__ = ()


SENSITIVE = "(sensitive)"
"""What people see instead of a secret."""

REFERENCES = frozenset(("env", "file", "hex"))
"""The keys of `{env: NAME}`, `{file: PATH}` and `{hex: DIGITS}`, which files write for text."""


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
    """The place in the files that a row comes from.

    `origin` names the section that generated the row ("sharding sbtest", "pxc_clusters main"); it
    is empty for a row that the file writes itself. Units: line and column count from 1; line 0
    means that the file has no readable lines.
    """

    path: str
    line: int
    column: int
    origin: str = ""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}" if self.line else self.path


class NumberRange(NamedTuple):
    """Numbers from `low` to `high`, both included."""

    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.low}-{self.high}"


class Glob(NamedTuple):
    """Texts that fit a pattern with `*`, `?` and `[...]`, as `fnmatch` reads it."""

    pattern: str

    def __str__(self) -> str:
        return self.pattern


Term = Value | NumberRange | Glob
"""What a scope allows for one key column; a value allows only itself."""


def _allows(term: Term, value: Value) -> bool:
    match term:
        case NumberRange(low, high):
            return isinstance(value, int) and low <= value <= high
        case Glob(pattern):
            return isinstance(value, str) and fnmatchcase(value, pattern)
        case _:
            return value == term


@dataclass(frozen=True)
class Scope:
    """The part of a table that the files own (`manage:`).

    `owns` returns whether the scope has a primary key; `text` is the scope as the file writes it
    (`rule_id 10-5999`); `terms` is the scope as data, for SQL: a row is in it if each column fits
    any of its terms.
    """

    owns: Callable[[Key], bool]
    text: str
    terms: Mapping[str, Sequence[Term]] = field(default_factory=dict)

    @classmethod
    def of(cls, key: Sequence[str], terms: Mapping[str, Sequence[Term]], text: str) -> Scope:
        """Return the scope of these terms in a table with the key columns `key`."""
        columns = [(key.index(name), allowed) for name, allowed in terms.items()]

        def owns(row_key: Key) -> bool:
            return all(
                any(_allows(term, row_key[index]) for term in allowed) for index, allowed in columns
            )

        return cls(owns, text, terms)


@dataclass(frozen=True)
class DesiredTable:
    """One managed table.

    Shape: `rows` by key; a row holds KEEP where the files leave a column alone. `keep_on_update`
    names columns that count only at INSERT (`manage: ignore:`). `used` maps each column that a file
    sets to the first place that sets it. `scope` None: the files own the whole table. `origins`:
    the special sections that generate its rows, as `Where.origin` names them. `references`: columns
    (or variables) whose texts are secrets in every layer, also in deleted rows.
    """

    layout: Layout
    rows: Mapping[Key, DesiredRow]
    where: Mapping[Key, Where] = field(default_factory=dict)
    used: Mapping[str, Where] = field(default_factory=dict)
    keep_on_update: frozenset[str] = frozenset()
    scope: Scope | None = None
    origins: frozenset[str] = frozenset()
    references: frozenset[str] = frozenset()

    def owns(self, key: Key) -> bool:
        """Return whether the files own the row with this key: they have it, or it is deleted."""
        return key in self.rows or self.scope is None or self.scope.owns(key)


class GuardAction(StrEnum):
    """What a guard does with a plan that it objects to."""

    REFUSE = "refuse"
    WARN = "warn"
    OFF = "off"


LINT = "lint"
"""The guard that judges the files themselves, not a transition."""


@dataclass(frozen=True)
class GuardLimits:
    """The `guards` section. Shape: `actions` by guard; by default `lint` warns, others refuse."""

    max_deletes_percent: int = 30
    max_deletes_above_rows: int = 10
    max_deletes_rows: int = 1000
    actions: Mapping[str, GuardAction] = field(default_factory=dict)

    def action(self, guard: str) -> GuardAction:
        """Return what a guard does."""
        usual = GuardAction.WARN if guard == LINT else GuardAction.REFUSE
        return self.actions.get(guard, usual)


class SourceWords(NamedTuple):
    """The phrases of messages about the source of the desired state."""

    says: str
    place: str
    lacks: str
    of_row: str


FILES = SourceWords("the files say", "in the files", "in no file", "in the file")


SNAPSHOT = SourceWords(
    "the snapshot says", "in the snapshot", "not in the snapshot", "in the snapshot"
)


@dataclass(frozen=True)
class Desired:
    """The desired state of one instance, from files or a snapshot.

    Shape: `tables` by catalogue name, managed tables only. `hostgroup_names` by number.
    `keeps_fast_routing_alive`: whether a plan adds the rule that fast routing needs.
    """

    tables: Mapping[str, DesiredTable]
    version: Version
    hostgroup_names: Mapping[int, str] = field(default_factory=dict)
    guards: GuardLimits = GuardLimits()
    warnings: tuple[str, ...] = ()
    source: SourceWords = FILES
    keeps_fast_routing_alive: bool = False


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
