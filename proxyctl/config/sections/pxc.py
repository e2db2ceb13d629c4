"""The `pxc_clusters` section: rows of mysql_galera_hostgroups and mysql_servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from proxyctl.config.context import Context, Keys, Part
from proxyctl.config.mistakes import Mistakes
from proxyctl.config.rows import RowPlace, TableRows, table_rows
from proxyctl.config.validation import check_items
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

    rows: list[TableRows] = field(default_factory=list)
    members: list[Members] = field(default_factory=list)

    def check_nodes(self, table: DesiredTable | None, mistakes: Mistakes) -> None:
        """Note servers that are also nodes of a cluster: the monitor places those, nobody else.

        Changes: mistakes.
        """
        if table is None:
            return
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
    for name in (GALERA, SERVERS) if parts else ():
        # Also without a cluster the section owns both tables.
        result.rows.append(TableRows(context.layouts[name]))
    for part in parts:
        for position, cluster in check_items(part, context).items():
            _add(result, part, position, cluster, context)
    return result


def _add(
    result: Clusters, part: Part, position: int, cluster: Mapping[str, Any], context: Context
) -> None:
    """Compile one cluster. Changes: result, context.mistakes."""
    origin = f"pxc_clusters {cluster['name']}"
    columns = context.layouts[GALERA].index
    row = {key: value for key, value in cluster.items() if key in columns}
    galera = table_rows(context.layouts[GALERA], [row], [RowPlace(part, (position,), origin)])
    defaults: Mapping[str, Any] = cluster.get("node_defaults", {})
    others: tuple[Keys, ...] = ((position, "node_defaults"), (position,))
    rows: list[dict[str, Any]] = []
    places: list[RowPlace] = []
    for number, node in enumerate(cluster["nodes"]):
        merged = {"hostgroup": cluster["writer_hostgroup"], **defaults, **node}
        is_named = "hostgroup" in node or "hostgroup" in defaults
        renamed = {"hostgroup_id": "hostgroup" if is_named else "writer_hostgroup"}
        rows.append({"hostgroup_id": merged.pop("hostgroup"), **merged})
        places.append(RowPlace(part, (position, "nodes", number), origin, others, renamed))
    servers = table_rows(context.layouts[SERVERS], rows, places)
    result.rows += [galera, servers]
    hostgroups = frozenset(cluster[name] for name in FAMILY)
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
        if hostgroup not in hostgroups:
            context.mistakes.add(
                *row_place.field("hostgroup_id"),
                f"hostgroup {hostgroup} is not one of the cluster's, so no monitor places {words}"
                " there",
                f"add the row to {SERVERS} if that is intended",
            )
        keys.add(key)
    return Members(name, hostgroups, nodes, frozenset(keys))
