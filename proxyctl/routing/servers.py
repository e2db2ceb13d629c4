"""Map hostgroups to the servers that answer for them, and to families."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from enum import Enum
from operator import attrgetter

from proxyctl.proxysql.configuration import ConfigTable, Configuration
from proxyctl.proxysql.servers import Address, Server, server_reader
from proxyctl.proxysql.topology import Family
from proxyctl.routing.dialect import MYSQL, Dialect

_KINDS = {
    "galera": "Galera",
    "group_replication": "group replication",
    "replication": "replication",
    "aurora": "Aurora",
    "rds_bgd": "RDS Blue/Green",
}


ROLES = ("writer", "backup writer", "reader", "offline")
"""The roles of `Family.roles`."""


@dataclass(frozen=True)
class Destination:
    """The servers that a query may reach."""

    backends: tuple[Server, ...]
    """The servers of the hostgroup; if `family` names a family, all nodes of the family."""
    family: str = ""
    """The monitored family of the hostgroup: the monitor decides which nodes are in the hostgroup.
    It is '' if the rows decide: outside families, and at RUNTIME."""
    by_role: Mapping[str, tuple[Server, ...]] = field(default_factory=dict)
    """The servers of the family by the role of the hostgroup that their rows name."""
    is_known: bool = True
    """False: the configuration has no table of servers."""


class HostgroupServers:
    """The servers of each hostgroup of a configuration, without OFFLINE_HARD rows."""

    def __init__(self, configuration: Configuration, dialect: Dialect = MYSQL) -> None:
        held = configuration.tables.get(dialect.servers)
        self._is_known = held is not None
        self._by_hostgroup = _backends(held) if held else {}
        self.topology = configuration.topology.of_protocol(dialect.protocol)

    @property
    def hostgroups(self) -> Set[object]:
        """The hostgroups that have a server."""
        return self._by_hostgroup.keys()

    def of(self, hostgroup: int) -> tuple[Server, ...]:
        """Return the servers whose rows name the hostgroup, by hostname."""
        return self._by_hostgroup.get(hostgroup, ())

    def of_family(self, hostgroup: int) -> tuple[Server, ...]:
        """Return the servers in the hostgroup, and those that the monitor may place in it.

        Shape: each node once, by hostname and port.
        """
        family = self.topology.family_of(hostgroup)
        nodes: dict[tuple[str, int], Server] = {}
        for member in (hostgroup,) if family is None else family.hostgroups:
            for backend in self._by_hostgroup.get(member, ()):
                nodes.setdefault((backend.hostname, backend.port), backend)
        return tuple(nodes[node] for node in sorted(nodes))

    def nodes(self) -> frozenset[Address]:
        """Return the servers of all hostgroups."""
        groups = self._by_hostgroup.values()
        return frozenset(backend.address for backends in groups for backend in backends)

    def destination(self, hostgroup: int, *, is_placed: bool) -> Destination:
        """Return the servers that a query to the hostgroup may reach.

        `is_placed`: the rows come from RUNTIME, where the monitor has placed each node.
        """
        family = None if is_placed else self.topology.family_of(hostgroup)
        if family is None:
            return Destination(self.of(hostgroup), is_known=self._is_known)
        by_role = {
            role: self.of(member)
            for role, member in zip(ROLES, family.roles, strict=True)
            if isinstance(member, int) and self.of(member)
        }
        return Destination(
            self.of_family(hostgroup), family_text(family), by_role, is_known=self._is_known
        )


def family_text(family: Family) -> str:
    """Return the name of a family: `Galera family 10`."""
    return f"{_KINDS.get(family.kind, family.kind)} family {family.writer}"


class NamedRole(Enum):
    """The role in the name of a hostgroup."""

    WRITER = "writer"
    READER = "reader"


_ROLE_WORDS = {
    NamedRole.WRITER: {"writer", "writers", "write", "writes", "primary", "master", "source", "rw"},
    NamedRole.READER: {"reader", "readers", "read", "reads", "readonly", "ro", "replica"}
    | {"replicas", "slave", "slaves"},
}


def role_in_name(name: str) -> tuple[NamedRole | None, str]:
    """Return the role in a name, and the other words, which a writer and its reader share."""
    words = set(re.findall(r"[a-z]+", name.lower()))
    role = next((role for role, known in _ROLE_WORDS.items() if words & known), None)
    known_words = set().union(*_ROLE_WORDS.values())
    parts = re.findall(r"[a-z]+|[0-9]+", name.lower())
    return role, " ".join(part for part in parts if part not in known_words)


def _backends(held: ConfigTable) -> dict[object, tuple[Server, ...]]:
    by_group: dict[object, list[Server]] = {}
    servers = map(server_reader(held.layout), held.rows.values())
    for server in sorted(servers, key=attrgetter("hostname")):
        if not server.is_off:
            by_group.setdefault(server.hostgroup, []).append(server)
    return {hostgroup: tuple(servers) for hostgroup, servers in by_group.items()}
