"""A drain: a node that takes no new connection, because somebody asked proxyctl for it. Pure.

RUNTIME shows it. Who did it, when, and what was there before is kept on the instance beside it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from proxyctl.catalog import Layout, Role
from proxyctl.families import Family, Node, ServerColumns, drained_columns
from proxyctl.state import Row, Rows

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
        return f"{state}{how} by {self.by} since {when:%Y-%m-%d %H:%M:%S} UTC{what}"


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
    """Return the nodes on record as drained by ProxySQL that these rows do not let be so.

    The server is gone from them, or somebody undid the drain, or it died before it was one. What
    happens to the node later is not that drain.
    """
    columns, families = ServerColumns.of(layout), list(families)
    return [
        drain.node
        for drain in drains
        if drain.method is DrainMethod.PROXYSQL
        and not shows_drain(columns, loaded.values(), families, drain.node)
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


def undone_drains(
    columns: ServerColumns,
    runtime: Collection[Row],
    families: Collection[Family],
    drains: Iterable[Drain],
) -> list[Node]:
    """Return the nodes on record as drained that take connections at RUNTIME all the same.

    Somebody else has loaded servers since; a node in maintenance was set back, or restarted.
    """
    offline = {family.offline for family in families}

    def serves(row: Row) -> bool:
        is_online = str(row[columns.status]).upper() == "ONLINE"
        takes_some = row[columns.max_connections] != 0
        return is_online and takes_some and row[columns.hostgroup] not in offline

    serving = {columns.node(row) for row in runtime if serves(row)}
    return [
        drain.node
        for drain in drains
        if drain.is_done
        and drain.node in serving
        and not shows_drain(columns, runtime, families, drain.node, drain.method)
    ]


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
