"""The rows whose LOAD of MYSQL SERVERS keeps the monitor's placement.

Loading the configured rows would make every node of a Galera family a writer at once, empty its
reader hostgroup and cut its connections until the monitor's next check. Pure.
Source: measured on a three-node Galera cluster behind ProxySQL 2.7.1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from proxyctl.catalog import Layout, Value
from proxyctl.state.families import (
    Family,
    Node,
    ServerColumns,
    drain_columns,
    families_of,
    main_hostgroup,
    takes_queries,
    with_cells,
    without_shunning,
)
from proxyctl.state.row import Row, Rows


def placed_rows(
    layout: Layout,
    configured: Rows,
    runtime: Rows,
    families: Iterable[Family],
    *,
    drained: Collection[Node] = (),
    leaving: Collection[Node] = (),
) -> Rows:
    """Return the MEMORY rows whose LOAD leaves every node of a family in its RUNTIME hostgroups.

    Shape: rows outside families as configured; nodes of a family with their RUNTIME hostgroups and
    the configured attributes; a new node in the entrance of its family if another node writes.
    Discovered nodes stay, and `drained` nodes stay drained. OFFLINE_HARD rows of `runtime`, which
    hold the last connections of a removed server, count as absent. `leaving`: nodes that a later
    LOAD removes.
    """
    columns = ServerColumns.of(layout)
    result: Rows = dict(configured)
    for key, row in runtime.items():
        if key in result and columns.node(row) in drained:
            drains = drain_columns(columns, row)
            result[key] = with_cells(result[key], {position: row[position] for position in drains})
    for family in families_of(layout, families):
        members = [
            row for row in configured.values() if row[columns.hostgroup] in family.hostgroups
        ]
        active = [row for row in members if not columns.is_off(row)]
        running: dict[Node, list[Row]] = {}
        for row in runtime.values():
            if row[columns.hostgroup] in family.hostgroups and not columns.is_off(row):
                running.setdefault(columns.node(row), []).append(row)
        configured_nodes = {columns.node(row) for row in members}
        staying = {columns.node(row) for row in active}.difference(leaving)
        entrance = family.entrance if _is_written(columns, family, running, staying) else None
        for row in active:
            if columns.node(row) in running:
                _place_configured(layout, family, row, active, running, result, drained)
            elif entrance is not None:
                source = _configured_row(columns, family, row, active, entrance)
                entering = with_cells(source, {columns.hostgroup: entrance})
                if family.is_galera:
                    entering = with_cells(entering, {columns.status: "ONLINE"})
                result.pop(layout.key_of(row), None)
                result[layout.key_of(entering)] = entering
        if family.discovers:
            for node, rows in running.items():
                if node not in configured_nodes:
                    loaded = (without_shunning(columns, row) for row in rows)
                    result.update((layout.key_of(row), row) for row in loaded)
    return result


def with_successors(
    layout: Layout, placed: Rows, runtime: Rows, families: Iterable[Family]
) -> Rows:
    """Return the placed rows with a new writer for each Galera writer that leaves.

    Otherwise the writer hostgroup would have no ONLINE node until the monitor's next check, and
    after it the reader hostgroup none. The new writer is the node that the monitor would elect.
    """
    columns, result = ServerColumns.of(layout), dict(placed)
    for family in families_of(layout, families):
        if not family.is_galera:
            continue
        staying = {
            columns.node(row)
            for row in result.values()
            if row[columns.hostgroup] in family.hostgroups and not columns.is_off(row)
        }
        leaving = (
            columns.node(row)
            for row in runtime.values()
            if row[columns.hostgroup] == family.writer and row[columns.status] == "ONLINE"
            if columns.node(row) not in staying
        )
        for old, heir in zip(leaving, heirs(layout, family, result), strict=False):
            places = {key[0] for key, row in runtime.items() if columns.node(row) == old}
            promote(layout, family, heir, places, result)
    return result


def heirs(layout: Layout, family: Family, rows: Rows) -> list[Node]:
    """Return the nodes that the Galera monitor would make writers next, in its order.

    Such a node is SHUNNED in the writer hostgroup, and takes queries in another hostgroup.
    """
    columns = ServerColumns.of(layout)
    serving = {
        columns.node(row)
        for row in rows.values()
        if row[columns.hostgroup] in family.hostgroups - {family.writer, family.offline}
        and columns.takes_queries(row)
    }
    candidates = [
        row
        for row in rows.values()
        if row[columns.hostgroup] == family.writer
        and row[columns.status] == "SHUNNED"
        and takes_queries("ONLINE", row[columns.weight], row[columns.max_connections])
        and columns.node(row) in serving
    ]
    return [columns.node(row) for row in sorted(candidates, key=columns.election, reverse=True)]


def promote(
    layout: Layout, family: Family, heir: Node, places: Collection[Value], rows: Rows
) -> None:
    """Make `heir` the writer, in the hostgroups `places` of the old writer. Changes: rows.

    The heir leaves its other hostgroups, unless no other node serves there.
    """
    columns = ServerColumns.of(layout)
    for key, row in list(rows.items()):
        hostgroup = row[columns.hostgroup]
        if columns.node(row) != heir or hostgroup not in family.hostgroups:
            continue
        if hostgroup == family.writer:
            rows[key] = with_cells(row, {columns.status: "ONLINE"})
        elif hostgroup not in places and (
            hostgroup == family.backup
            or any(
                other[columns.hostgroup] == hostgroup
                and columns.node(other) != heir
                and columns.takes_queries(other)
                for other in rows.values()
            )
        ):
            del rows[key]


def _place_configured(
    layout: Layout,
    family: Family,
    row: Row,
    active: list[Row],
    running: dict[Node, list[Row]],
    result: Rows,
    drained: Collection[Node],
) -> None:
    columns = ServerColumns.of(layout)
    node = columns.node(row)
    staying = [row for other in active for row in running.get(columns.node(other), ())]
    result.pop(layout.key_of(row), None)
    for current in running[node]:
        source = _configured_row(columns, family, row, active, current[columns.hostgroup])
        changes: dict[int, Value] = {columns.hostgroup: current[columns.hostgroup]}
        if family.is_galera:
            changes[columns.status] = _galera_status(columns, family, current, staying)
        if node in drained:
            changes |= {position: current[position] for position in drain_columns(columns, current)}
        placed = with_cells(source, changes)
        result[layout.key_of(placed)] = placed


def _configured_row(
    columns: ServerColumns, family: Family, row: Row, active: list[Row], hostgroup: Value
) -> Row:
    """Return the row that configures the node of `row` in a hostgroup of its family."""
    node = columns.node(row)
    own = {other[columns.hostgroup]: other for other in active if columns.node(other) == node}
    return own.get(hostgroup, own[main_hostgroup(family, own)])


def _is_written(
    columns: ServerColumns,
    family: Family,
    running: Mapping[Node, list[Row]],
    staying: Iterable[Node],
) -> bool:
    """Return whether a family has a writer that stays. The Galera monitor always makes one."""
    if family.is_galera:
        return bool(running)
    rows = (row for node in staying for row in running.get(node, ()))
    return any(
        row[columns.hostgroup] == family.writer and not drain_columns(columns, row) for row in rows
    )


def _galera_status(
    columns: ServerColumns, family: Family, row: Row, staying: Iterable[Row]
) -> Value:
    """Return the status to load. `staying`: the RUNTIME rows of all nodes that stay.

    SHUNNED is loaded only if the monitor will end it: the node serves in another hostgroup, or
    waits beside another writer. (Between two checks a waiting node may have no other row; loaded
    as ONLINE it would be a second writer.) Any other loaded SHUNNED would stay.
    """
    status = str(row[columns.status]).upper()
    if status != "SHUNNED":
        return status

    online = [other for other in staying if str(other[columns.status]).upper() == "ONLINE"]
    serves = any(columns.node(other) == columns.node(row) for other in online)
    waits = row[columns.hostgroup] == family.writer and any(
        other[columns.hostgroup] == family.writer for other in online
    )
    return "SHUNNED" if serves or waits else "ONLINE"
