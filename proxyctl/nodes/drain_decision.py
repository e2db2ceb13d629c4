"""The rows to LOAD that drain or restore a node, and the reasons to refuse. Pure.

A node of a Galera family keeps its hostgroups with weight 0 and max_connections 0: the monitor
would undo OFFLINE_SOFT at the next check, and it never makes a node of weight 0 the writer. A
writer and its heir swap hostgroups in the same LOAD, as the monitor would swap them. Other servers
get OFFLINE_SOFT.
Source: measured on a three-node Galera cluster and on simulated nodes behind ProxySQL 2.7.1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from proxyctl.catalog import Layout, Value
from proxyctl.errors import UsageError
from proxyctl.proxysql.placement import heirs, placed_rows, promote
from proxyctl.proxysql.servers import Server, server_reader
from proxyctl.proxysql.topology import Family, Node, Topology, node_text
from proxyctl.rows.row import Key, Row, Rows, replace_cells
from proxyctl.text import nearest, printable

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
    """The servers as configured and at RUNTIME."""

    layout: Layout
    """The layout of the table of servers."""
    configured: Rows
    """The rows of MEMORY, which equal those of DISK."""
    runtime: Rows
    """The rows of RUNTIME, without OFFLINE_HARD rows."""
    topology: Topology = Topology()
    """The families whose nodes a monitor moves."""
    drained: frozenset[Node] = frozenset()
    """The nodes that RUNTIME alone shows drained."""
    shunned: frozenset[Key] = frozenset()
    """The keys of the servers that ProxySQL leaves SHUNNED."""
    has_peers: bool = False
    """Whether members of a ProxySQL Cluster follow a LOAD."""

    @cached_property
    def read(self) -> Callable[[Row], Server]:
        """The function that reads a row."""
        return server_reader(self.layout)

    def find(self, text: str) -> Node:
        """Return the node that a text names. Raises: UsageError when it names none or several."""
        rows = (*self.configured.values(), *self.runtime.values())
        return find_node(text, comments_by_node(self.layout, rows))

    def usable(self, rows: Rows, hostgroup: Value) -> set[Node]:
        """Return the nodes of a hostgroup that take new queries with these rows."""
        servers = map(self.read, rows.values())
        return {
            server.node for server in servers if server.hostgroup == hostgroup and server.serves
        }

    def placed(self, drained: Iterable[Node]) -> Rows:
        """Return the rows whose LOAD moves no node and leaves these nodes drained."""
        return placed_rows(
            self.layout, self.configured, self.runtime, self.topology, drained=frozenset(drained)
        )


def comments_by_node(layout: Layout, rows: Iterable[Row]) -> dict[Node, set[str]]:
    """Return the comments of each node; a node without comments has an empty set."""
    read, comment = server_reader(layout), layout.index["comment"]
    comments: dict[Node, set[str]] = {}
    for row in rows:
        comments.setdefault(read(row).node, set()).update({str(row[comment])} - {""})
    return comments


def find_node(text: str, nodes: Mapping[Node, Collection[str]]) -> Node:
    """Return the node that a text names, by its address or, if no address fits, by a comment.

    `nodes`: the comments of each node. Raises: UsageError when it names none or several.
    """
    host, _, port = text.rpartition(":")
    fitting = [
        node
        for node in nodes
        if text.strip("[]") == node[0]
        or text == node_text(node)
        or (host.strip("[]"), port) == (node[0], str(node[1]))
    ] or [node for node, comments in nodes.items() if text in comments]
    if len(fitting) == 1:
        return fitting[0]
    problem = "several nodes with that name" if fitting else "no such node"
    chosen = {node_text(node): nodes[node] for node in fitting or nodes}
    raise UsageError(
        f"{text or repr(text)}: {problem}", fix=_fix(text, dict(sorted(chosen.items())))
    )


def _fix(text: str, comments: Mapping[str, Collection[str]]) -> str | None:
    nearest_name = nearest(text, comments, cutoff=0.7) if len(comments) > _LISTED else None
    if nearest_name is not None:
        return f"did you mean {nearest_name}?"
    names = [
        name + (f" ({', '.join(map(printable, sorted(node_comments)))})" if node_comments else "")
        for name, node_comments in comments.items()
    ]
    remainder = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"choose from {', '.join(names[:_LISTED])}{remainder}" if names else None


def drained_image(state: ServerState, node: Node) -> Rows:
    """Return the rows whose LOAD drains the node."""
    image = state.placed(state.drained)
    for family in state.topology.families:
        heir = _heir(state, family, node, image)
        if heir is not None and node in state.usable(image, family.writer):
            _swap(state, family, node, heir, image)
    for key, row in image.items():
        server = state.read(row)
        if server.node != node:
            continue
        family_of_row = state.topology.family_of(server.hostgroup)
        if family_of_row is not None and family_of_row.is_galera:
            image[key] = replace_cells(state.layout, row, weight=0, max_connections=0)
        else:
            image[key] = replace_cells(state.layout, row, status="OFFLINE_SOFT")
    return image


def restored_image(state: ServerState, node: Node) -> Rows:
    """Return the rows whose LOAD restores the node."""
    image = state.placed(state.drained - {node})
    for family in state.topology.families:
        writers = state.usable(image, family.writer) - {node}
        if family.is_galera:
            if state.has_peers:
                # The monitor would move the writer only at its next check. A peer copies the LOAD
                # before that, and would leave the old writer among the backup writers.
                _replace_writer(state, family, node, image)
            continue
        for key, row in list(image.items()):
            is_writer = (family.writer, *node) == state.read(row).key
            if is_writer and len(writers) >= family.max_writers:
                # The family failed over during the drain: this node would be a second writer.
                hostgroup = family.reader if family.backup is None else family.backup
                moved = replace_cells(state.layout, row, hostgroup_id=hostgroup)
                del image[key]
                image[state.layout.key_of(moved)] = moved
    return image


def _heir(state: ServerState, family: Family, node: Node, image: Rows) -> Node | None:
    """Return the node that the Galera monitor would make the next writer."""
    if not family.is_galera:
        return None
    return next((heir for heir in heirs(state.layout, family, image) if heir != node), None)


def _replace_writer(state: ServerState, family: Family, node: Node, image: Rows) -> None:
    """Make the node the writer if it is the heir and outranks the writer. Changes: `image`."""
    servers = map(state.read, image.values())
    ranks = {server.node: server.rank for server in servers if server.hostgroup == family.writer}
    writers = [*state.usable(image, family.writer)]
    is_next = len(writers) == 1 and _heir(state, family, writers[0], image) == node
    if is_next and ranks[node] > ranks[writers[0]]:
        _swap(state, family, writers[0], node, image)


def _swap(state: ServerState, family: Family, writer: Node, heir: Node, image: Rows) -> None:
    """Swap the hostgroups of the writer and its heir. Changes: `image`."""
    read, layout = state.read, state.layout

    def hostgroups_of(node: Node) -> set[int]:
        servers = map(read, image.values())
        return {server.hostgroup for server in servers if server.node == node} & family.hostgroups

    of_writer = hostgroups_of(writer)
    of_heir_only = hostgroups_of(heir) - of_writer
    promote(layout, family, heir, of_writer, image)
    row = next(row for row in image.values() if read(row).key == (family.writer, *writer))
    statuses = {family.writer: "SHUNNED"} | dict.fromkeys(of_heir_only, "ONLINE")
    for hostgroup, status in statuses.items():
        moved = replace_cells(layout, row, hostgroup_id=hostgroup, status=status)
        image[layout.key_of(moved)] = moved


class Objection(NamedTuple):
    """A reason not to drain a node, and the safe way."""

    reason: str
    fix: str


_ANOTHER = "restore or add another node there first"


def objections(state: ServerState, node: Node, image: Rows) -> Iterator[Objection]:
    """Yield the reasons not to load `image`, which drains the node."""
    servers = map(state.read, image.values())
    if state.has_peers and any(
        server.node == node and server.status == "OFFLINE_SOFT" for server in servers
    ):
        yield Objection(
            f"the other members of the ProxySQL Cluster will copy the OFFLINE_SOFT of"
            f" {node_text(node)}, also to DISK, and an apply on one of them will make it permanent"
            " here",
            "write `status: OFFLINE_SOFT` in the files and apply them",
        )
    yield from _emptied(state, node, image)


def _emptied(state: ServerState, node: Node, image: Rows) -> Iterator[Objection]:
    """Yield the hostgroups that would have no usable server once `image` is loaded."""
    hostgroups = {state.read(row).hostgroup for row in state.runtime.values()}
    for hostgroup in sorted(hostgroups):
        family = state.topology.family_of(hostgroup)
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
    servers = map(state.read, image.values())
    serving = family.hostgroups - {family.offline}
    usable = {server.node for server in servers if server.hostgroup in serving and server.serves}
    if len(usable - {node}) < 2:
        yield Objection(
            f"hostgroup {family.reader} would have no usable server: its last other node would"
            " become the writer",
            _ANOTHER,
        )


def configured_out(state: ServerState, node: Node) -> bool:
    """Return whether the configuration itself keeps new connections from the node."""
    servers = [
        server for server in map(state.read, state.configured.values()) if server.node == node
    ]
    return bool(servers) and all(server.drained_by for server in servers)
