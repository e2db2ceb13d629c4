"""Which hostgroups serve reads only, and how hostgroups are called in a message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from proxyctl.catalog import Value
from proxyctl.lint.subject import Subject
from proxyctl.state.families import FAMILY_TABLES
from proxyctl.state.row import Key

_READERS = {"reader", "readers", "read", "reads", "readonly", "ro", "replica", "replicas"}
_READERS |= {"slave", "slaves"}
_WRITERS = {"writer", "writers", "write", "writes", "primary", "master", "source", "rw"}


class FamilyRow(NamedTuple):
    """An active row of a table of hostgroup families. Units: hostgroups by role, as columns say."""

    table: str
    key: Key
    cells: dict[str, Value]
    roles: dict[str, int]

    @property
    def kind(self) -> str:
        """As people call it: galera, group_replication, replication, aws_aurora."""
        return self.table.removeprefix("mysql_").removesuffix("_hostgroups")


@lru_cache(maxsize=1)
def family_rows(subject: Subject) -> tuple[FamilyRow, ...]:
    """Return the rows that make the monitor place nodes, each for itself."""
    return tuple(_family_rows(subject))


def _family_rows(subject: Subject) -> Iterator[FamilyRow]:
    for table in FAMILY_TABLES:
        for key, cells in subject.cells(table):
            if cells.get("active", 1) == 1:
                roles = {
                    name: value
                    for name, value in cells.items()
                    if name.endswith("_hostgroup") and isinstance(value, int)
                }
                yield FamilyRow(table, key, cells, roles)


@lru_cache(maxsize=1)
def reader_hostgroups(subject: Subject) -> frozenset[int]:
    """Return the hostgroups that are readers: in a family, else by a name beside a writer's."""
    rows = family_rows(subject)
    members = {hostgroup for row in rows for hostgroup in row.roles.values()}
    writers = {row.roles["writer_hostgroup"] for row in rows if "writer_hostgroup" in row.roles}
    readers = {row.roles["reader_hostgroup"] for row in rows if "reader_hostgroup" in row.roles}
    names = subject.configuration.hostgroup_names
    words = {number: set(re.split(r"[^a-z]+", name.lower())) for number, name in names.items()}
    if any(found & _WRITERS for found in words.values()):
        readers |= {
            number
            for number, found in words.items()
            if found & _READERS and not found & _WRITERS and number not in members
        }
    return frozenset(readers - writers)


def called(subject: Subject, hostgroup: object) -> str:
    """Return how a hostgroup is called in a message: `hostgroup 30 (reader)`."""
    name = subject.configuration.hostgroup_names.get(hostgroup)  # type: ignore[call-overload]
    return f"hostgroup {hostgroup}" + (f" ({name})" if name else "")


@lru_cache(maxsize=1)
def nodes_of(subject: Subject) -> dict[int, set[tuple[Value, Value]]]:
    """Return the nodes of each hostgroup that mysql_servers names, those that are gone not."""
    found: dict[int, set[tuple[Value, Value]]] = {}
    for _, cells in subject.cells("mysql_servers"):
        hostgroup = cells["hostgroup_id"]
        if isinstance(hostgroup, int) and str(cells["status"]).upper() != "OFFLINE_HARD":
            found.setdefault(hostgroup, set()).add((cells["hostname"], cells["port"]))
    return found
