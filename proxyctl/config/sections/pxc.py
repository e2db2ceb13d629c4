"""The `pxc_clusters` section: rows of mysql_galera_hostgroups and mysql_servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from proxyctl.catalog import TABLES
from proxyctl.config.context import Context, Part
from proxyctl.config.mistakes import Mistakes
from proxyctl.config.rows import TableRows, YamlRow, compile_rows
from proxyctl.config.validation import check, other_versions
from proxyctl.state.row import DesiredTable, Key, Where

GALERA = "mysql_galera_hostgroups"
SERVERS = "mysql_servers"
FAMILY = ("writer_hostgroup", "backup_writer_hostgroup", "reader_hostgroup", "offline_hostgroup")


@dataclass(frozen=True)
class Members:
    """One cluster: its hostgroups, its nodes by host and port, and the keys of their rows."""

    name: str
    hostgroups: frozenset[object]
    nodes: Mapping[tuple[object, object], Where]
    keys: frozenset[Key]


@dataclass
class Clusters:
    """What the section stands for. Shape: `members` has one entry a cluster."""

    galera: list[TableRows] = field(default_factory=list)
    servers: list[TableRows] = field(default_factory=list)
    members: list[Members] = field(default_factory=list)

    def check_nodes(self, table: DesiredTable, mistakes: Mistakes) -> None:
        """Note servers that are also nodes of a cluster: the monitor places those, nobody else.

        Changes: mistakes.
        """
        index = table.layout.index
        members: dict[tuple[object, object, object], list[Members]] = {}
        for cluster in self.members:
            for place in product(cluster.hostgroups, cluster.nodes):
                members.setdefault((place[0], *place[1]), []).append(cluster)
        for key, row in table.rows.items():
            server = (row[index["hostname"]], row[index["port"]])
            for cluster in members.get((row[index["hostgroup_id"]], *server), ()):
                # A row with the key of a node is its own, or a duplicate that `join` reports.
                if key in cluster.keys:
                    continue
                message = (
                    f"{server[0]}:{server[1]} is a node of pxc_clusters {cluster.name}, at"
                    f" {cluster.nodes[server]}; its monitor decides which of the cluster's"
                    " hostgroups it is in"
                )
                mistakes.add(table.where[key], SERVERS, message, "remove one of the two")


def compile_clusters(parts: list[Part], context: Context) -> Clusters:
    """Return the rows of all clusters in all files. Changes: context.mistakes."""
    result = Clusters()
    known: dict[str, Where] = {}
    columns = {c.name: c for name in (SERVERS, GALERA) for c in context.layouts[name].columns}
    instead = {"hostgroup_id": "nodes start in writer_hostgroup unless they name their hostgroup"}
    unknown = other_versions(TABLES[SERVERS], context, instead)
    for part in parts:
        _, wrong = check(part, context, columns=columns, unknown=unknown)
        bad = {keys[0] for keys in wrong}
        for position, cluster in enumerate(part.value):
            if position not in bad:
                context.claim_name(known, cluster["name"], part, (position, "name"))
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
    place = YamlRow(part.document, (prefix,), origin)
    galera = compile_rows(galera_layout, [row], [place], context)
    result.galera.append(galera)

    defaults: Mapping[str, Any] = cluster.get("node_defaults", {})
    rows: list[dict[str, Any]] = []
    places: list[YamlRow] = []
    for number, node in enumerate(cluster["nodes"]):
        merged = {**defaults, **node}
        hostgroup = merged.pop("hostgroup", cluster["writer_hostgroup"])
        rows.append({"hostgroup_id": hostgroup, **merged})
        is_named = "hostgroup" in node or "hostgroup" in defaults
        prefixes = ((*prefix, "nodes", number), (*prefix, "node_defaults"), prefix)
        renamed = {"hostgroup_id": "hostgroup" if is_named else "writer_hostgroup"}
        places.append(YamlRow(part.document, prefixes, origin, renamed))
    servers = compile_rows(layout, rows, places, context)
    result.servers.append(servers)

    hostgroups = frozenset(row[columns[name]] for row in galera.rows for name in FAMILY)
    result.members.append(_members(cluster["name"], hostgroups, servers, context))


def _members(
    name: str, hostgroups: frozenset[object], servers: TableRows, context: Context
) -> Members:
    """Return who is in a cluster; a node stands in it once, in one of its hostgroups.

    Changes: context.mistakes.
    """
    nodes: dict[tuple[object, object], Where] = {}
    keys: set[Key] = set()
    index = servers.layout.index
    for row, key, row_place in zip(servers.rows, servers.keys(), servers.places, strict=True):
        node = (row[index["hostname"]], row[index["port"]])
        words = f"{node[0]}:{node[1]}"
        place = row_place.where()
        earlier = nodes.setdefault(node, place)
        # The same row twice is said of every table.
        if earlier is not place and key not in keys:
            label = row_place.field("hostname")[1]
            context.mistakes.add(place, label, f"{words} is already in the cluster, at {earlier}")
        hostgroup = row[index["hostgroup_id"]]
        if hostgroups and hostgroup not in hostgroups:
            context.mistakes.add(
                *row_place.field("hostgroup_id"),
                f"hostgroup {hostgroup} is not one of the cluster's, so no monitor places {words}"
                " there",
                f"add the row to {SERVERS} if that is intended",
            )
        keys.add(key)
    return Members(name, hostgroups, nodes, frozenset(keys))
