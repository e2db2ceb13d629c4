"""The rows to LOAD that drain or restore a node, and the reasons to refuse. Pure.

A node of a Galera family keeps its hostgroups with weight 0 and max_connections 0: its monitor
would undo OFFLINE_SOFT at the next check, and never makes a node of weight 0 the writer. A writer
swaps places with its heir in the same LOAD, as the monitor would. Other servers get OFFLINE_SOFT.
Source: measured on a three-node Galera cluster and on simulated nodes behind ProxySQL 2.7.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from proxyctl.catalog import Layout, Value
from proxyctl.errors import UsageError
from proxyctl.state.families import (
    Family,
    Node,
    ServerColumns,
    by_hostgroup,
    drain_columns,
    node_text,
    with_cells,
)
from proxyctl.state.placement import heirs, placed_rows, promote
from proxyctl.state.row import Rows
from proxyctl.text import nearest

_LISTED = 8
"""The most nodes that an error lists."""
_WHO_DECIDES = {
    "group_replication": "make another member the primary, or set super_read_only on this one",
    "aurora": "fail over to another instance first",
    "rds_bgd": "switch over the deployment first",
}
"""How to move the writer in a family whose servers elect it."""


@dataclass(frozen=True)
class Standing:
    """The servers as configured and at RUNTIME.

    Shape: `configured` are the rows of MEMORY, which equal those of DISK; `runtime` has no
    OFFLINE_HARD rows. `families` are those whose nodes a monitor moves, `drained` the nodes that
    RUNTIME alone shows drained. `has_peers`: members of a ProxySQL Cluster follow a LOAD.
    """

    layout: Layout
    configured: Rows
    runtime: Rows
    families: tuple[Family, ...] = ()
    drained: frozenset[Node] = frozenset()
    has_peers: bool = False

    @cached_property
    def columns(self) -> ServerColumns:
        """Where the columns stand in a row."""
        return ServerColumns.of(self.layout)

    def find(self, text: str) -> Node:
        """Return the node that a text names.

        Raises: UsageError when there is none, or several.
        """
        rows = (*self.configured.values(), *self.runtime.values())
        nodes = {self.columns.node(row) for row in rows}
        host, _, port = text.rpartition(":")
        fitting = [
            node
            for node in nodes
            if text.strip("[]") == node[0]
            or text == node_text(node)
            or (host.strip("[]"), port) == (node[0], str(node[1]))
        ]
        if len(fitting) == 1:
            return fitting[0]
        names = sorted(map(node_text, fitting or nodes))
        what = "several nodes of that name" if fitting else "no such node"
        raise UsageError(f"{text or repr(text)}: {what}", fix=_fix(text, names))

    def usable(self, rows: Rows, hostgroup: Value) -> set[Node]:
        """Return the nodes to which new queries of a hostgroup go with these rows."""
        columns = self.columns
        return {
            columns.node(row)
            for row in rows.values()
            if row[columns.hostgroup] == hostgroup and columns.takes_queries(row)
        }

    def placed(self, drained: Iterable[Node]) -> Rows:
        """Return the rows whose LOAD moves no node and leaves these nodes drained."""
        return placed_rows(
            self.layout, self.configured, self.runtime, self.families, drained=frozenset(drained)
        )


def _fix(text: str, names: list[str]) -> str | None:
    near = nearest(text, names, cutoff=0.7) if len(names) > _LISTED else None
    if near is not None:
        return f"did you mean {near}?"
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"nodes: {', '.join(names[:_LISTED])}{more}" if names else None


def drained_image(standing: Standing, node: Node) -> Rows:
    """Return the rows whose LOAD drains the node."""
    columns, in_family = standing.columns, by_hostgroup(standing.families)
    image = standing.placed(standing.drained)
    for family in standing.families:
        heir = _heir(standing, family, node, image)
        if heir is not None and node in standing.usable(image, family.writer):
            _swap(standing, family, node, heir, image)
    for key, row in image.items():
        if columns.node(row) != node:
            continue
        family_of_row = in_family.get(row[columns.hostgroup])
        if family_of_row is not None and family_of_row.is_galera:
            image[key] = with_cells(row, {columns.weight: 0, columns.max_connections: 0})
        else:
            image[key] = with_cells(row, {columns.status: "OFFLINE_SOFT"})
    return image


def restored_image(standing: Standing, node: Node) -> Rows:
    """Return the rows whose LOAD restores the node."""
    columns = standing.columns
    image = standing.placed(standing.drained - {node})
    for family in standing.families:
        others = standing.usable(image, family.writer) - {node}
        if family.is_galera:
            if standing.has_peers:
                # The monitor here moves the writer at its next check. A peer takes over what is
                # loaded before that, and would leave the old writer among the backup writers.
                _take_over(standing, family, node, image)
            continue
        for key, row in list(image.items()):
            is_writer = columns.node(row) == node and row[columns.hostgroup] == family.writer
            if is_writer and len(others) >= family.max_writers:
                # It failed over while the node was drained. ONLINE it would be a second writer.
                where = family.reader if family.backup is None else family.backup
                moved = with_cells(row, {columns.hostgroup: where})
                del image[key]
                image[standing.layout.key_of(moved)] = moved
    return image


def _heir(standing: Standing, family: Family, node: Node, image: Rows) -> Node | None:
    """Return the node that the Galera monitor would make the next writer."""
    if not family.is_galera:
        return None
    return next((one for one in heirs(standing.layout, family, image) if one != node), None)


def _take_over(standing: Standing, family: Family, node: Node, image: Rows) -> None:
    """Make the node the writer if it is the heir and outranks the writer. Changes: image."""
    columns = standing.columns
    at_writer = {
        columns.node(row): columns.election(row)
        for row in image.values()
        if row[columns.hostgroup] == family.writer
    }
    writers = [*standing.usable(image, family.writer)]
    is_next = len(writers) == 1 and _heir(standing, family, writers[0], image) == node
    if is_next and at_writer[node] > at_writer[writers[0]]:
        _swap(standing, family, writers[0], node, image)


def _swap(standing: Standing, family: Family, old: Node, heir: Node, image: Rows) -> None:
    """Swap the places of the writer and its heir. Changes: image."""
    columns, layout = standing.columns, standing.layout

    def places(node: Node) -> set[Value]:
        rows = (row for row in image.values() if columns.node(row) == node)
        return {row[columns.hostgroup] for row in rows} & family.hostgroups

    olds, left = places(old), places(heir) - places(old)
    promote(layout, family, heir, olds, image)
    row = next(
        row
        for row in image.values()
        if columns.node(row) == old and row[columns.hostgroup] == family.writer
    )
    statuses = {family.writer: "SHUNNED"} | dict.fromkeys(left, "ONLINE")
    for hostgroup, status in statuses.items():
        placed = with_cells(row, {columns.hostgroup: hostgroup, columns.status: status})
        image[layout.key_of(placed)] = placed


def reasons_against(standing: Standing, node: Node, image: Rows) -> Iterator[str]:
    """Yield the reasons not to load `image`, which drains the node."""
    columns = standing.columns
    if standing.has_peers and any(
        columns.node(row) == node and row[columns.status] == "OFFLINE_SOFT"
        for row in image.values()
    ):
        yield (
            f"the other members of the ProxySQL Cluster take over that {node_text(node)} is"
            " OFFLINE_SOFT, to DISK as well, and an apply at one of them makes it permanent here:"
            " write `status: OFFLINE_SOFT` into the files and apply them"
        )
    yield from _emptied(standing, node, image)


def _emptied(standing: Standing, node: Node, image: Rows) -> Iterator[str]:
    """Yield the hostgroups that would have no usable server once `image` is loaded."""
    in_family = by_hostgroup(standing.families)
    hostgroups = {row[standing.columns.hostgroup] for row in standing.runtime.values()}
    for hostgroup in sorted(hostgroups, key=lambda one: int(one or 0)):
        family = in_family.get(hostgroup)
        if family is not None and hostgroup in (family.offline, family.backup):
            continue
        before = standing.usable(standing.runtime, hostgroup)
        after = standing.usable(image, hostgroup)
        if before and not after:
            why = _WHO_DECIDES.get(family.kind, "") if family and hostgroup == family.writer else ""
            fix = f": {why}" if why else ""
            yield f"{node_text(node)} is the last usable server of hostgroup {hostgroup}{fix}"
        elif family is not None and hostgroup == family.reader and before:
            yield from _writer_stays_alone(standing, family, node, image)


def _writer_stays_alone(
    standing: Standing, family: Family, node: Node, image: Rows
) -> Iterator[str]:
    """Yield the reason that the monitor would make the last reader the writer."""
    if not family.is_galera or family.writer_is_also_reader == 1:
        return
    columns = standing.columns
    others = {
        columns.node(row)
        for row in image.values()
        if row[columns.hostgroup] in family.hostgroups - {family.offline}
        and columns.takes_queries(row)
    }
    if len(others - {node}) < 2:
        yield (
            f"hostgroup {family.reader} would have no usable server: its last other node becomes"
            " the writer"
        )


def configured_out(standing: Standing, node: Node) -> bool:
    """Return whether the configuration itself keeps new connections from the node."""
    columns = standing.columns
    rows = [row for row in standing.configured.values() if columns.node(row) == node]
    return bool(rows) and all(drain_columns(columns, row) for row in rows)
