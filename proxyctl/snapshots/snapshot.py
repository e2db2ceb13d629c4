"""A snapshot: the rows of MEMORY, RUNTIME and DISK, and the command that it preceded. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from proxyctl.plan.plan import Plan
from proxyctl.plan.secrets import reference_name
from proxyctl.state.row import DesiredTable, Layer, Row, Scope, Secret

APPLY, ROLLBACK, BY_HAND = "apply", "rollback", "snapshot"
"""What a snapshot is taken before; the last one by a person, before nothing."""

References = Mapping[str, frozenset[str]]
"""By table: the columns into which files put a text by `{env:}` or `{file:}`. Of a table of
variables: the variables."""


@dataclass(frozen=True)
class TableScope:
    """The part of a table that an apply managed.

    `rows` None: the whole table. `ignored`: columns that it set in new rows only.
    """

    rows: Scope | None = None
    ignored: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Header:
    """The header of a snapshot.

    Shape: `before` is APPLY, ROLLBACK or BY_HAND; `sources` are the files of the apply, or the
    snapshot of the rollback. `scope` by table; None: all tables of the snapshot. `changes`: rows by
    admin module and action. Units: `taken_at` in ISO 8601.
    """

    address: str
    version: str
    before: str
    sources: tuple[str, ...] = ()
    scope: Mapping[str, TableScope] | None = None
    changes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    references: References = field(default_factory=dict)
    hostgroup_names: Mapping[int, str] = field(default_factory=dict)
    taken_at: str = ""
    by: str = ""


@dataclass(frozen=True)
class HeldTable:
    """A table of a snapshot. Shape: rows by layer, in the order of `columns`."""

    columns: tuple[str, ...]
    layers: Mapping[Layer, list[Row]]


@dataclass(frozen=True)
class Snapshot:
    """A snapshot as read from its file; `name` is that of `history`."""

    name: str
    header: Header
    tables: Mapping[str, HeldTable]


@dataclass(frozen=True)
class Kept:
    """One snapshot file of an instance. `number` 1 is the newest. `size` in bytes.

    Shape: `header` None where the file cannot be used; `problem` says why then.
    """

    number: int
    name: str
    path: Path
    size: int
    header: Header | None
    problem: str = ""


def header_of(plan: Plan, before: str, sources: tuple[str, ...]) -> Header:
    """Return the header of a snapshot taken before the apply of this plan."""
    tables = [
        diff.desired
        for module in plan.modules
        for diff in module.diffs.values()
        if diff.desired is not None
    ]
    return Header(
        plan.address,
        plan.version,
        before,
        sources,
        scope={table.layout.name: _scope(table) for table in tables},
        changes={
            module.name: Counter(change.action for change in module.changes)
            for module in plan.modules
            if module.changes
        },
        references=references_in(tables),
        hostgroup_names=dict(plan.hostgroup_names),
    )


def _scope(table: DesiredTable) -> TableScope:
    if table.layout.table.prefix is None:
        return TableScope(table.scope, table.keep_on_update)
    terms = {"variable_name": [key[0] for key in table.rows]}
    return TableScope(Scope.of(table.layout.table.key, terms, "the variables that it set"))


def references_in(tables: Iterable[DesiredTable]) -> References:
    """Return the columns and variables whose values came from a reference."""
    found: dict[str, set[str]] = {}
    for table in tables:
        for key, row in table.rows.items():
            if Secret not in set(map(type, row)):
                continue
            names = found.setdefault(table.layout.name, set())
            names |= {
                reference_name(table.layout, key, n)
                for n, cell in enumerate(row)
                if type(cell) is Secret
            }
    return {table: frozenset(names) for table, names in found.items()}
