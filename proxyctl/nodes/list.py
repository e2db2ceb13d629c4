"""Read the servers of ProxySQL: their rows, connections and monitor checks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from proxyctl.catalog import Layout, Value
from proxyctl.instance.backend import NodeAnswer
from proxyctl.instance.client import AdminClient
from proxyctl.instance.facts import read_facts, read_pool
from proxyctl.instance.read import ask, query_whole, read_layouts, read_rows
from proxyctl.instance.table_text import parse_rows
from proxyctl.nodes.model import Connections, MonitorCheck, NodeGroup, NodeReport, NodeRow, NodeView
from proxyctl.proxysql.servers import Server, server_reader, stays_shunned
from proxyctl.proxysql.topology import FAMILY_TABLES, Family, MonitorSettings, Node, Topology
from proxyctl.rows.row import Key, Layer, Rows

_LAST_CHECKS = {
    # "*" because a version may lack some columns
    "mysql_server_galera_log": "*",
    "mysql_server_ping_log": "hostname, port, time_start_us, ping_error AS error",
    "mysql_server_read_only_log": "hostname, port, time_start_us, read_only, error",
    "mysql_server_replication_lag_log": "hostname, port, time_start_us, repl_lag, error",
}
"""Logs of the monitor, and the columns to read from the last line of each server."""


def read_nodes(client: AdminClient) -> NodeReport:
    """Return the nodes as configured, at RUNTIME, and as the monitor sees them.

    Sends SELECTs only. Raises: InstanceError.
    """
    layouts = read_layouts(client)
    servers = layouts["mysql_servers"]
    facts = read_facts(client)
    topology = _topology(client, layouts, facts.monitor)
    # Read before any statistics: after those SQLite searches all files of ProxySQL for the columns.
    checks = _checks(client)
    layers = ask(client, [(servers, layer) for layer in Layer])().texts
    memory, runtime, disk = (parse_rows(servers, texts) for texts in layers)
    placed = topology if facts.monitor.is_on else Topology()
    groups = node_groups(
        servers,
        memory,
        runtime,
        topology,
        _connections(client),
        checks,
        stays_shunned(servers, runtime, memory, disk, placed),
    )
    return NodeReport(
        client.name,
        client.address,
        client.version_text,
        groups,
        is_monitored=facts.monitor.is_on,
    )


def _topology(
    client: AdminClient, layouts: dict[str, Layout], settings: MonitorSettings
) -> Topology:
    """Return the families whose nodes the monitor places, or had placed before it was off."""
    tables = {
        name: read_rows(client, layouts[name], Layer.RUNTIME).values()
        for name in FAMILY_TABLES
        if name in layouts
    }
    return Topology.of(layouts, tables, settings.as_if_on())


def _connections(client: AdminClient) -> dict[Key, Connections]:
    return {
        server.key: Connections(
            server.used, server.free, server.errors, server.queries, server.latency_us
        )
        for server in read_pool(client)
    }


def _checks(client: AdminClient) -> dict[Node, MonitorCheck]:
    checks: dict[Node, MonitorCheck] = {}
    for table, columns in _LAST_CHECKS.items():
        for row in _last(client, table, columns):
            node = (row.pop("hostname"), client.number(row.pop("port")))
            checks[node] = _with(client, checks.get(node, MonitorCheck()), table, row)
    return checks


def _last(client: AdminClient, table: str, columns: str) -> Iterable[dict[str, str | None]]:
    """Yield the last line of each server, by column name."""
    columns_of = f"SELECT name FROM pragma_table_info('{table}', 'monitor')"
    described = query_whole(client, columns_of, width=1)
    names = [str(name) for (name,) in described]
    if not names:
        return
    names_wanted = names if columns == "*" else [c.split(" AS ")[-1] for c in columns.split(", ")]
    # SQLite returns the other columns from the row with the maximum.
    for row in query_whole(
        client,
        f"SELECT {columns}, max(time_start_us) FROM monitor.{table} GROUP BY hostname, port",
        width=len(names_wanted) + 1,
    ):
        yield dict(zip(names_wanted, row[:-1], strict=True))


def _with(
    client: AdminClient, check: MonitorCheck, table: str, row: dict[str, str | None]
) -> MonitorCheck:
    """Return the check, updated from a row of another log."""
    began = client.number(row.pop("time_start_us"))
    at = datetime.fromtimestamp(began / 1e6, UTC) if began else None
    if check.at is not None and (at is None or at < check.at):
        at = check.at
    failed = row.pop("error", None)
    updated = replace(check, at=at, error=check.error or failed)
    match table:
        case "mysql_server_galera_log":
            if failed is not None:
                return updated  # in a failed line ProxySQL sets every state to its worst value
            answers = {name: cell for name, cell in row.items() if cell is not None}
            return replace(updated, wsrep=answers, read_only=answers.get("read_only") == "YES")
        case "mysql_server_read_only_log":
            return replace(updated, read_only=row["read_only"] == "1")
        case "mysql_server_replication_lag_log":
            lag = row["repl_lag"]
            return replace(updated, lag_s=None if lag is None else client.number(lag))
    return updated


def node_groups(
    layout: Layout,
    memory: Rows,
    runtime: Rows,
    topology: Topology,
    connections: Mapping[Key, Connections],
    checks: Mapping[Node, MonitorCheck],
    shunned: Collection[Key] = (),
) -> tuple[NodeGroup, ...]:
    """Return the nodes, by family or hostgroup, sorted by hostgroup, host and port.

    `layout`: of mysql_servers. `connections`: by hostgroup, host and port. `shunned`: the keys of
    the servers that ProxySQL leaves SHUNNED.
    """
    read = server_reader(layout)
    views: dict[tuple[Value, ...], dict[Node, NodeView]] = {}

    def view_of(server: Server) -> tuple[dict[Node, NodeView], NodeView]:
        family, node = topology.family_of(server.hostgroup), server.node
        group = (server.hostgroup,) if family is None else _in_order(family)
        nodes = views.setdefault(group, {})
        return nodes, nodes.get(node) or NodeView(node, check=checks.get(node, MonitorCheck()))

    for server in map(read, memory.values()):
        nodes, view = view_of(server)
        nodes[view.node] = replace(view, configured=(*view.configured, NodeRow(server)))
    for key, row in runtime.items():
        node_row = NodeRow(read(row), connections.get(key, Connections()), key in shunned)
        if node_row.server.is_off and not node_row.connections.used:
            continue
        nodes, view = view_of(node_row.server)
        nodes[view.node] = replace(view, runtime=(*view.runtime, node_row))

    return tuple(
        NodeGroup(
            hostgroups,
            topology.family_of(hostgroups[0]),
            tuple(_sorted(nodes[node], hostgroups) for node in sorted(nodes, key=_sortable)),
        )
        for hostgroups, nodes in sorted(views.items(), key=lambda item: _sortable(item[0]))
    )


def with_answers(
    groups: Iterable[NodeGroup], answers: Mapping[Node, NodeAnswer]
) -> tuple[NodeGroup, ...]:
    """Return the groups with the answers of the nodes."""
    return tuple(
        replace(
            group,
            nodes=tuple(replace(view, answer=answers.get(view.node)) for view in group.nodes),
        )
        for group in groups
    )


def _in_order(family: Family) -> tuple[Value, ...]:
    """Return the hostgroups of a family, the writer hostgroup first."""
    remaining = sorted(
        family.hostgroups - {family.writer}, key=lambda hostgroup: int(hostgroup or 0)
    )
    return (family.writer, *remaining)


def _sorted(view: NodeView, hostgroups: tuple[Value, ...]) -> NodeView:
    def position(row: NodeRow) -> int:
        return hostgroups.index(row.server.hostgroup)

    return replace(
        view,
        configured=tuple(sorted(view.configured, key=position)),
        runtime=tuple(sorted(view.runtime, key=position)),
    )


def _sortable(cells: tuple[Value, ...]) -> tuple[tuple[int, int, str], ...]:
    return tuple((0, cell, "") if isinstance(cell, int) else (1, 0, str(cell)) for cell in cells)
