"""One row that differs from the files in some layers, as a plan shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from proxyctl.catalog import Layout, Role, Value
from proxyctl.catalog.variables import MEMBERS_OWN
from proxyctl.plan.diff import TableDiff
from proxyctl.state.compare import Difference, differing
from proxyctl.state.row import KEEP, DesiredRow, Key, Layer, Row, Where, sorted_keys
from proxyctl.state.runtime import runtime_image
from proxyctl.state.sql import is_secret

ADD, CHANGE, DELETE = "add", "change", "delete"


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field of a changed row. The values of a secret are left out."""

    column: str
    current: Value
    desired: Value
    is_secret: bool = False


class Change(NamedTuple):
    """One row that differs from the files in at least one layer.

    Shape: `action` is ADD, CHANGE or DELETE; `layers` are those that differ; `shown` is the
    difference of the first of RUNTIME, MEMORY, DISK, and `beside` has those of the other layers, if
    any layer has the row; `places` gives the places of rows in the files. All else is computed on
    demand: a first apply has many rows and shows few.
    """

    layout: Layout
    key: Key
    action: str
    layers: tuple[Layer, ...]
    shown: Difference
    places: Mapping[Key, Where]
    beside: tuple[tuple[Layer, Difference], ...] = ()

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
        """The fields that differ; of a row that comes or goes those that are no default."""
        if self.shown.desired is None:
            return tuple(_removed_fields(self.layout, self.shown.current or ()))
        if self.shown.current is None:
            return tuple(_added_fields(self.layout, self.shown.desired))
        return tuple(_changed_fields(self.layout, self.shown))

    @property
    def further(self) -> list[Change]:
        """Changes in other layers of columns that agree in the layer that is shown.

        For example a drained node: RUNTIME keeps its weight and limit while MEMORY and DISK change.
        Shape: a change for each layer, or for two that change alike.
        """
        found: list[Change] = []
        for layer, held in self.beside if self.action == CHANGE else ():
            columns = tuple(one for one in held.columns if one not in self.shown.columns)
            if held.current is None or held.desired is None or not columns:
                continue
            rest = held._replace(columns=columns)
            one = Change(self.layout, self.key, CHANGE, (layer,), rest, self.places)
            _join(found, one, next((o for o in found if o.fields == one.fields), None))
        return found

    @property
    def elsewhere(self) -> list[Change]:
        """The rows of other layers that equal neither the row that is shown nor the files.

        Shape: a change for each layer, or for two that hold the same.
        """
        found: list[Change] = []
        for layer, held in self.beside:
            beside = self._as_shown(held) if Layer.RUNTIME in self.layers else held
            if not _is_other(self.layout, self.shown, beside):
                continue
            action = _action(held)
            one = Change(self.layout, self.key, action, (layer,), held, self.places)
            same = (o for o in found if not _is_other(self.layout, o.shown, held))
            _join(found, one, next(same, None))
        return found

    def _as_shown(self, held: Difference) -> Difference:
        """Return the difference of another layer as a LOAD would bring it to RUNTIME.

        A row that a LOAD drops is absent, except a server that is OFFLINE_HARD: the files may leave
        its status alone, and then only its other columns differ.
        """
        loaded = _as_loaded(self.layout, held)
        if loaded is None and self.layout.table.role is not Role.SERVERS:
            return held._replace(current=None)
        return loaded or held

    @property
    def row(self) -> dict[str, Value]:
        """The desired row, or the current one of a deletion, with secrets left out."""
        return _public(self.layout, self.shown.desired or self.shown.current or ())


def _join(found: list[Change], one: Change, same: Change | None) -> None:
    """Add a change, or add its layers to an equal one."""
    if same is None:
        found.append(one)
    else:
        found[found.index(same)] = same._replace(layers=(*same.layers, *one.layers))


