"""Puts the rows of servers together by node, and nodes by family."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from proxyctl.catalog import Layout, Value
from proxyctl.families import Family, Node, ServerColumns
from proxyctl.nodes.model import Check, Connections, NodeGroup, NodeView, Place, Said
from proxyctl.state import Key, Row, Rows


def node_groups(
    layout: Layout,
    memory: Rows,
    runtime: Rows,
    families: Iterable[Family],
    connections: Mapping[Key, Connections],
    checks: Mapping[Node, Check],
) -> tuple[NodeGroup, ...]:
    """Return the nodes, by family or hostgroup, sorted by hostgroup, host and port.

    `layout` is that of mysql_servers; `connections` is keyed by hostgroup, host and port.
    """
    columns = ServerColumns.of(layout)
    in_family = {hostgroup: family for family in families for hostgroup in family.hostgroups}
    views: dict[tuple[Value, ...], dict[Node, NodeView]] = {}

    def view_of(row: Row) -> tuple[dict[Node, NodeView], NodeView]:
        hostgroup, node = row[columns.hostgroup], columns.node(row)
        family = in_family.get(hostgroup)
        group = (hostgroup,) if family is None else _in_order(family)
        nodes = views.setdefault(group, {})
        return nodes, nodes.get(node) or NodeView(node, check=checks.get(node, Check()))

    for row in memory.values():
        nodes, view = view_of(row)
        place = _place(columns, row)
        nodes[view.node] = replace(view, configured=(*view.configured, place))
    for key, row in runtime.items():
        place = _place(columns, row, connections.get(key, Connections()))
        if place.status == "OFFLINE_HARD" and not place.connections.used:
            continue
        nodes, view = view_of(row)
        nodes[view.node] = replace(view, runtime=(*view.runtime, place))

    return tuple(
        NodeGroup(
            hostgroups,
            in_family.get(hostgroups[0]),
            tuple(_sorted(nodes[node], hostgroups) for node in sorted(nodes, key=_sortable)),
        )
        for hostgroups, nodes in sorted(views.items(), key=lambda item: _sortable(item[0]))
    )


def with_answers(groups: Iterable[NodeGroup], said: Mapping[Node, Said]) -> tuple[NodeGroup, ...]:
    """Return the groups with what the nodes said of themselves."""
    return tuple(
        replace(
            group,
            nodes=tuple(replace(view, said=said.get(view.node)) for view in group.nodes),
        )
        for group in groups
    )


def _in_order(family: Family) -> tuple[Value, ...]:
    """Return the hostgroups of a family, its writers' first."""
    rest = sorted(family.hostgroups - {family.writer}, key=lambda one: int(one or 0))
    return (family.writer, *rest)


def _place(columns: ServerColumns, row: Row, connections: Connections | None = None) -> Place:
    return Place(
        row[columns.hostgroup],
        str(row[columns.status]).upper(),
        row[columns.weight],
        row[columns.max_connections],
        connections or Connections(),
    )


def _sorted(view: NodeView, hostgroups: tuple[Value, ...]) -> NodeView:
    def position(place: Place) -> int:
        return hostgroups.index(place.hostgroup)

    return replace(
        view,
        configured=tuple(sorted(view.configured, key=position)),
        runtime=tuple(sorted(view.runtime, key=position)),
    )


def _sortable(cells: tuple[Value, ...]) -> tuple[tuple[int, int, str], ...]:
    return tuple((0, cell, "") if isinstance(cell, int) else (1, 0, str(cell)) for cell in cells)
