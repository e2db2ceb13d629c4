"""Fold RUNTIME back into configuration rows, for an export and for a rollback. Pure.

RUNTIME is not configuration: users are split into halves, inactive rows are missing, the monitor
has moved nodes, texts are normalised. A MEMORY row that explains a RUNTIME row, or its absence, is
exported; any other RUNTIME row is exported unchanged. So a plan of an export shows no change while
the three layers are equal, and otherwise exactly the layers that differ.
"""

from __future__ import annotations

from collections.abc import Mapping

from proxyctl.catalog import Layout, Role
from proxyctl.proxysql.compare import differing
from proxyctl.proxysql.load_image import ignored_rows, runtime_image
from proxyctl.proxysql.servers import (
    drained_nodes,
    server_reader,
    stays_shunned,
    without_off,
    without_shunning,
)
from proxyctl.proxysql.topology import Topology
from proxyctl.proxysql.user_halves import fold_users
from proxyctl.rows.row import Key, Layer, Rows, replace_cells


def from_runtime(
    layout: Layout, layers: Mapping[Layer, Rows], topology: Topology = Topology()
) -> Rows:
    """Return RUNTIME rows folded back into configuration, with MEMORY's help.

    `topology`: the families whose nodes the monitor places. Nodes that are drained at RUNTIME alone
    are returned as MEMORY has them, and servers that ProxySQL leaves SHUNNED as SHUNNED.
    """
    if layout.table.role is Role.SERVERS:
        return _servers(layout, layers, topology.of_servers(layout))
    rows = fold_users(layout, layers[Layer.RUNTIME])
    known = fold_users(layout, layers[Layer.MEMORY])
    image = runtime_image(layout, dict(known))
    result: Rows = {}
    for key, row in rows.items():
        explained = key in image and not differing(layout, row, image[key])
        result[key] = known[key] if explained else row
    # RUNTIME does not show rows that are inactive or that the LOAD ignored.
    hidden = {key: row for key, row in known.items() if key not in result and key not in image}
    return result | hidden


def passed_over(layout: Layout, layer: Layer, layers: Mapping[Layer, Rows]) -> dict[Key, str]:
    """Return the rows of a layer that ProxySQL does not use, with the reason.

    For RUNTIME these are MEMORY rows that RUNTIME does not show.
    """
    if layer is not Layer.RUNTIME:
        return ignored_rows(layout, layers[layer])
    live = fold_users(layout, layers[Layer.RUNTIME])
    ignored = ignored_rows(layout, fold_users(layout, layers[Layer.MEMORY]))
    return {key: text for key, text in ignored.items() if key not in live}


def _servers(layout: Layout, layers: Mapping[Layer, Rows], topology: Topology) -> Rows:
    """Return the servers without the monitor's placement and without drains."""
    runtime, memory, disk = (layers[name] for name in (Layer.RUNTIME, Layer.MEMORY, Layer.DISK))
    drained = drained_nodes(layout, runtime, memory, disk)
    shunned = stays_shunned(layout, runtime, memory, disk, topology)
    read, identity, in_family = server_reader(layout), topology.identity, topology.by_hostgroup
    live = without_off(layout, runtime)
    first = {identity(key): row for key, row in reversed(live.items())}
    configured = set(map(identity, memory))
    result: Rows = {}
    for key, row in live.items():
        is_discovered = first[identity(key)] is row and identity(key) not in configured
        if key[0] not in in_family or is_discovered:
            result[key] = row if key in shunned else without_shunning(layout, row)
    for key, row in memory.items():
        server = read(row)
        is_drained = server.node in drained
        if key[0] in in_family and identity(key) in first:
            placed, status = live.get(key, first[identity(key)]), row[layout.index["status"]]
            placed = replace_cells(layout, placed, hostgroup_id=server.hostgroup, status=status)
            result[key] = row if is_drained else placed
        elif (is_drained and key in live) or (key not in result and server.is_off):
            result[key] = row
    return result
