"""One row that differs from the files in some layers, as a plan shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from proxyctl.catalog import Layout, Role, Value
from proxyctl.catalog.variables import MEMBERS_OWN
from proxyctl.plan.diff import ServerDiff, TableDiff
from proxyctl.proxysql.compare import Difference, differing
from proxyctl.proxysql.load_image import runtime_image
from proxyctl.rows.row import KEEP, DesiredRow, Key, Layer, Row, Where, sorted_keys
from proxyctl.rows.sql import is_secret

ADD, CHANGE, DELETE = "add", "change", "delete"


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field of a changed row, without the values of a secret."""

    column: str
    current: Value
    desired: Value
    is_secret: bool = False


class Change(NamedTuple):
    """One row that differs from the files in at least one layer.

    Shape: `action` is ADD, CHANGE or DELETE; `layers` are the layers that differ. `shown` is the
    difference of the first of them in the order RUNTIME, MEMORY, DISK; `other_layers` has the
    differences of the others, unless every layer lacks the row. `places`: where the files have each
    row. The properties are computed on demand: a first apply has many rows and shows few.
    """

    layout: Layout
    key: Key
    action: str
    layers: tuple[Layer, ...]
    shown: Difference
    places: Mapping[Key, Where]
    other_layers: tuple[tuple[Layer, Difference], ...] = ()

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
    def fields(self) -> tuple[FieldChange, ...]:
        """The fields that differ; for an added or deleted row those without their default."""
        if self.shown.desired is None:
            return tuple(_removed_fields(self.layout, self.shown.current or ()))
        if self.shown.current is None:
            return tuple(_added_fields(self.layout, self.shown.desired))
        return tuple(_changed_fields(self.layout, self.shown))

    @property
    def further(self) -> list[Change]:
        """The changes of other layers in columns that agree in the shown layer.

        For example a drained node: RUNTIME keeps its weight and limit while MEMORY and DISK change.
        Shape: one change per layer, or one for two layers with the same change.
        """
        changes: list[Change] = []
        for layer, difference in self.other_layers if self.action == CHANGE else ():
            columns = tuple(n for n in difference.columns if n not in self.shown.columns)
            if difference.current is None or difference.desired is None or not columns:
                continue
            unshown = difference._replace(columns=columns)
            change = Change(self.layout, self.key, CHANGE, (layer,), unshown, self.places)
            equal = (known for known in changes if known.fields == change.fields)
            _add_or_join(changes, change, next(equal, None))
        return changes

    @property
    def elsewhere(self) -> list[Change]:
        """The rows of other layers that equal neither the shown row nor the files.

        Shape: one change per layer, or one for two layers with the same row.
        """
        changes: list[Change] = []
        for layer, difference in self.other_layers:
            at_runtime = self._as_shown(difference) if Layer.RUNTIME in self.layers else difference
            if not _is_different(self.layout, self.shown, at_runtime):
                continue
            action = _action(difference)
            change = Change(self.layout, self.key, action, (layer,), difference, self.places)
            equal = (
                known
                for known in changes
                if not _is_different(self.layout, known.shown, difference)
            )
            _add_or_join(changes, change, next(equal, None))
        return changes

    def _as_shown(self, difference: Difference) -> Difference:
        """Return the difference of another layer after a LOAD of its row.

        A row that the LOAD drops becomes absent. An OFFLINE_HARD server stays: if the files do not
        set its status, only its other columns differ.
        """
        loaded = _as_loaded(self.layout, difference)
        if loaded is None and self.layout.table.role is not Role.SERVERS:
            return difference._replace(current=None)
        return loaded or difference

    @property
    def row(self) -> dict[str, Value]:
        """The desired row (the current row of a deletion), without secrets."""
        return _public(self.layout, self.shown.desired or self.shown.current or ())


