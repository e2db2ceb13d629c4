"""Hostgroup families: rows of the monitor's tables that cannot do what they seem to."""

from __future__ import annotations

from functools import lru_cache

from proxyctl.catalog import Value
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_readers import FamilyRow, family_rows
from proxyctl.state.row import Key

SERVERS = "mysql_servers"
GALERA = "mysql_galera_hostgroups"
Cells = dict[str, Value]
Node = tuple[Value, Value]


@lru_cache(maxsize=1)
def servers_by_hostgroup(subject: Subject) -> dict[object, list[tuple[Key, Cells]]]:
    """Return the rows of mysql_servers by their hostgroup."""
    found: dict[object, list[tuple[Key, Cells]]] = {}
    for key, cells in subject.cells(SERVERS):
        found.setdefault(cells["hostgroup_id"], []).append((key, cells))
    return found


def nodes_in(subject: Subject, row: FamilyRow) -> dict[Node, list[tuple[Key, Cells]]]:
    """Return the rows of each node of a family."""
    servers = servers_by_hostgroup(subject)
    found: dict[Node, list[tuple[Key, Cells]]] = {}
    for hostgroup in dict.fromkeys(row.roles.values()):
        for key, cells in servers.get(hostgroup, ()):
            found.setdefault((cells["hostname"], cells["port"]), []).append((key, cells))
    return found


def galera_rows(subject: Subject) -> list[FamilyRow]:
    """Return the active rows of mysql_galera_hostgroups."""
    return [row for row in family_rows(subject) if row.table == GALERA]
