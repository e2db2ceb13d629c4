"""Which servers answer for a hostgroup: the one map from hostgroups to servers and families."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from proxyctl.state.configuration import Configuration
from proxyctl.state.families import FAMILY_TABLES, Family, ServerColumns, by_hostgroup, families_in
from proxyctl.state.row import Key

_SERVERS = "mysql_servers"
_KINDS = {
    "galera": "Galera",
    "group_replication": "group replication",
    "replication": "replication",
    "aurora": "Aurora",
    "rds_bgd": "RDS Blue/Green",
}

Node = tuple[str, int]
"""hostname in lower case, and port."""


class Backend(NamedTuple):
    """A server of a hostgroup, and the key of its row."""

    hostname: str
    port: int
    status: str
    weight: int
    key: Key

    @property
    def node(self) -> Node:
        """What tells it from other servers."""
        return self.hostname.lower(), self.port


@dataclass(frozen=True)
class Destination:
    """The servers that a query may meet.

    Shape: `family` names the monitored family that the hostgroup belongs to; then `backends` are
    all nodes of it, and the monitor decides which of them stand in this hostgroup. It is empty
    where the rows say it themselves: outside of families, and at RUNTIME.
    `is_known` False: the configuration holds no servers at all.
    """

    backends: tuple[Backend, ...]
    family: str = ""
    is_known: bool = True


class HostgroupServers:
    """The servers of each hostgroup of a configuration; those that are OFFLINE_HARD are gone."""

    def __init__(self, configuration: Configuration) -> None:
        self._is_known = _SERVERS in configuration.tables
        self._by_hostgroup = _backends(configuration)
        layouts = {name: held.layout for name, held in configuration.tables.items()}
        tables = {n: configuration.rows(n) for n in FAMILY_TABLES if n in layouts}
        self.families: Sequence[Family] = families_in(layouts, tables, rds_discovery=False)
        self._families = by_hostgroup(self.families)

    @property
    def hostgroups(self) -> Set[object]:
        """The hostgroups that have a server."""
        return self._by_hostgroup.keys()

    def of(self, hostgroup: int) -> tuple[Backend, ...]:
        """Return the servers whose rows name the hostgroup, by hostname."""
        return self._by_hostgroup.get(hostgroup, ())

    def of_family(self, hostgroup: int) -> tuple[Backend, ...]:
        """Return the servers that the monitor may place in the hostgroup, and those there.

        Shape: each node once, by hostname and port.
        """
        family = self._families.get(hostgroup)
        nodes: dict[tuple[str, int], Backend] = {}
        for member in (hostgroup,) if family is None else family.hostgroups:
            for backend in self._by_hostgroup.get(member, ()):
                nodes.setdefault((backend.hostname, backend.port), backend)
        return tuple(nodes[node] for node in sorted(nodes))

    def nodes(self) -> frozenset[Node]:
        """Return the servers of all hostgroups."""
        found = self._by_hostgroup.values()
        return frozenset(backend.node for backends in found for backend in backends)

    def destination(self, hostgroup: int, *, is_placed: bool) -> Destination:
        """Return the servers that a query to the hostgroup may meet.

        `is_placed`: the rows are those of RUNTIME, where each node stands where the monitor put it.
        """
        family = None if is_placed else self._families.get(hostgroup)
        if family is None:
            return Destination(self.of(hostgroup), is_known=self._is_known)
        return Destination(self.of_family(hostgroup), family_text(family), self._is_known)


def family_text(family: Family) -> str:
    """Return what a family is called: `Galera family 10`."""
    return f"{_KINDS.get(family.kind, family.kind)} family {family.writer}"


class NamedRole(Enum):
    """What the name of a hostgroup says of it."""

    WRITER = "writer"
    READER = "reader"


_ROLE_WORDS = {
    NamedRole.WRITER: {"writer", "writers", "write", "writes", "primary", "master", "source", "rw"},
    NamedRole.READER: {"reader", "readers", "read", "reads", "readonly", "ro", "replica"}
    | {"replicas", "slave", "slaves"},
}


def role_in_name(name: str) -> tuple[NamedRole | None, str]:
    """Return the role that a name says, and the name without it: a pair has the same rest."""
    words = set(re.findall(r"[a-z]+", name.lower()))
    role = next((role for role, known in _ROLE_WORDS.items() if words & known), None)
    known_words = set().union(*_ROLE_WORDS.values())
    parts = re.findall(r"[a-z]+|[0-9]+", name.lower())
    return role, " ".join(part for part in parts if part not in known_words)


def _backends(configuration: Configuration) -> dict[object, tuple[Backend, ...]]:
    held = configuration.tables.get(_SERVERS)
    if held is None:
        return {}
    columns = ServerColumns.of(held.layout)
    found: dict[object, list[Backend]] = {}
    by_hostname = sorted(held.rows.items(), key=lambda item: str(item[1][columns.hostname]))
    for key, row in by_hostname:
        if not columns.is_off(row):
            hostname, port = columns.node(row)
            status = str(row[columns.status]).upper()
            backend = Backend(
                str(hostname), int(port or 0), status, int(row[columns.weight] or 0), key
            )
            found.setdefault(row[columns.hostgroup], []).append(backend)
    return {hostgroup: tuple(backends) for hostgroup, backends in found.items()}
