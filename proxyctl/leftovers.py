"""What a command of ours left in MEMORY when it was killed: rows staged for a LOAD. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import replace

from proxyctl.catalog import Value
from proxyctl.drains import Drain
from proxyctl.families import Node
from proxyctl.state import KEEP, DesiredRow, DesiredTable, Key, Rows


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
    found = (json.loads(one.removeprefix(_NODE)) for one in sorted(leftovers) if _NODE in one)
    return [(host, port) for host, port in found]


def meant_rows(leftovers: Collection[str], drains: Iterable[Drain]) -> Rows | None:
    """Return what MEMORY is meant to hold, as the record has it of the one whose command died.

    None where no record that counts has it.
    """
    # Only that one: half drained nodes may be on record with what was there long ago.
    found = (one.memory for one in drains if as_on_record(one.node) in leftovers)
    return next(filter(None, found), None)


def with_status_again(
    servers: DesiredTable,
    memory: Rows,
    leftovers: Collection[str],
    galera: Collection[Value],
    meant: Rows | None = None,
) -> DesiredTable:
    """Return the desired servers with a status where MEMORY only has the one of an apply.

    A status that the files do not set is MEMORY's own. But a LOAD that keeps the placement stages
    SHUNNED where the monitor of a Galera cluster has put it, one that lets connections end
    OFFLINE_SOFT for servers that leave, and what was staged is not a decision of anybody.
    `leftovers`: what the lock of the dead apply says; `galera`: the hostgroups of such clusters;
    `meant`: as `meant_rows`, where a command for a node died, which stages OFFLINE_SOFT.
    """
    position = servers.layout.index["status"]
    rows: dict[Key, DesiredRow] = {}
    unstaged: set[Key] = set()
    for key, row in servers.rows.items():
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
        rows[key] = row
    return replace(servers, rows=rows, unstaged=frozenset(unstaged))
