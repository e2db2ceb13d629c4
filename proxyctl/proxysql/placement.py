"""The rows whose LOAD of MYSQL SERVERS keeps the monitor's placement.

Loading the configured rows would make every node of a Galera family a writer at once, empty its
reader hostgroup and cut its connections until the monitor's next check. Pure.
Source: measured on a three-node Galera cluster behind ProxySQL 2.7.1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from operator import attrgetter

from proxyctl.catalog import Layout, Value
from proxyctl.proxysql.servers import Server, server_reader, without_shunning
from proxyctl.proxysql.topology import Family, Node, Topology, main_hostgroup
from proxyctl.rows.row import Key, Row, Rows, replace_cells


def placed_rows(
    layout: Layout,
    configured: Rows,
    runtime: Rows,
    topology: Topology,
    *,
    drained: Collection[Node] = (),
    leaving: Collection[Node] = (),
    removed: Collection[Key] = (),
) -> Rows:
    """Return the MEMORY rows whose LOAD leaves every node of a family in its RUNTIME hostgroups.

    Shape: rows outside families as configured; nodes of a family with their RUNTIME hostgroups and
    the configured attributes; a new node in the entrance of its family if another node writes.
    Discovered nodes stay, and `drained` nodes stay drained. OFFLINE_HARD rows of `runtime`, which
    hold the last connections of a removed server, count as absent. `leaving`: nodes that a later
    LOAD removes. `removed`: the keys of the configured rows that the apply removes, which matter
    for a writer that also reads.
    """
    read, result = server_reader(layout), dict(configured)
    for key, row in runtime.items():
        if key in result and read(row).node in drained:
            result[key] = _drained_as(layout, result[key], row)
    for family in topology.of_servers(layout).families:
        members = [row for row in configured.values() if read(row).hostgroup in family.hostgroups]
        active = [row for row in members if not read(row).is_off]
        running: dict[Node, list[Row]] = {}
        for row in runtime.values():
            server = read(row)
            if server.hostgroup in family.hostgroups and not server.is_off:
                running.setdefault(server.node, []).append(row)
        for node, rows in running.items():
            groups = {read(row).hostgroup for row in active if read(row).node == node}
            running[node] = _with_reader(layout, family, rows, groups, removed)
        staying = {read(row).node for row in active}.difference(leaving)
        entrance = family.entrance if _is_written(layout, family, running, staying) else None
        for row in active:
            if read(row).node in running:
                _place_configured(layout, family, row, active, running, result, drained)
            elif entrance is not None:
                source = _configured_row(layout, family, row, active, entrance)
                entering = replace_cells(layout, source, hostgroup_id=entrance)
                if family.is_galera:
                    entering = replace_cells(layout, entering, status="ONLINE")
                result.pop(layout.key_of(row), None)
                result[layout.key_of(entering)] = entering
        if family.discovers:
            configured_nodes = {read(row).node for row in members}
            for node, rows in running.items():
                if node not in configured_nodes:
                    loaded = (without_shunning(layout, row) for row in rows)
                    result.update((layout.key_of(row), row) for row in loaded)
    return result


def _with_reader(
    layout: Layout,
    family: Family,
    running: list[Row],
    configured: Collection[Value],
    removed: Collection[Key],
) -> list[Row]:
    """Return the RUNTIME rows of a node, with its reader row or without if the files decide it."""
    read = server_reader(layout)
    by_hostgroup: dict[Value, Row] = {read(row).hostgroup: row for row in running}
    node = read(running[0]).node
    gone = {key[0] for key in removed if key[1:] == node}
    reads = family.writer_reads(by_hostgroup, configured, gone)
    if reads and family.reader not in by_hostgroup:
        writer = by_hostgroup[family.writer]
        return [*running, replace_cells(layout, writer, hostgroup_id=family.reader)]
    if reads is False:
        return [row for row in running if read(row).hostgroup != family.reader]
    return running


def _drained_as(layout: Layout, row: Row, runtime_row: Row) -> Row:
    """Return a configured row with the cells by which a RUNTIME row drains its server."""
    cells = {
        name: runtime_row[layout.index[name]]
        for name in server_reader(layout)(runtime_row).drained_by
    }
    return replace_cells(layout, row, **cells)


def with_successors(layout: Layout, placed: Rows, runtime: Rows, topology: Topology) -> Rows:
    """Return the placed rows with a new writer for each Galera writer that leaves.

    Otherwise the writer hostgroup would have no ONLINE node until the monitor's next check, and
    after it the reader hostgroup none. The new writer is the node that the monitor would elect.
    """
    read, result = server_reader(layout), dict(placed)
    now = [*map(read, runtime.values())]
    for family in topology.of_servers(layout).families:
        if not family.is_galera:
            continue
        staying = {
            server.node
            for server in map(read, result.values())
            if server.hostgroup in family.hostgroups and not server.is_off
        }
        leaving = (
            server.node
            for server in now
            if server.hostgroup == family.writer and server.status == "ONLINE"
            if server.node not in staying
        )
        for old, heir in zip(leaving, heirs(layout, family, result), strict=False):
            hostgroups = {server.hostgroup for server in now if server.node == old}
            promote(layout, family, heir, hostgroups, result)
    return result


def heirs(layout: Layout, family: Family, rows: Rows) -> list[Node]:
    """Return the nodes that the Galera monitor would make writers next, in its order.

    Such a node is SHUNNED in the writer hostgroup, and takes queries in another hostgroup.
    """
    servers = [*map(server_reader(layout), rows.values())]
    elsewhere = family.hostgroups - {family.writer, family.offline}
    serving = {server.node for server in servers if server.hostgroup in elsewhere and server.serves}
    candidates = [
        server
        for server in servers
        if server.hostgroup == family.writer
        and server.is_shunned
        and server._replace(status="ONLINE").serves
        and server.node in serving
    ]
    return [
        candidate.node for candidate in sorted(candidates, key=attrgetter("rank"), reverse=True)
    ]


def promote(
    layout: Layout, family: Family, heir: Node, hostgroups: Collection[Value], rows: Rows
) -> None:
    """Make `heir` the writer, in the hostgroups of the old writer. Changes: rows.

    The heir leaves its other hostgroups, unless no other node serves there.
    """
    read = server_reader(layout)
    for key, row in list(rows.items()):
        server = read(row)
        if server.node != heir or server.hostgroup not in family.hostgroups:
            continue
        if server.hostgroup == family.writer:
            rows[key] = replace_cells(layout, row, status="ONLINE")
        elif server.hostgroup not in hostgroups and (
            server.hostgroup == family.backup
            or any(
                other.hostgroup == server.hostgroup and other.node != heir and other.serves
                for other in map(read, rows.values())
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
    read = server_reader(layout)
    node = read(row).node
    staying = [
        read(runtime_row) for other in active for runtime_row in running.get(read(other).node, ())
    ]
    result.pop(layout.key_of(row), None)
    for current in running[node]:
        server = read(current)
        source = _configured_row(layout, family, row, active, server.hostgroup)
        placed = replace_cells(layout, source, hostgroup_id=server.hostgroup)
        if family.is_galera:
            placed = replace_cells(layout, placed, status=_galera_status(family, server, staying))
        if node in drained:
            placed = _drained_as(layout, placed, current)
        result[layout.key_of(placed)] = placed


def _configured_row(
    layout: Layout, family: Family, row: Row, active: list[Row], hostgroup: object
) -> Row:
    """Return the row that configures the node of `row` in a hostgroup of its family."""
    read = server_reader(layout)
    own: dict[Value, Row] = {
        read(other).hostgroup: other for other in active if read(other).node == read(row).node
    }
    chosen = hostgroup if hostgroup in own else main_hostgroup(family, own)
    return own[chosen]


def _is_written(
    layout: Layout, family: Family, running: Mapping[Node, list[Row]], staying: Iterable[Node]
) -> bool:
    """Return whether a family has a writer that stays. The Galera monitor always makes one."""
    if family.is_galera:
        return bool(running)
    servers = (server_reader(layout)(row) for node in staying for row in running.get(node, ()))
    return any(server.hostgroup == family.writer and not server.drained_by for server in servers)


def _galera_status(family: Family, server: Server, staying: Iterable[Server]) -> str:
    """Return the status to load. `staying`: the servers at RUNTIME of all nodes that stay.

    SHUNNED is loaded only if the monitor will end it: the node serves in another hostgroup, or
    waits beside another writer. (Between two checks a waiting node may have no other row; loaded
    as ONLINE it would be a second writer.) Any other loaded SHUNNED would stay.
    """
    if not server.is_shunned:
        return server.status
    online = [other for other in staying if other.status == "ONLINE"]
    serves = any(other.node == server.node for other in online)
    waits = server.hostgroup == family.writer and any(
        other.hostgroup == family.writer for other in online
    )
    return "SHUNNED" if serves or waits else "ONLINE"
