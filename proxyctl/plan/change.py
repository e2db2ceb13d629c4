"""One row that differs from the files in some layers, as a plan shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from proxyctl.catalog import Layout, Value
from proxyctl.catalog.variables import MEMBERS_OWN
from proxyctl.plan.diff import ServerDiff, TableDiff
from proxyctl.proxysql.compare import Difference
from proxyctl.rows.row import KEEP, DesiredRow, Key, Layer, Row, Where, sorted_keys
from proxyctl.rows.sql import is_secret

ADD, CHANGE, DELETE = "add", "change", "delete"


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field of a changed row, without the values of a secret."""

    column: str
    """The column."""
    current: Value
    """The value before; None for an added row or a secret."""
    desired: Value
    """The value afterwards; None for a deleted row or a secret."""
    is_secret: bool = False
    """Whether the values are secret."""
    layers: tuple[Layer, ...] = ()
    """The layers that differ, if the first layer of the change agrees with the files here."""


class Change(NamedTuple):
    """One row that differs from the files in at least one layer.

    The properties are computed on demand: a first apply has many rows, of which few are shown.
    """

    layout: Layout
    """The table, with the columns of the instance."""
    key: Key
    """The values of the primary key."""
    action: str
    """ADD, CHANGE or DELETE: what an apply does in the first of `layers`."""
    layers: tuple[Layer, ...]
    """The layers that differ, in the order RUNTIME, MEMORY, DISK."""
    differences: tuple[Difference, ...]
    """The difference of each of `layers`: the row before as `current`, afterwards as `desired`."""
    places: Mapping[Key, Where]
    """The places of rows in the files."""
    remark: str = ""
    """What a reader cannot see from the row: a renumbered rule, a server placed by the monitor."""

    @property
    def table(self) -> str:
        """The table's name in the catalogue."""
        return self.layout.name

    @property
    def is_members_own(self) -> bool:
        """Whether each member of a ProxySQL Cluster has its own value of this variable."""
        return self.layout.table.prefix is not None and self.key[0] in MEMBERS_OWN

    @property
    def where(self) -> Where | None:
        """The place of the row in the files."""
        return self.places.get(self.key)

    @property
    def before(self) -> Row | None:
        """The row of the first of `layers` with its secrets; None: it lacks the row."""
        return self.differences[0].current

    @property
    def after(self) -> DesiredRow | None:
        """The row that the first of `layers` will have, with its secrets; None: it will lack it."""
        return self.differences[0].desired

    @property
    def fields(self) -> tuple[FieldChange, ...]:
        """The fields that differ; for an added or deleted row those without their default.

        Fields in which only further layers differ come last. For example a drained node: RUNTIME
        keeps its weight and limit while MEMORY and DISK change.
        """
        if self.after is None:
            return tuple(_removed_fields(self.layout, self.before or ()))
        if self.before is None:
            return tuple(_added_fields(self.layout, self.after))
        first = self.differences[0]
        return (*_changed_fields(self.layout, first, first.columns), *_further_fields(self))

    @property
    def row(self) -> dict[str, Value]:
        """The desired row (the current row of a deletion), without secrets."""
        return _public(self.layout, self.after or self.before or ())


def changes_of(diff: TableDiff) -> list[Change]:
    """Merge the differences of the three layers into one change per row, sorted by key."""
    places = diff.desired.where if diff.desired else {}
    by_layer = [diff.changes.get(layer, []) for layer in _FIRST_TO_LAST]
    if isinstance(diff, ServerDiff):
        by_layer = _one_key_per_node(diff, by_layer)
    runtime, memory, disk = by_layer
    if runtime == memory == disk and all(difference.current is None for difference in runtime):
        # No difference, or a first apply: every layer lacks the same rows.
        lacking = {difference.key: difference for difference in runtime}
        return [
            Change(diff.layout, key, ADD, _FIRST_TO_LAST, (lacking[key],) * 3, places)
            for key in sorted_keys(lacking)
        ]
    merged: dict[Key, dict[Layer, Difference]] = {}
    for layer, differences in zip(_FIRST_TO_LAST, by_layer, strict=True):
        for difference in differences:
            merged.setdefault(difference.key, {}).setdefault(layer, difference)
    return [
        Change(
            diff.layout, key, action_of(first), tuple(row_differences), (first, *further), places
        )
        for key in sorted_keys(merged)
        for row_differences in [merged[key]]
        for first, *further in [row_differences.values()]
    ]


