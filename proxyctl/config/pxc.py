"""The `pxc_clusters` section: rows of mysql_galera_hostgroups and mysql_servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from proxyctl.catalog import TABLES
from proxyctl.config.context import Context
from proxyctl.config.mistakes import Mistakes
from proxyctl.config.rows import Batch, Item, ItemRows, RowCompiler
from proxyctl.config.sections import Part, check, other_versions
from proxyctl.state import DesiredTable, Where

GALERA = "mysql_galera_hostgroups"
SERVERS = "mysql_servers"
FAMILY = ("writer_hostgroup", "backup_writer_hostgroup", "reader_hostgroup", "offline_hostgroup")


@dataclass
class Clusters:
    """What the section stands for.

    Shape: `families` has one entry a cluster: its hostgroups, its nodes by host and port, its name.
    """

    galera: list[Batch] = field(default_factory=list)
    servers: list[Batch] = field(default_factory=list)
    families: list[tuple[frozenset[object], dict[tuple[object, object], Where], str]] = field(
        default_factory=list
    )


def compile_clusters(parts: list[Part], context: Context) -> Clusters:
    """Return the rows of all clusters in all files. Changes: context.mistakes."""
    result = Clusters()
    names: dict[str, Where] = {}
    columns = {c.name: c for name in (SERVERS, GALERA) for c in context.layouts[name].columns}
    unknown = other_versions(TABLES[SERVERS], context.version)
    for part in parts:
        _, bad = check(part, context, columns=columns, unknown=unknown)
        for position, cluster in enumerate(part.value):
            if position not in bad:
                place = part.where(position)
                earlier = names.setdefault(cluster["name"], place)
                if earlier is not place:
                    message = f"the name is taken; first at {earlier}"
                    key = f"pxc_clusters[{position}].name"
                    context.mistakes.add(part.where(position, "name"), key, message)
                _add(result, part, position, context)
    return result


def _add(result: Clusters, part: Part, position: int, context: Context) -> None:
    """Compile one cluster. Changes: result, context.mistakes."""
    cluster: Mapping[str, Any] = part.value[position]
    prefix = (part.name, position)
    origin = f"pxc_clusters {cluster['name']}"
    galera_layout, layout = context.layouts[GALERA], context.layouts[SERVERS]
    columns = galera_layout.index
    row = {key: value for key, value in cluster.items() if key in columns}
    galera_item = Item(part.document, (prefix,), origin)
    galera = RowCompiler(galera_layout, ItemRows([galera_item]), context).compile([row])
    result.galera.append(galera)

    defaults: Mapping[str, Any] = cluster.get("node_defaults", {})
    rows: list[dict[str, Any]] = []
    items: list[Item] = []
    for number, node in enumerate(cluster["nodes"]):
        merged = {**defaults, **node}
        hostgroup = merged.pop("hostgroup", cluster["writer_hostgroup"])
        rows.append({"hostgroup_id": hostgroup, **merged})
        is_named = "hostgroup" in node or "hostgroup" in defaults
        prefixes = ((*prefix, "nodes", number), (*prefix, "node_defaults"), prefix)
        renamed = {"hostgroup_id": "hostgroup" if is_named else "writer_hostgroup"}
        items.append(Item(part.document, prefixes, origin, renamed))
    servers = RowCompiler(layout, ItemRows(items), context).compile(rows)
    result.servers.append(servers)

    host, port = layout.index["hostname"], layout.index["port"]
    nodes: dict[tuple[object, object], Where] = {
        (server[host], server[port]): items[position].place()
        for server, position in zip(servers.rows, servers.positions, strict=True)
    }
    hostgroups: frozenset[object] = frozenset(
        row[columns[name]] for row in galera.rows for name in FAMILY
    )
    result.families.append((hostgroups, nodes, cluster["name"]))


def check_nodes(clusters: Clusters, table: DesiredTable, mistakes: Mistakes) -> None:
    """Note servers that are also nodes of a cluster: the monitor places those, nobody else.

    Changes: mistakes.
    """
    index = table.layout.index
    own = {place for _, nodes, _ in clusters.families for place in nodes.values()}
    for hostgroups, nodes, name in clusters.families:
        for key, row in table.rows.items():
            server = (row[index["hostname"]], row[index["port"]])
            if server not in nodes or row[index["hostgroup_id"]] not in hostgroups:
                continue
            where = table.where[key]
            if where not in own:
                message = (
                    f"{server[0]}:{server[1]} is a node of pxc_clusters {name}, at {nodes[server]};"
                    " its monitor decides which of the cluster's hostgroups it is in"
                )
                mistakes.add(where, SERVERS, message, "remove one of the two")
