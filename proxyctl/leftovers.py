"""What a command of ours left in MEMORY when it was killed: rows staged for a LOAD. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import replace

from proxyctl.catalog import Layout, Value
from proxyctl.drains import Drain
from proxyctl.families import Node
from proxyctl.state import KEEP, DesiredRow, DesiredTable, Key, Rows, Scope


def soft_leaver(key: Key) -> str:
    """Return how the lock of an apply says that it makes a server OFFLINE_SOFT before it leaves.

    Like the names of modules beside it, it is removed when MYSQL SERVERS is finished.
    """
    return f"MYSQL SERVERS: OFFLINE_SOFT {json.dumps(key)}"


_NODE = "MYSQL SERVERS: as on record of "


def as_on_record(node: Node) -> str:
    """Return how the lock says that the record of this node has what MEMORY is meant to hold.

    Removed like `soft_leaver`. Other records may be of long before.
    """
    return f"{_NODE}{json.dumps(node)}"


def on_no_record(leftovers: Collection[str]) -> frozenset[str]:
    """Return these without what says which record has the rows that MEMORY is meant to hold."""
    return frozenset(one for one in leftovers if not one.startswith(_NODE))


def nodes_of(leftovers: Collection[str]) -> list[Node]:
    """Return the nodes whose command died, and whose records have what MEMORY is meant to hold."""
    nodes: list[Node] = []
    for one in sorted(leftovers):
        if one.startswith(_NODE):
            with suppress(ValueError, TypeError, RecursionError):  # anybody may write rows
                host, port = json.loads(one.removeprefix(_NODE))
                nodes.append((host, port))
    return nodes


def meant_rows(leftovers: Collection[str], drains: Iterable[Drain]) -> Rows | None:
    """Return what MEMORY is meant to hold, as the record has it of the one whose command died.

    None where no record that counts has it.
    """
    # Only that one: half drained nodes may be on record with what was there long ago.
    found = (one.memory for one in drains if as_on_record(one.node) in leftovers)
    return next(filter(None, found), None)


def unmanaged(layout: Layout) -> DesiredTable:
    """Return the servers of files that say nothing of any; `layout`: of mysql_servers."""
    return DesiredTable(layout, {}, scope=Scope(lambda _key: False, "what was staged"))


def with_status_again(
    servers: DesiredTable,
    memory: Rows,
    leftovers: Collection[str],
    galera: Collection[Value],
    meant: Rows | None = None,
) -> DesiredTable:
    """Return the desired servers with a status where MEMORY only has the one of an apply.

    A status that the files do not set is MEMORY's own. But a LOAD that keeps the placement stages
    SHUNNED where the monitor of a Galera cluster has put it, and OFFLINE_SOFT for nodes that stay
    drained and for servers that leave while connections end. What was staged is not a decision of
    anybody: outside of Galera clusters it ends also where the files say nothing of the server.
    `leftovers`: what the lock of the dead apply says; `galera`: the hostgroups of such clusters;
    `meant`: as `meant_rows`, where a command for a node died, which stages OFFLINE_SOFT.
    """
    position = servers.layout.index["status"]
    rows: dict[Key, DesiredRow] = {}
    unstaged: set[Key] = set()
    for key, row in {**_as_they_are(servers, memory, galera), **servers.rows}.items():
        found = memory.get(key)
        status = str(found[position]).upper() if found else ""
        is_staged = (status == "SHUNNED" and key[0] in galera) or (
            status == "OFFLINE_SOFT" and soft_leaver(key) in leftovers
        )
        before: Value = "ONLINE"
        if meant is not None and found and key in meant:
            before = meant[key][position]
            is_staged = status != str(before).upper()
        if row[position] is KEEP and is_staged:
            row = (*row[:position], before, *row[position + 1 :])
            unstaged.add(key)
        if key in servers.rows or key in unstaged:
            rows[key] = row
    return replace(servers, rows=rows, unstaged=frozenset(unstaged))


def with_nodes_as_saved(
    servers: DesiredTable, memory: Rows, disk: Rows, galera: Collection[Value]
) -> DesiredTable:
    """Return the desired servers, with nodes that the files leave alone as DISK has them.

    An apply that died had placed the nodes of Galera clusters (`galera`: their hostgroups) in
    MEMORY for its LOAD. The next one must not save that.
    """
    placed = {
        key
        for key in memory.keys() | disk.keys()
        if key[0] in galera and not servers.owns(key) and memory.get(key) != disk.get(key)
    }
    if not placed or servers.scope is None:
        return servers
    owns = servers.scope.owns
    return replace(
        servers,
        rows={**servers.rows, **{key: disk[key] for key in placed if key in disk}},
        scope=Scope(lambda key: key in placed or owns(key), servers.scope.text),
    )


def _as_they_are(
    servers: DesiredTable, memory: Rows, galera: Collection[Value]
) -> dict[Key, DesiredRow]:
    """Return rows for the servers of MEMORY that are none of the files' business.

    Without nodes of Galera clusters: they stand in MEMORY where the monitor had placed them.
    """
    layout = servers.layout
    named = {layout.index[name] for name in layout.table.key}
    return {
        key: tuple(cell if at in named else KEEP for at, cell in enumerate(row))
        for key, row in memory.items()
        if not (servers.owns(key) or key[0] in galera)
    }
