"""Compares the servers at RUNTIME with the desired ones. Pure.

Inside a family the monitor places the nodes, so only membership and attributes count there.
Elsewhere rows are compared exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from proxyctl.catalog import Layout, Value
from proxyctl.state.compare import Difference, differing
from proxyctl.state.families import (
    Family,
    Node,
    ServerColumns,
    by_hostgroup,
    drain_columns,
    families_of,
    main_hostgroup,
)
from proxyctl.state.row import DesiredRow, Key, Row, Rows

AnyRow = TypeVar("AnyRow", Row, DesiredRow)


def _same_status(current: object, desired: object) -> bool:
    """Return whether a status at RUNTIME agrees with a configured one.

    ProxySQL itself changes ONLINE to SHUNNED and back.
    """
    one, other = str(current).upper(), str(desired).upper()
    return one == other or (one.startswith("SHUNNED") and other in ("ONLINE", "SHUNNED"))


@dataclass
class ServersVerdict:
    """The result. `discovered`: nodes that the monitor added, which are left alone."""

    differences: list[Difference]
    discovered: list[Node]


@dataclass
class _Servers(Generic[AnyRow]):
    """Server rows, those of families apart from all others.

    Shape: `outside` by key; `nodes` with every row of a node in its family, and its key.
    """

    outside: dict[Key, AnyRow]
    nodes: dict[tuple[Family, Node], list[tuple[Key, AnyRow]]]


def _divided(
    columns: ServerColumns, rows: Mapping[Key, AnyRow], families: Mapping[Value, Family]
) -> _Servers[AnyRow]:
    found: _Servers[AnyRow] = _Servers({}, {})
    for key, row in rows.items():
        family = families.get(row[columns.hostgroup])  # type: ignore[arg-type]
        if family is None:
            found.outside[key] = row
        else:
            found.nodes.setdefault((family, columns.node(row)), []).append((key, row))
    return found


@dataclass(frozen=True)
class _Comparison:
    """The parameters of a comparison. `is_owned` decides about rows in no file."""

    layout: Layout
    columns: ServerColumns
    is_owned: Callable[[Key], bool]
    ignored: frozenset[int]
    drained: Collection[Node]

    def held(self, current: Row) -> frozenset[int]:
        """Return the columns by which a RUNTIME row of a drained node is drained."""
        is_drained = self.columns.node(current) in self.drained
        return drain_columns(self.columns, current) if is_drained else frozenset()

    def changed(self, current: Row, desired: DesiredRow) -> tuple[int, ...]:
        """Return the attributes that differ between a RUNTIME row and a configured one."""
        status = self.columns.status
        is_same = _same_status(current[status], desired[status])
        return tuple(
            position
            for position in differing(self.layout, current, desired)
            if position not in self.ignored and not (position == status and is_same)
        )


def compare_servers(
    layout: Layout,
    runtime: Rows,
    desired: Mapping[Key, DesiredRow],
    families: Iterable[Family],
    *,
    owned: Mapping[Key, bool] | None = None,
    ignored: frozenset[int] = frozenset(),
    drained: Collection[Node] = (),
) -> ServersVerdict:
    """Compare RUNTIME with the desired rows: by family where the monitor places, else exactly.

    `runtime` without OFFLINE_HARD rows: they count as absent. `owned` tells for keys that stand
    only at RUNTIME whether they would be deleted (default: all). `drained` nodes do not differ by
    what drains them.

    Shape: a difference for every row of a node that is not as configured. Its key is the configured
    row's, so that one key may come several times, with another `current` each time.
    """

    def is_owned(key: Key) -> bool:
        return owned is None or owned.get(key, True)

    columns = ServerColumns.of(layout)
    comparison = _Comparison(layout, columns, is_owned, ignored, drained)
    in_family = by_hostgroup(families_of(layout, families))
    current, wanted = _divided(columns, runtime, in_family), _divided(columns, desired, in_family)
    verdict = ServersVerdict([], [])
    verdict.differences.extend(_outside_families(comparison, current.outside, wanted.outside))
    for place, configured in wanted.nodes.items():
        _compare_node(comparison, place[0], current.nodes.get(place, []), configured, verdict)
    for place, rows in current.nodes.items():
        if place not in wanted.nodes:
            _foreign_node(comparison, place, rows, verdict)
    return verdict


def _outside_families(
    comparison: _Comparison,
    current: Rows,
    wanted: Mapping[Key, DesiredRow],
) -> Iterator[Difference]:
    """Yield the differences of rows outside families."""
    for key, row in current.items():
        if key not in wanted and comparison.is_owned(key):
            yield Difference(key, row, None)
    for key, configured in wanted.items():
        found = current.get(key)
        if found is None:
            yield Difference(key, None, configured)
            continue
        held = comparison.held(found)
        if changed := tuple(p for p in comparison.changed(found, configured) if p not in held):
            yield Difference(key, found, configured, changed)


def _compare_node(
    comparison: _Comparison,
    family: Family,
    current: list[tuple[Key, Row]],
    wanted: list[tuple[Key, DesiredRow]],
    verdict: ServersVerdict,
) -> None:
    """Compare one node of a family: it must be present, with the configured attributes.

    Changes: verdict.
    """
    columns = comparison.columns
    if not current:
        verdict.differences.extend(Difference(key, None, row) for key, row in wanted)
        return
    where = {row[columns.hostgroup]: (key, row) for key, row in wanted}
    main = where[main_hostgroup(family, where)]
    skip = {columns.hostgroup} | ({columns.status} if family.is_galera else set())
    for _, row in current:
        key, configured = where.get(row[columns.hostgroup], main)
        held = comparison.held(row)
        found = comparison.changed(row, configured)
        changed = [position for position in found if position not in skip | held]
        if changed:
            verdict.differences.append(Difference(key, row, configured, tuple(changed)))


def _foreign_node(
    comparison: _Comparison,
    place: tuple[Family, Node],
    rows: list[tuple[Key, Row]],
    verdict: ServersVerdict,
) -> None:
    """Judge a node of a family that is in no file. Changes: verdict."""
    family, node = place
    if family.discovers:
        verdict.discovered.append(node)
        return
    verdict.differences.extend(
        Difference(key, row, None) for key, row in rows if comparison.is_owned(key)
    )
