"""The rows to LOAD that drain or restore a node, and the reasons to refuse. Pure.

A node of a Galera family keeps its hostgroups with weight 0 and max_connections 0: the monitor
would undo OFFLINE_SOFT at the next check, and it never makes a node of weight 0 the writer. A
writer and its heir swap hostgroups in the same LOAD, as the monitor would swap them. Other servers
get OFFLINE_SOFT.
Source: measured on a three-node Galera cluster and on simulated nodes behind ProxySQL 2.7.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

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
from proxyctl.state.row import Key, Rows
from proxyctl.text import nearest

_LISTED = 8
"""The most nodes that an error lists."""
_WHO_DECIDES = {
    "group_replication": "make another member the primary, or set super_read_only on this one",
    "aurora": "fail over to another instance first",
    "rds_bgd": "switch over the deployment first",
}
"""How to move the writer in a family whose servers elect the writer."""


@dataclass(frozen=True)
class ServerState:
    """The servers as configured and at RUNTIME.

    Shape: `configured` are the rows of MEMORY, which equal those of DISK; `runtime` has no
    OFFLINE_HARD rows. `families`: the families whose nodes a monitor moves. `drained`: the nodes
    that RUNTIME alone shows drained. `shunned`: the keys of the servers that ProxySQL leaves
    SHUNNED. `has_peers`: members of a ProxySQL Cluster follow a LOAD.
    """

    layout: Layout
    configured: Rows
    runtime: Rows
    families: tuple[Family, ...] = ()
    drained: frozenset[Node] = frozenset()
    shunned: frozenset[Key] = frozenset()
    has_peers: bool = False

    @cached_property
    def columns(self) -> ServerColumns:
        """The positions of the columns in a row."""
        return ServerColumns.of(self.layout)

    def find(self, text: str) -> Node:
        """Return the node that a text names. Raises: UsageError when it names none or several."""
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
        problem = "several nodes of that name" if fitting else "no such node"
        raise UsageError(f"{text or repr(text)}: {problem}", fix=_fix(text, names))

    def usable(self, rows: Rows, hostgroup: Value) -> set[Node]:
        """Return the nodes of a hostgroup that take new queries with these rows."""
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
    nearest_name = nearest(text, names, cutoff=0.7) if len(names) > _LISTED else None
    if nearest_name is not None:
        return f"did you mean {nearest_name}?"
    remainder = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"nodes: {', '.join(names[:_LISTED])}{remainder}" if names else None


def drained_image(state: ServerState, node: Node) -> Rows:
    """Return the rows whose LOAD drains the node."""
    columns, in_family = state.columns, by_hostgroup(state.families)
    image = state.placed(state.drained)
    for family in state.families:
        heir = _heir(state, family, node, image)
        if heir is not None and node in state.usable(image, family.writer):
            _swap(state, family, node, heir, image)
    for key, row in image.items():
        if columns.node(row) != node:
            continue
        family_of_row = in_family.get(row[columns.hostgroup])
        if family_of_row is not None and family_of_row.is_galera:
            image[key] = with_cells(row, {columns.weight: 0, columns.max_connections: 0})
        else:
            image[key] = with_cells(row, {columns.status: "OFFLINE_SOFT"})
    return image


def restored_image(state: ServerState, node: Node) -> Rows:
    """Return the rows whose LOAD restores the node."""
    columns = state.columns
    image = state.placed(state.drained - {node})
    for family in state.families:
        writers = state.usable(image, family.writer) - {node}
        if family.is_galera:
            if state.has_peers:
                # The monitor would move the writer only at its next check. A peer takes the LOAD
                # over before that, and would leave the old writer among the backup writers.
                _take_over(state, family, node, image)
            continue
        for key, row in list(image.items()):
            is_writer = columns.node(row) == node and row[columns.hostgroup] == family.writer
            if is_writer and len(writers) >= family.max_writers:
                # The family failed over during the drain: this node would be a second writer.
                hostgroup = family.reader if family.backup is None else family.backup
                moved = with_cells(row, {columns.hostgroup: hostgroup})
                del image[key]
                image[state.layout.key_of(moved)] = moved
    return image


def _heir(state: ServerState, family: Family, node: Node, image: Rows) -> Node | None:
    """Return the node that the Galera monitor would make the next writer."""
    if not family.is_galera:
        return None
    return next((heir for heir in heirs(state.layout, family, image) if heir != node), None)


def _take_over(state: ServerState, family: Family, node: Node, image: Rows) -> None:
    """Make the node the writer if it is the heir and outranks the writer. Changes: `image`."""
    columns = state.columns
    at_writer = {
        columns.node(row): columns.election(row)
        for row in image.values()
        if row[columns.hostgroup] == family.writer
    }
    writers = [*state.usable(image, family.writer)]
    is_next = len(writers) == 1 and _heir(state, family, writers[0], image) == node
    if is_next and at_writer[node] > at_writer[writers[0]]:
        _swap(state, family, writers[0], node, image)


def _swap(state: ServerState, family: Family, writer: Node, heir: Node, image: Rows) -> None:
    """Swap the hostgroups of the writer and its heir. Changes: `image`."""
    columns, layout = state.columns, state.layout

    def places(node: Node) -> set[Value]:
        rows = (row for row in image.values() if columns.node(row) == node)
        return {row[columns.hostgroup] for row in rows} & family.hostgroups

    writer_places, heir_only = places(writer), places(heir) - places(writer)
    promote(layout, family, heir, writer_places, image)
    row = next(
        row
        for row in image.values()
        if columns.node(row) == writer and row[columns.hostgroup] == family.writer
    )
    statuses = {family.writer: "SHUNNED"} | dict.fromkeys(heir_only, "ONLINE")
    for hostgroup, status in statuses.items():
        moved = with_cells(row, {columns.hostgroup: hostgroup, columns.status: status})
        image[layout.key_of(moved)] = moved


class Objection(NamedTuple):
    """A reason not to drain a node, and the safe way."""

    reason: str
    fix: str


_ANOTHER = "restore or add another node there first"


def objections(state: ServerState, node: Node, image: Rows) -> Iterator[Objection]:
    """Yield the reasons not to load `image`, which drains the node."""
    columns = state.columns
    if state.has_peers and any(
        columns.node(row) == node and row[columns.status] == "OFFLINE_SOFT"
        for row in image.values()
    ):
        yield Objection(
            f"the other members of the ProxySQL Cluster take over that {node_text(node)} is"
            " OFFLINE_SOFT, to DISK as well, and an apply at one of them makes it permanent here",
            "write `status: OFFLINE_SOFT` into the files and apply them",
        )
    yield from _emptied(state, node, image)


def _emptied(state: ServerState, node: Node, image: Rows) -> Iterator[Objection]:
    """Yield the hostgroups that would have no usable server once `image` is loaded."""
    in_family = by_hostgroup(state.families)
    hostgroups = {row[state.columns.hostgroup] for row in state.runtime.values()}
    for hostgroup in sorted(hostgroups, key=lambda h: int(h or 0)):
        family = in_family.get(hostgroup)
        if family is not None and hostgroup in (family.offline, family.backup):
            continue
        before = state.usable(state.runtime, hostgroup)
        after = state.usable(image, hostgroup)
        if before and not after:
            fix = _ANOTHER
            if family is not None and hostgroup == family.writer:
                fix = _WHO_DECIDES.get(family.kind, fix)
            text = f"{node_text(node)} is the last usable server of hostgroup {hostgroup}"
            yield Objection(text, fix)
        elif family is not None and hostgroup == family.reader and before:
            yield from _writer_stays_alone(state, family, node, image)


def _writer_stays_alone(
    state: ServerState, family: Family, node: Node, image: Rows
) -> Iterator[Objection]:
    """Yield a reason if the monitor would make the last reader the writer."""
    if not family.is_galera or family.writer_is_also_reader == 1:
        return
    columns = state.columns
    usable = {
        columns.node(row)
        for row in image.values()
        if row[columns.hostgroup] in family.hostgroups - {family.offline}
        and columns.takes_queries(row)
    }
    if len(usable - {node}) < 2:
        yield Objection(
            f"hostgroup {family.reader} would have no usable server: its last other node becomes"
            " the writer",
            _ANOTHER,
        )


def configured_out(state: ServerState, node: Node) -> bool:
    """Return whether the configuration itself keeps new connections from the node."""
    columns = state.columns
    rows = [row for row in state.configured.values() if columns.node(row) == node]
    return bool(rows) and all(drain_columns(columns, row) for row in rows)
