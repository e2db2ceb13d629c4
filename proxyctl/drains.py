"""A drain: a node that takes no new connection, because somebody asked proxyctl for it. Pure.

RUNTIME shows it. Who did it, when, and what was there before is kept on the instance beside it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from proxyctl.catalog import Layout, Role, Value
from proxyctl.control_characters import printable
from proxyctl.families import Family, Node, ServerColumns, drained_columns, node_text
from proxyctl.state import Key, Row, Rows

NODES = "nodes "
"""How what holds the lock begins to call itself where it drains a node, or puts it back."""


class DrainMethod(StrEnum):
    """What takes a node out of service: what ProxySQL loads, or the node's own pxc_maint_mode."""

    PROXYSQL = "proxysql"
    PXC_MAINT_MODE = "pxc_maint_mode"


@dataclass(frozen=True)
class Drain:
    """What is on record about one drained node.

    `is_done` False: the command is at work, or died. `memory`: all rows of mysql_servers in MEMORY
    before; nothing where none was loaded. Units: `since` in unix seconds of the instance's clock.
    """

    node: Node
    since: int
    by: str
    purpose: str
    is_done: bool
    memory: Rows
    method: DrainMethod = DrainMethod.PROXYSQL

    def text(self) -> str:
        """Return who did it, since when, and what for; `half` while it is at work, or died."""
        when = datetime.fromtimestamp(self.since, UTC)
        what = f": {self.purpose}" if self.purpose else ""
        state = "drained" if self.is_done else "half drained"
        how = "" if self.method is DrainMethod.PROXYSQL else f" with {self.method}"
        said = f"{state}{how} by {self.by} since {when:%Y-%m-%d %H:%M:%S} UTC{what}"
        return printable(said)  # a row that anybody may write

    def with_way_out(self) -> str:
        """Return the same, and how one comes out of it that is `half`: nobody may be at work."""
        if self.is_done:
            return self.text()
        return f"{self.text()}; proxyctl nodes restore {node_text(self.node)} puts it back"


def shows_drain(
    columns: ServerColumns,
    runtime: Iterable[Row],
    families: Iterable[Family],
    node: Node,
    method: DrainMethod = DrainMethod.PROXYSQL,
) -> bool:
    """Return whether RUNTIME shows the node drained: every row of it, at least one.

    A node with pxc_maint_mode stands ONLINE in the offline hostgroup, and nowhere else.
    """
    in_family = {hostgroup: family for family in families for hostgroup in family.hostgroups}
    rows = [row for row in runtime if columns.node(row) == node]
    if method is DrainMethod.PXC_MAINT_MODE:
        shows = (_is_kept_out(in_family.get(row[columns.hostgroup]), columns, row) for row in rows)
    else:
        shows = (
            bool(drained_columns(in_family.get(row[columns.hostgroup]), columns, row, {node}))
            for row in rows
        )
    return bool(rows) and all(shows)


def _is_kept_out(family: Family | None, columns: ServerColumns, row: Row) -> bool:
    """Return whether the Galera monitor lets no new query come to this row."""
    if family is None or not family.is_galera:
        return False
    is_online = str(row[columns.status]).upper() == "ONLINE"
    return not is_online or row[columns.hostgroup] == family.offline


def ended_by(
    layout: Layout, loaded: Rows, families: Iterable[Family], drains: Iterable[Drain]
) -> list[Node]:
    """Return the nodes on record as drained that these rows do not let be so.

    The server is gone from them, or somebody undid what ProxySQL had loaded, or it died before it
    was one. What happens to the node later is not that drain. One row that is drained keeps it on
    record, whatever others were added. The mode of a node is its own: only a server that is gone
    ends that here.
    """
    columns = ServerColumns.of(layout)
    in_family = {hostgroup: family for family in families for hostgroup in family.hostgroups}

    def keeps(drain: Drain, key: Key, row: Row) -> bool:
        family = in_family.get(row[columns.hostgroup])
        before = drain.memory.get(key)
        was_out = before and drained_columns(family, columns, before, {drain.node})
        return bool(drained_columns(family, columns, row, {drain.node})) and not was_out

    there = {columns.node(row) for row in loaded.values()}
    return [
        drain.node
        for drain in drains
        if drain.node not in there
        or (
            drain.method is DrainMethod.PROXYSQL
            and not any(keeps(drain, key, row) for key, row in loaded.items())
        )
    ]


def not_finished(occasion: str) -> str:
    """Return what died while it held the lock."""
    what = "a command for a node" if occasion.startswith(NODES) else "an apply"
    return f"{what} did not finish: {occasion}"


