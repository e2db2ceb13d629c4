"""A snapshot: what an instance held in three layers, and what it was taken before. Pure.

Shape and place of the file are the business of `admin.snapshot_file` and `admin.snapshot_folder`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import cast

from proxyctl.catalog import Layout, Role
from proxyctl.families import Family, Node
from proxyctl.plan import ModulePlan, Plan
from proxyctl.sql import is_secret
from proxyctl.state import DesiredTable, Key, Layer, Row, Scope, Secret

APPLY, ROLLBACK, BY_HAND = "apply", "rollback", "snapshot"
"""What a snapshot is taken before; the last one by a person, before nothing."""

OMITTED = "\0omitted"
"""Stands in a cell whose secret was left out. No cell of ProxySQL holds a NUL."""

Cell = tuple[str, Key, str]
"""A table, the key of a row and a column."""


class HiddenCells:
    """The cells of one table that are secrets though their column has none."""

    def __init__(self, layout: Layout, secrets: Iterable[Cell]) -> None:
        self._role = layout.table.role
        self._columns: dict[Key, frozenset[int]] = {}
        for table, key, column in secrets:
            if table == layout.name and column in layout.index:
                place = self._place(key)
                known = self._columns.get(place, frozenset())
                self._columns[place] = known | {layout.index[column]}

    def of(self, key: Key) -> frozenset[int]:
        """Return the positions in the row with this key."""
        return self._columns.get(self._place(key), frozenset())

    def _place(self, key: Key) -> Key:
        """Return what stays the same of a key: halves of a user, nodes in other hostgroups."""
        if self._role is Role.USERS:
            return key[:1]
        return key[1:] if self._role is Role.SERVERS else key


@dataclass(frozen=True)
class Owned:
    """What an apply owned of a table. `scope` None: all rows; `ignored`: columns it left alone."""

    scope: Scope | None = None
    ignored: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Occasion:
    """What a snapshot was taken before: by whom, from which files, and what was about to change.

    Shape: `owned` by table, None for everything that the snapshot holds; `changes` by admin module
    and action, a row counted once in whatever layers it differs. `families` are those
    that the monitor placed, `drained` the nodes on record as drained. `leftovers`: modules whose
    MEMORY an apply that died had written.
    `secrets`: cells whose text came by a reference, so that they are secrets though their column
    has none.
    """

    purpose: str
    sources: tuple[str, ...] = ()
    by: str = ""
    proxyctl: str = ""
    owned: Mapping[str, Owned] | None = None
    changes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    families: tuple[Family, ...] = ()
    drained: frozenset[Node] = frozenset()
    leftovers: frozenset[str] = frozenset()
    hostgroup_names: Mapping[int, str] = field(default_factory=dict)
    secrets: frozenset[Cell] = frozenset()
    omits_secrets: bool = False


@dataclass(frozen=True)
class HeldTable:
    """A table of a snapshot. Shape: rows by layer, in the columns of then; OMITTED for a secret."""

    columns: tuple[str, ...]
    layers: Mapping[Layer, list[Row]]


@dataclass(frozen=True)
class Snapshot:
    """A snapshot as read from its file. `name` tells people which one. `taken_at`: ISO 8601."""

    name: str
    address: str
    version: str
    taken_at: str
    tables: Mapping[str, HeldTable]
    occasion: Occasion


@dataclass(frozen=True)
class Summary:
    """What a snapshot says of itself; its tables are not looked at."""

    address: str
    version: str
    taken_at: str
    occasion: Occasion


class Outcome(StrEnum):
    """How an apply ended. One that was killed left no outcome."""

    APPLIED = "applied"
    NOTHING_CHANGED = "nothing changed"
    INCOMPLETE = "did not finish"


@dataclass(frozen=True)
class Kept:
    """One snapshot file of an instance. `number` 1 is the newest. `size` in bytes.

    Shape: `summary` None where the file cannot be used; `problem` says why then.
    """

    number: int
    path: Path
    size: int
    summary: Summary | None
    problem: str
    outcome: Outcome | None

    @property
    def name(self) -> str:
        """The name by which a command finds it."""
        return self.path.stem


def occasion_of(
    plan: Plan, purpose: str, *, sources: tuple[str, ...], leftovers: frozenset[str]
) -> Occasion:
    """Return what there is to know of the apply of this plan."""
    surveys = [
        survey
        for module in plan.modules
        for survey in module.surveys.values()
        if survey.desired is not None
    ]
    owned = {survey.layout.name: _owned(survey.desired) for survey in surveys if survey.desired}
    return Occasion(
        purpose,
        sources,
        owned=owned,
        changes={module.name: _counts(module) for module in plan.modules if module.changes},
        families=plan.families_before,
        drained=plan.drains,
        leftovers=leftovers,
        hostgroup_names=dict(plan.hostgroup_names),
        secrets=cells_by_reference(survey.desired for survey in surveys if survey.desired),
    )


def cells_by_reference(tables: Iterable[DesiredTable]) -> frozenset[Cell]:
    """Return the cells that came by a reference, in columns that hold no secrets by themselves."""
    return frozenset(cell for table in tables for cell in _references(table))


def _owned(desired: DesiredTable) -> Owned:
    """Variables are owned as a whole: a LOAD of one may change others."""
    is_variables = desired.layout.table.prefix is not None
    return Owned(None if is_variables else desired.scope, desired.keep_on_update)


def _counts(module: ModulePlan) -> dict[str, int]:
    """Return how many rows are added, changed and deleted, whatever the layer."""
    found: Counter[str] = Counter()
    for (_, action, _), count in module.tallies.items():
        found[action] += count
    return dict(found)


def _references(desired: DesiredTable) -> Iterator[Cell]:
    layout = desired.layout
    for key, row in desired.rows.items():
        if Secret not in set(map(type, row)):
            continue
        plain = tuple(str(cell) if isinstance(cell, Secret) else cell for cell in row)
        for position, cell in enumerate(row):
            is_reference = isinstance(cell, Secret) and position not in layout.key_index
            if is_reference and not is_secret(layout, position, cast("Row", plain)):
                yield layout.name, key, layout.names[position]