def action_of(difference: Difference) -> str:
    """Return what an apply does in a layer with this difference: ADD, CHANGE or DELETE."""
    if difference.desired is None:
        return DELETE
    return ADD if difference.current is None else CHANGE


def _one_key_per_node(diff: ServerDiff, by_layer: list[list[Difference]]) -> list[list[Difference]]:
    """Give all rows of a node that leaves its family the same key.

    RUNTIME has the node in other hostgroups than MEMORY. The key is one that both have, if any.
    """
    identity = diff.identity
    staying = set(map(identity, diff.desired.rows)) if diff.desired else set()
    keys: dict[Key, Key] = {}

    def renamed(difference: Difference) -> Difference:
        node = identity(difference.key)
        if difference.desired is not None or node in staying:
            return difference
        return difference._replace(key=keys.setdefault(node, difference.key))

    return [
        [
            renamed(difference)
            for difference in sorted(differences, key=lambda at: at.key not in diff.memory)
        ]
        for differences in by_layer
    ]


_FIRST_TO_LAST = (Layer.RUNTIME, Layer.MEMORY, Layer.DISK)


def _public(layout: Layout, row: DesiredRow) -> dict[str, Value]:
    plain: Row = tuple(None if cell is KEEP else cell for cell in row)
    return {
        name: plain[position]
        for position, name in enumerate(layout.names)
        if not is_secret(layout, position, plain)
    }


def _field(layout: Layout, position: int, current: Row | None, desired: DesiredRow) -> FieldChange:
    plain: Row = tuple(None if cell is KEEP else cell for cell in desired)
    name = layout.names[position]
    secret = is_secret(layout, position, plain) or (
        current is not None and is_secret(layout, position, current)
    )
    if secret:
        return FieldChange(name, None, None, is_secret=True)
    return FieldChange(name, current[position] if current else None, plain[position])


def _added_fields(layout: Layout, desired: DesiredRow) -> Iterator[FieldChange]:
    """Yield the fields of a new row that differ from the default in files."""
    for position, (column, cell) in enumerate(zip(layout.columns, desired, strict=True)):
        is_set = cell is not KEEP and (column.is_required or cell != column.file_default)
        if is_set and position not in layout.key_index:
            yield _field(layout, position, None, desired)


def _removed_fields(layout: Layout, current: Row) -> Iterator[FieldChange]:
    """Yield the fields of a deleted row that differ from the default in files."""
    for position, (column, cell) in enumerate(zip(layout.columns, current, strict=True)):
        if position in layout.key_index or cell == column.file_default:
            continue
        if is_secret(layout, position, current):
            yield FieldChange(column.name, None, None, is_secret=True)
        else:
            yield FieldChange(column.name, cell, None)


def _changed_fields(
    layout: Layout, difference: Difference, columns: Iterable[int]
) -> Iterator[FieldChange]:
    if difference.desired is not None:
        for position in columns:
            yield _field(layout, position, difference.current, difference.desired)


def _further_fields(change: Change) -> list[FieldChange]:
    """Return the fields in which further layers differ and the first does not."""
    first, *further = change.differences
    layers: dict[FieldChange, tuple[Layer, ...]] = {}
    for layer, difference in zip(change.layers[1:], further, strict=True):
        if difference.current is not None:
            columns = [column for column in difference.columns if column not in first.columns]
            for field in _changed_fields(change.layout, difference, columns):
                layers[field] = (*layers.get(field, ()), layer)
    return [replace(field, layers=where) for field, where in layers.items()]