def goes_on_with(occasion: str) -> str:
    """Return what ends something that died while it held the lock. `occasion`: how it calls itself.

    An apply ends an apply; a node that was half drained it may leave so.
    """
    if occasion.startswith(NODES):
        return "the same command goes on where it stopped, and `nodes restore` puts the node back"
    return "the next apply goes on where it stopped"


def shown_in_maintenance(
    columns: ServerColumns,
    runtime: Collection[Row],
    families: Collection[Family],
    drains: Iterable[Drain],
) -> list[Node]:
    """Return the nodes on record as drained with pxc_maint_mode that RUNTIME shows so."""
    return [
        drain.node
        for drain in drains
        if drain.method is DrainMethod.PXC_MAINT_MODE
        and shows_drain(columns, runtime, families, drain.node, drain.method)
    ]


class End(StrEnum):
    """How a drain that is still on record has ended at RUNTIME."""

    SERVES = "takes connections again"
    NOT_SHOWN = "would take connections"
    REMOVED = "is not at RUNTIME any more"


def ended_drains(
    columns: ServerColumns,
    runtime: Collection[Row],
    families: Collection[Family],
    drains: Iterable[Drain],
) -> dict[Node, End]:
    """Return the nodes on record as drained that are not so at RUNTIME, and how that shows.

    Somebody else has loaded servers since; a node in maintenance was set back, or restarted. One
    that would take connections is unwell, so that none comes.
    """
    offline = {family.offline for family in families}

    def serves(row: Row) -> bool:
        is_online = str(row[columns.status]).upper() == "ONLINE"
        takes_some = row[columns.max_connections] != 0
        return is_online and takes_some and row[columns.hostgroup] not in offline

    there = [row for row in runtime if str(row[columns.status]).upper() != "OFFLINE_HARD"]
    known = {columns.node(row) for row in there}
    serving = {columns.node(row) for row in there if serves(row)}
    found: dict[Node, End] = {}
    for drain in drains:
        node = drain.node
        if node not in known:
            found[node] = End.REMOVED
        elif drain.is_done and not shows_drain(columns, there, families, node, drain.method):
            found[node] = End.SERVES if node in serving else End.NOT_SHOWN
    return found


def ended_text(drain: Drain, end: End) -> str:
    """Return how a drain ended, and what is still on record."""
    return f"{end}, though on record as {drain.text()}"


def without_writer(
    columns: ServerColumns,
    runtime: Collection[Row],
    families: Iterable[Family],
    drained: Collection[Node],
) -> dict[Node, Value]:
    """Return the drained nodes in whose family nobody takes writes, and that writer hostgroup.

    One of them may have been made the writer meanwhile, by its group or by a failover: it takes no
    connection all the same.
    """
    found: dict[Node, Value] = {}
    for family in families:
        mine = [row for row in runtime if row[columns.hostgroup] in family.hostgroups]
        writes = (
            row[columns.hostgroup] == family.writer
            and str(row[columns.status]).upper() == "ONLINE"
            and row[columns.max_connections] != 0
            and row[columns.weight] != 0
            for row in mine
        )
        if not any(writes):
            nodes = {columns.node(row) for row in mine}
            found |= dict.fromkeys(nodes.intersection(drained), family.writer)
    return found


def no_writer_text(hostgroup: Value) -> str:
    """Return that the family of a drained node has no writer."""
    return f"nobody takes writes in hostgroup {hostgroup}"


def undrained(
    layout: Layout,
    runtime: Rows,
    memory: Rows,
    families: Iterable[Family],
    nodes: Collection[Node],
) -> Rows:
    """Return RUNTIME as it would be without the drains on record, with MEMORY's help.

    A drain is no configuration: what is kept or exported of RUNTIME must not make it one.
    """
    if not nodes or layout.table.role is not Role.SERVERS:
        return runtime
    columns = ServerColumns.of(layout)
    in_family = {hostgroup: family for family in families for hostgroup in family.hostgroups}
    # The monitor may have placed a node where no row of MEMORY has it.
    elsewhere = {
        (in_family[row[columns.hostgroup]], columns.node(row)): row
        for row in memory.values()
        if row[columns.hostgroup] in in_family
    }
    result = dict(runtime)
    for key, row in runtime.items():
        family = in_family.get(row[columns.hostgroup])
        held = drained_columns(family, columns, row, nodes)
        known = memory.get(key)
        if known is None and family is not None:
            known = elsewhere.get((family, columns.node(row)))
        if known is not None and held:
            result[key] = tuple(
                known[position] if position in held else cell for position, cell in enumerate(row)
            )
    return result
