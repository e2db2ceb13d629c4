"""Keeps on the instance which nodes are drained: since when, by whom, and what was there before.

Rows in a TEMP table, as the lock is one: all admin sessions see it, SHOW TABLES does not, and it is
gone with the process. So is every drain, since RUNTIME comes from DISK then.
"""

from __future__ import annotations

import json

from proxyctl.admin.client import AdminClient
from proxyctl.admin.lock import Lock
from proxyctl.catalog import Layout
from proxyctl.drains import Drain, DrainMethod
from proxyctl.errors import InstanceError
from proxyctl.families import Node
from proxyctl.sql import Statement, literal, mask_literals
from proxyctl.state import Row, Rows

_TABLE = "proxyctl_drains"
_CREATE = (
    f"CREATE TEMP TABLE IF NOT EXISTS {_TABLE}(hostname, port INT, since INT, who, purpose,"
    " is_done INT, memory, method, PRIMARY KEY(hostname, port))"
)
_NOW = "CAST(strftime('%s','now') AS INT)"
"""The instance's clock: those of several operators need not agree."""


def read_drains(client: AdminClient, layout: Layout) -> dict[Node, Drain]:
    """Return what is on record, by node. `layout` is that of mysql_servers."""
    if not _has_table(client):
        return {}
    found: dict[Node, Drain] = {}
    for cells in client.query(
        f"SELECT hostname, port, since, who, purpose, is_done, memory, method FROM {_TABLE}",
    ):
        host, port, since, who, purpose, is_done, memory, method = (cell or "" for cell in cells)
        node = (host, client.number(port))
        found[node] = Drain(
            node,
            client.number(since),
            who,
            purpose,
            is_done == "1",
            _rows(layout, memory),
            _method(client, node, method),
        )
    return found


def is_on_record(client: AdminClient, node: Node) -> bool:
    """Return whether anything is on record about a drain of this node."""
    if not _has_table(client):
        return False
    rows = client.query(f"SELECT count(*) FROM {_TABLE} WHERE {_is(node)}")
    return client.number(rows[0][0]) > 0


def _has_table(client: AdminClient) -> bool:
    # Asked first: a statement that fails would stand in the instance's error log.
    tables = client.query(f"SELECT count(*) FROM sqlite_temp_master WHERE name={literal(_TABLE)}")
    return tables != [("0",)]


def record_drain(
    client: AdminClient,
    node: Node,
    who: str,
    purpose: str,
    memory: Rows,
    method: DrainMethod = DrainMethod.PROXYSQL,
) -> None:
    """Note that a drain of this node begins, and all rows that MEMORY is meant to hold."""
    texts = [literal(node[0]), literal(node[1]), _NOW, literal(who), literal(purpose), "0"]
    texts += [literal(_text(memory)), literal(method.value)]
    # One statement: a record of before may have what a command that died left in MEMORY.
    sql = f"INSERT OR REPLACE INTO {_TABLE} VALUES ({','.join(texts)})"
    client.execute(Statement.plain(_CREATE))
    client.execute(Statement(sql, lambda: mask_literals(sql)))


def note_memory(client: AdminClient, lock: Lock, node: Node, memory: Rows) -> bool:
    """Note all rows that MEMORY is meant to hold, where the node is on record. Returns whether."""
    if not _has_table(client):
        return False
    sql = f"UPDATE {_TABLE} SET memory={literal(_text(memory))} WHERE {_is(node)}"
    return client.execute(lock.fenced(Statement(sql, lambda: mask_literals(sql)))) > 0


def drain_is_done(client: AdminClient, node: Node) -> None:
    """Note that RUNTIME shows the drain and MEMORY is as it was."""
    client.execute(Statement.plain(f"UPDATE {_TABLE} SET is_done=1 WHERE {_is(node)}"))


def forget_drain(client: AdminClient, node: Node) -> None:
    """Take the node off the record, where there is one at all."""
    client.execute(Statement.plain(_CREATE))
    client.execute(Statement.plain(f"DELETE FROM {_TABLE} WHERE {_is(node)}"))


def _is(node: Node) -> str:
    return f"hostname={literal(node[0])} AND port={literal(node[1])}"


def _method(client: AdminClient, node: Node, name: str) -> DrainMethod:
    if name not in {*DrainMethod}:
        raise InstanceError(
            f"{client.address}: {node[0]}:{node[1]} is drained by {name!r}, which this proxyctl"
            " does not know",
            hint="restore it with the proxyctl that drained it",
        )
    return DrainMethod(name)


def _text(memory: Rows) -> str:
    return json.dumps([list(row) for row in memory.values()])


def _rows(layout: Layout, text: str) -> Rows:
    """Return the rows on record; none where they are no rows of this table."""
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    rows: Rows = {}
    for cells in listed if isinstance(listed, list) else []:
        row: Row = tuple(cells) if isinstance(cells, list) else ()
        if len(row) != len(layout.names) or any(isinstance(cell, list | dict) for cell in row):
            return {}
        rows[layout.key_of(row)] = row
    return rows
