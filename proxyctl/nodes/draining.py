"""What to load so that a node is drained, and what would be left without a server then. Pure.

OFFLINE_SOFT drains a server where no Galera monitor places it; that one would undo it at once. A
node of a Galera family keeps its places and gets max_connections 0, and weight 0 lest the monitor
make it the writer. A writer is moved before, by weight: nobody would serve writes until the next
check otherwise. Aurora's monitor makes a reader ONLINE that comes back after a reboot: there it is
max_connections 0, too. Group replication keeps OFFLINE_SOFT, also of a node that goes and comes.
Source: measured on a three-node Galera cluster, and on simulated nodes of the others, behind
ProxySQL 2.7.1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from proxyctl.catalog import Layout, Value
from proxyctl.families import Family, Node, ServerColumns
from proxyctl.state import Key, Row, Rows

_SERVERS_CHOOSE = {
    "group_replication": "make another member the primary, or set super_read_only on this one",
    "aurora": "fail over to another instance first",
}
"""Families whose servers decide who writes, and how it is moved there."""


@dataclass(frozen=True)
class Standing:
    """The servers as RUNTIME has them, and the families among which the monitor moves them.

    `is_monitored` False: the monitor is off, and every node stays where it was placed last.
    `too_slow`: rows of RUNTIME that ProxySQL sends nothing, since pings take too long.
    """

    layout: Layout
    runtime: Rows
    families: tuple[Family, ...]
    is_monitored: bool = True
    too_slow: frozenset[Key] = frozenset()

    @property
    def columns(self) -> ServerColumns:
        """Where the columns stand in a row."""
        return ServerColumns.of(self.layout)

    def once_loaded(self, image: Rows) -> Standing:
        """Return the servers that are here once a LOAD takes these rows; new ones do not count.

        Whether a server is unwell does not hang on the LOAD.
        """
        columns, rows = self.columns, dict[Key, Row]()
        for key in self.runtime.keys() & image.keys():
            row, loaded = self.runtime[key], image[key]
            status = row[columns.status]
            if not (_is(status, "SHUNNED") and _is(loaded[columns.status], "ONLINE")):
                status = loaded[columns.status]
            kept = {
                position: loaded[position] for position in (columns.weight, columns.max_connections)
            }
            rows[key] = _with(row, {columns.status: status, **kept})
        return replace(self, runtime=rows)

    def whatever_pings_take(self) -> Standing:
        """Return the servers as if each answered pings in time."""
        return replace(self, too_slow=frozenset())

    def family_of(self, hostgroup: Value) -> Family | None:
        """Return the family that a hostgroup belongs to."""
        return next((one for one in self.families if hostgroup in one.hostgroups), None)

    def usable(self, hostgroup: Value) -> frozenset[Node]:
        """Return the nodes to which new queries of a hostgroup may go."""
        columns = self.columns
        return frozenset(
            columns.node(row)
            for row in self.runtime.values()
            if row[columns.hostgroup] == hostgroup and self._is_usable(row)
        )

    def served_by(self, node: Node) -> frozenset[Value]:
        """Return the hostgroups whose new queries may go to the node, without offline ones."""
        columns = self.columns
        offline = {family.offline for family in self.families}
        return frozenset(
            row[columns.hostgroup]
            for row in self.runtime.values()
            if columns.node(row) == node and self._is_usable(row)
        ) - frozenset(offline)

    def is_too_slow(self, node: Node, hostgroup: Value) -> bool:
        """Return whether ProxySQL would send the node nothing there, were it ONLINE."""
        return any(
            row[self.columns.hostgroup] == hostgroup
            and self.columns.node(row) == node
            and self.layout.key_of(row) in self.too_slow
            for row in self.runtime.values()
        )

    def _is_usable(self, row: Row) -> bool:
        columns = self.columns
        is_slow = bool(self.too_slow) and self.layout.key_of(row) in self.too_slow
        return _is(row[columns.status], "ONLINE") and _may_serve(columns, row) and not is_slow

    def successor(self, family: Family, node: Node) -> Node | None:
        """Return who writes after the node, None if it is no writer or nobody waits to be one.

        Nobody follows while the monitor is off. How long pings take is nothing to the monitor.
        """
        if self.too_slow:
            return self.whatever_pings_take().successor(family, node)
        if not (self.is_monitored and family.is_galera and node in self.usable(family.writer)):
            return None
        columns = self.columns
        waiting = [
            row
            for row in self.runtime.values()
            if row[columns.hostgroup] == family.writer
            and row[columns.status] == "SHUNNED"
            and _may_serve(columns, row)
            and self.served_by(columns.node(row)) & family.hostgroups
        ]
        best = max(waiting, key=columns.election, default=None)
        return None if best is None else columns.node(best)


def _is(status: Value, name: str) -> bool:
    return str(status).upper() == name


def _may_serve(columns: ServerColumns, row: Row) -> bool:
    return row[columns.max_connections] != 0 and row[columns.weight] != 0


def undrainable(standing: Standing, node: Node, configured: Collection[Node]) -> str | None:
    """Return why ProxySQL cannot drain the node where other monitors place it, None if it can.

    Nobody but the servers decides who writes there; ProxySQL would have no writer meanwhile. In a
    group where several may write, a node that comes back would write beside the one that followed.
    While the monitor is off nobody follows.
    """
    columns = standing.columns
    for row in standing.runtime.values():
        family = standing.family_of(row[columns.hostgroup])
        if columns.node(row) != node or family is None or family.kind not in _SERVERS_CHOOSE:
            continue
        if node not in configured:
            return "was discovered by the monitor: put it into mysql_servers first"
        if standing.is_monitored and row[columns.hostgroup] in (family.writer, family.backup):
            return f"may write (hostgroup {row[columns.hostgroup]}): {_SERVERS_CHOOSE[family.kind]}"
    return None


def last_of_family(standing: Standing, node: Node) -> Family | None:
    """Return the family in which every other node is drained, whoever serves at the moment.

    A monitor that does not get through keeps all nodes from serving; once it does, one must be
    there that takes connections.
    """
    columns = standing.columns
    for family in standing.families:
        rows = [
            row for row in standing.runtime.values() if row[columns.hostgroup] in family.hostgroups
        ]
        there = {columns.node(row) for row in rows}
        others = {columns.node(row) for row in rows if _may_serve(columns, row)} - {node}
        if node in there and len(there) > 1 and not others:
            return family
    return None


def left_without(
    standing: Standing, node: Node, used: Collection[Value]
) -> tuple[list[Value], list[Value]]:
    """Return the hostgroups of the node without a server once it is drained, and those to warn of.

    The second list has those that the heir of a writer leaves. `used`: hostgroups that rules and
    users send traffic to. Backup writers' hostgroups count only if used.
    """
    served = standing.served_by(node)
    empty = {
        hostgroup
        for hostgroup in served
        if standing.usable(hostgroup) <= {node} and _counts(standing, hostgroup, used)
    }
    leaves: set[Value] = set()
    places = standing.whatever_pings_take().served_by(node)
    for family in standing.families:
        heir = standing.successor(family, node)
        if heir is None:
            continue
        if not standing.is_too_slow(heir, family.writer):
            empty.discard(family.writer)
        # The heir takes the places of the node, and gives up those that a writer has not.
        for hostgroup in (standing.served_by(heir) & family.hostgroups) - places:
            if standing.usable(hostgroup) <= {heir} and _counts(standing, hostgroup, used):
                leaves.add(hostgroup)
    return in_order(empty), in_order(leaves)


def lost_with_edits(standing: Standing, loaded: Standing, used: Collection[Value]) -> list[Value]:
    """Return the hostgroups that have a server now and none once this is loaded.

    `used`: hostgroups that rules and users send traffic to. Others count where a monitor places
    nodes to serve there.
    """
    families = standing.families
    served = {*used, *(one.writer for one in families), *(one.reader for one in families)}
    lost = (one for one in served if standing.usable(one) and not loaded.usable(one))
    return in_order(lost)


def _counts(standing: Standing, hostgroup: Value, used: Collection[Value]) -> bool:
    family = standing.family_of(hostgroup)
    return family is None or hostgroup != family.backup or hostgroup in used


def in_order(hostgroups: Iterable[Value]) -> list[Value]:
    """Return the hostgroups by number."""
    return sorted(hostgroups, key=lambda one: int(one or 0))


def moving_families(standing: Standing, node: Node) -> list[Family]:
    """Return the families in which another node has to become the writer first.

    One cluster may stand in several: each application with hostgroups of its own.
    """
    return [
        family
        for family in standing.families
        if standing.usable(family.writer) == {node} and standing.successor(family, node) is not None
    ]


def with_another_writer(
    standing: Standing, placed: Rows, families: Iterable[Family], node: Node
) -> Rows:
    """Return the placed rows with weights by which the monitor makes the successors the writers.

    The node never weighs 0 here: until the monitor's next check it is the only one to write on.
    """
    columns, layout = standing.columns, standing.layout
    result = dict(placed)
    for family in families:
        heir = standing.successor(family, node)
        rows = [row for row in placed.values() if row[columns.hostgroup] in family.hostgroups]
        weights = {
            columns.node(row): int(row[columns.weight] or 0)
            for row in rows
            if row[columns.hostgroup] == family.writer
        }
        if heir is None or heir not in weights or node not in weights:
            continue
        ours = max(1, min(weights[node], weights[heir] - 1))
        wanted = {node: ours, heir: max(weights[heir], ours + 1)}
        for row in rows:
            if columns.node(row) in wanted:
                changed = _with(row, {columns.weight: wanted[columns.node(row)]})
                result[layout.key_of(changed)] = changed
    return result


def with_drained(standing: Standing, placed: Rows, node: Node) -> Rows:
    """Return the placed rows with the node drained in all its hostgroups."""
    columns = standing.columns
    result = dict(placed)
    for key, row in placed.items():
        if columns.node(row) != node:
            continue
        family = standing.family_of(row[columns.hostgroup])
        if family is not None and family.is_drained_by_limit:
            limited = [columns.max_connections, *([columns.weight] if family.is_galera else [])]
            result[key] = _with(row, dict.fromkeys(limited, 0))
        else:
            result[key] = _with(row, {columns.status: "OFFLINE_SOFT"})
    return result


def without_second_writer(standing: Standing, placed: Rows, node: Node) -> Rows:
    """Return the placed rows with a released node among the backup writers where others write.

    In group replication a node may be made writable while it is drained. ONLINE in the writer
    hostgroup it would stay there beside the others, as the monitor changes nothing of that.
    """
    columns, layout = standing.columns, standing.layout
    result = dict(placed)
    for family in standing.families:
        if family.kind != "group_replication":
            continue
        others = standing.usable(family.writer) - {node}
        for key, row in placed.items():
            is_writer = columns.node(row) == node and row[columns.hostgroup] == family.writer
            if is_writer and len(others) >= family.max_writers:
                moved = _with(row, {columns.hostgroup: family.backup})
                del result[key]
                result[layout.key_of(moved)] = moved
    return result


def _with(row: Row, changes: dict[int, Value]) -> Row:
    cells = list(row)
    for position, value in changes.items():
        cells[position] = value
    return tuple(cells)
