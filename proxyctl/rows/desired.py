"""The rows that the files or a snapshot ask for, and the part of a table that they own. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import NamedTuple

from proxyctl.catalog import Layout, Value, Version
from proxyctl.rows.row import DesiredRow, Key, Where


class NumberRange(NamedTuple):
    """Numbers within a range."""

    low: int
    """The smallest number, included."""
    high: int
    """The largest number, included."""

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
    """The part of a table that the files own (`manage:`)."""

    owns: Callable[[Key], bool]
    """Returns whether the scope has a primary key."""
    text: str
    """The scope as the file writes it (`rule_id 10-5999`)."""
    terms: Mapping[str, Sequence[Term]] = field(default_factory=dict)
    """The scope as data, for SQL: a row is in it if each column fits any of its terms."""

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
    """One managed table."""

    layout: Layout
    """The layout of the table."""
    rows: Mapping[Key, DesiredRow]
    """The rows by key; a row holds KEEP where the files leave a column alone."""
    where: Mapping[Key, Where] = field(default_factory=dict)
    """The place of each row in the files, by key."""
    used: Mapping[str, Where] = field(default_factory=dict)
    """The first place that sets a column, for each column that a file sets."""
    keep_on_update: frozenset[str] = frozenset()
    """The columns that count only at INSERT (`manage: ignore:`)."""
    scope: Scope | None = None
    """The part of the table that the files own; None: the whole table."""
    origins: frozenset[str] = frozenset()
    """The special sections that generate rows of the table, as `Where.origin` names them."""
    references: frozenset[str] = frozenset()
    """The columns (or variables) whose texts are secrets in every layer, also in deleted rows."""
    plugin_of: Callable[[Key], str | None] | None = None
    """Returns the plugin of the instance that owns a row; None: no plugin owns rows here."""

    def owns(self, key: Key) -> bool:
        """Return whether the files own the row with this key: they have it, or it is deleted."""
        if key in self.rows:
            return True
        if self.plugin_of is not None and self.plugin_of(key) is not None:
            return False
        return self.scope is None or self.scope.owns(key)


class GuardAction(StrEnum):
    """What a guard does with a plan that it objects to."""

    REFUSE = "refuse"
    WARN = "warn"
    OFF = "off"


LINT = "lint"
"""The guard of lint errors that a plan introduces; by default it only warns."""


POLICIES = "policies"
"""The guard of the policies that a plan breaks."""


@dataclass(frozen=True)
class GuardLimits:
    """The `guards` section."""

    max_deletes_percent: int = 30
    """The largest part of a table that an apply may delete. Units: percent."""
    max_deletes_above_rows: int = 10
    """The percentage holds for tables with more rows than this."""
    max_deletes_rows: int = 1000
    """The most rows that an apply may delete from a table, however large it is."""
    actions: Mapping[str, GuardAction] = field(default_factory=dict)
    """The action of each guard that the section names; by default `lint` warns, others refuse."""

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
    """The desired state of one instance, from files or a snapshot."""

    tables: Mapping[str, DesiredTable]
    """The managed tables, by catalogue name."""
    version: Version
    """The version of ProxySQL that the rows are for."""
    hostgroup_names: Mapping[int, str] = field(default_factory=dict)
    """The names of hostgroups, by number."""
    guards: GuardLimits = GuardLimits()
    """The limits of the guards."""
    warnings: tuple[str, ...] = ()
    """The warnings from the files or the snapshot."""
    source: SourceWords = FILES
    """The words for the source in messages."""
    keeps_fast_routing_alive: bool = False
    """Whether a plan adds the rule that fast routing needs."""


_SECTION = re.compile(r"sharding ([^:;]*)")
"""The start of generated comments: `sharding NAME: tables`, `sharding NAME; comment`."""


def section_in(comment: Value) -> str | None:
    """Return the `sharding` section that the comment of a rule, or of fast routing, names."""
    match = _SECTION.match(comment) if isinstance(comment, str) else None
    return match[1] if match else None