def _add_or_join(changes: list[Change], change: Change, equal: Change | None) -> None:
    """Add a change to the list, or its layers to an equal change."""
    if equal is None:
        changes.append(change)
    else:
        changes[changes.index(equal)] = equal._replace(layers=(*equal.layers, *change.layers))


def changes_of(diff: TableDiff) -> list[Change]:
    """Merge the differences of the three layers into one change per row, sorted by key."""
    places = diff.desired.where if diff.desired else {}
    by_layer = [diff.changes.get(layer, []) for layer in _SHOWN_FIRST]
    if isinstance(diff, ServerDiff):
        by_layer = _one_key_per_node(diff, by_layer)
    runtime, memory, disk = by_layer
    if runtime == memory == disk and all(difference.current is None for difference in runtime):
        # No difference, or a first apply: every layer lacks the same rows.
        lacking = {difference.key: difference for difference in runtime}
        return [
            Change(diff.layout, key, ADD, _LAYERS[-1], lacking[key], places)
            for key in sorted_keys(lacking)
        ]
    shown, masks = _merged(by_layer)
    other_layers = _other_layers(by_layer, shown)
    changes = []
    for key in sorted_keys(shown):
        action, layers = _action(shown[key]), _LAYERS[masks[key]]
        hidden = other_layers.get(key, ())
        changes.append(Change(diff.layout, key, action, layers, shown[key], places, hidden))
    return changes


def _action(difference: Difference) -> str:
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
        [renamed(one) for one in sorted(differences, key=lambda one: one.key not in diff.memory)]
        for differences in by_layer
    ]


def _merged(by_layer: list[list[Difference]]) -> tuple[dict[Key, Difference], dict[Key, int]]:
    """Return the difference to show, and a bit mask of the differing layers, by key."""
    shown: dict[Key, Difference] = {}
    masks: dict[Key, int] = {}
    for bit, differences in enumerate(by_layer):
        for difference in differences:
            masks[difference.key] = masks.get(difference.key, 0) | 1 << bit
            shown.setdefault(difference.key, difference)
    return shown, masks


def _other_layers(
    by_layer: list[list[Difference]], shown: Mapping[Key, Difference]
) -> dict[Key, tuple[tuple[Layer, Difference], ...]]:
    """Return the differences that are not shown, with their layers, by key."""
    hidden: dict[Key, tuple[tuple[Layer, Difference], ...]] = {}
    for layer, differences in zip(_SHOWN_FIRST[1:], by_layer[1:], strict=True):
        for difference in differences:
            if difference is not shown[difference.key]:
                hidden[difference.key] = (*hidden.get(difference.key, ()), (layer, difference))
    return hidden


def _as_loaded(layout: Layout, difference: Difference) -> Difference | None:
    """Return the difference with the row that a LOAD makes; None if the LOAD drops the row."""
    row = difference.current
    if row is None or layout.table.prefix is not None:
        return difference
    loaded = runtime_image(layout, {difference.key: row}).get(difference.key)
    if loaded is None:
        return None
    return difference._replace(current=tuple(None if cell is KEEP else cell for cell in loaded))


def _is_different(layout: Layout, first: Difference, second: Difference) -> bool:
    """Return whether two layers differ from the files in different ways.

    For rows in no file, only their presence counts.
    """
    if first.desired is None or second.desired is None:
        return False
    if first.current is None or second.current is None:
        return (first.current is None) != (second.current is None)
    columns = differing(layout, first.current, second.current)
    return bool({*first.columns, *second.columns} & {*columns})


_SHOWN_FIRST = (Layer.RUNTIME, Layer.MEMORY, Layer.DISK)


_LAYERS = tuple(
    tuple(layer for bit, layer in enumerate(_SHOWN_FIRST) if mask & 1 << bit) for mask in range(8)
)
"""The layers of each bit mask."""


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


def _changed_fields(layout: Layout, difference: Difference) -> Iterator[FieldChange]:
    if difference.desired is not None:
        for position in difference.columns:
            yield _field(layout, position, difference.current, difference.desired)