def changes_of(diff: TableDiff) -> list[Change]:
    """Merge the differences of the three layers into one change a row, sorted by key."""
    places = diff.desired.where if diff.desired else {}
    lists = [diff.changes.get(layer, []) for layer in _SHOWN_FIRST]
    if diff.place is not None:
        lists = _one_key_a_node(diff, diff.place, lists)
    if lists[0] == lists[1] == lists[2] and all(one.current is None for one in lists[0]):
        # Nothing, or a first apply: every layer lacks the same rows.
        lacking = {one.key: one for one in lists[0]}
        return [
            Change(diff.layout, key, ADD, _LAYERS[-1], lacking[key], places)
            for key in sorted_keys(lacking)
        ]
    shown, masks = _merged(lists)
    beside = _beside(lists, shown)
    found = []
    for key in sorted_keys(shown):
        one, layers, others = shown[key], _LAYERS[masks[key]], beside.get(key, ())
        found.append(Change(diff.layout, key, _action(one), layers, one, places, others))
    return found


def _action(difference: Difference) -> str:
    if difference.desired is None:
        return DELETE
    return ADD if difference.current is None else CHANGE


def _one_key_a_node(
    diff: TableDiff, place: Callable[[Key], Key], lists: list[list[Difference]]
) -> list[list[Difference]]:
    """Give all rows of a node that leaves its family one key.

    RUNTIME has the node in other hostgroups than MEMORY; the key is that of a row in both, if there
    is one.
    """
    staying = set(map(place, diff.desired.rows)) if diff.desired else set()
    keys: dict[Key, Key] = {}

    def renamed(difference: Difference) -> Difference:
        where = place(difference.key)
        if difference.desired is not None or where in staying:
            return difference
        return difference._replace(key=keys.setdefault(where, difference.key))

    return [
        [renamed(one) for one in sorted(found, key=lambda one: one.key not in diff.memory)]
        for found in lists
    ]


def _merged(lists: list[list[Difference]]) -> tuple[dict[Key, Difference], dict[Key, int]]:
    """Return the difference to show and a bit mask of the differing layers, both by key."""
    shown: dict[Key, Difference] = {}
    masks: dict[Key, int] = {}
    for bit, found in enumerate(lists):
        for difference in found:
            masks[difference.key] = masks.get(difference.key, 0) | 1 << bit
            shown.setdefault(difference.key, difference)
    return shown, masks


def _beside(
    lists: list[list[Difference]], shown: Mapping[Key, Difference]
) -> dict[Key, tuple[tuple[Layer, Difference], ...]]:
    """Return the differences of the other layers, by key."""
    found: dict[Key, tuple[tuple[Layer, Difference], ...]] = {}
    for layer, differences in zip(_SHOWN_FIRST[1:], lists[1:], strict=True):
        for one in differences:
            if one is not shown[one.key]:
                found[one.key] = (*found.get(one.key, ()), (layer, one))
    return found


def _as_loaded(layout: Layout, held: Difference) -> Difference | None:
    """Return the difference with its row as a LOAD makes it; None if the LOAD drops the row."""
    row = held.current
    if row is None or layout.table.prefix is not None:
        return held
    loaded = runtime_image(layout, {held.key: row}).get(held.key)
    if loaded is None:
        return None
    return held._replace(current=tuple(None if cell is KEEP else cell for cell in loaded))


def _is_other(layout: Layout, one: Difference, other: Difference) -> bool:
    """Return whether two layers differ from the files in different ways.

    For rows in no file, only their presence counts.
    """
    if one.desired is None or other.desired is None:
        return False
    first, second = one.current, other.current
    if first is None or second is None:
        return (first is None) != (second is None)
    return bool({*one.columns, *other.columns} & {*differing(layout, first, second)})


_SHOWN_FIRST = (Layer.RUNTIME, Layer.MEMORY, Layer.DISK)


_LAYERS = tuple(
    tuple(layer for bit, layer in enumerate(_SHOWN_FIRST) if mask & 1 << bit) for mask in range(8)
)
"""The layers that a bit mask stands for."""


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
    """Yield the fields of a new row that differ from the default of a file."""
    for position, (column, cell) in enumerate(zip(layout.columns, desired, strict=True)):
        is_given = cell is not KEEP and (column.is_required or cell != column.file_default)
        if is_given and position not in layout.key_index:
            yield _field(layout, position, None, desired)


def _removed_fields(layout: Layout, current: Row) -> Iterator[FieldChange]:
    """Yield the fields of a row that goes which differ from the default of a file."""
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
