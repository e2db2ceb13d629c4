"""Which servers answer for a hostgroup. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from proxyctl.state.configuration import Configuration
from proxyctl.state.families import FAMILY_TABLES, Family, families_in

_SERVERS = "mysql_servers"
_KINDS = {
    "galera": "Galera",
    "group_replication": "group replication",
    "replication": "replication",
    "aurora": "Aurora",
}


class Backend(NamedTuple):
    """A server of a hostgroup."""

    hostname: str
    port: int
    status: str
    weight: int


@dataclass(frozen=True)
class Destination:
    """The servers of a hostgroup.

    Shape: `family` names the monitored family that the hostgroup belongs to; then `backends` are
    all nodes of it, and the monitor decides which of them stand in this hostgroup. It is empty
    where the rows say it themselves: outside of families, and at RUNTIME.
    `is_known` False: the configuration holds no servers at all.
    """

    backends: tuple[Backend, ...]
    family: str = ""
    is_known: bool = True


class Destinations:
    """Answers which servers a hostgroup has.

    `is_placed`: the rows are those of RUNTIME, where each node stands where the monitor put it.
    """

    def __init__(self, configuration: Configuration, *, is_placed: bool) -> None:
        self._is_known = _SERVERS in configuration.tables
        self._by_hostgroup = _backends(configuration)
        self._families: Mapping[object, Family] = {}
        if not is_placed:
            layouts = {name: held.layout for name, held in configuration.tables.items()}
            tables = {n: configuration.rows(n) for n in FAMILY_TABLES if n in layouts}
            found = families_in(layouts, tables, rds_discovery=False)
            self._families = {one: family for family in found for one in family.hostgroups}

    def of(self, hostgroup: int) -> Destination:
        """Return the servers of a hostgroup."""
        family = self._families.get(hostgroup)
        if family is None:
            return Destination(self._by_hostgroup.get(hostgroup, ()), is_known=self._is_known)
        nodes: dict[tuple[str, int], Backend] = {}
        for member in family.hostgroups:
            for backend in self._by_hostgroup.get(member, ()):
                nodes.setdefault((backend.hostname, backend.port), backend)
        name = f"{_KINDS.get(family.kind, family.kind)} family {family.writer}"
        return Destination(tuple(nodes[node] for node in sorted(nodes)), name, self._is_known)


def _backends(configuration: Configuration) -> dict[object, tuple[Backend, ...]]:
    held = configuration.tables.get(_SERVERS)
    if held is None:
        return {}
    at = held.layout.index
    found: dict[object, list[Backend]] = {}
    for row in sorted(held.rows.values(), key=lambda row: str(row[at["hostname"]])):
        status = str(row[at["status"]]).upper()
        if status == "OFFLINE_HARD":
            continue
        backend = Backend(
            str(row[at["hostname"]]), int(row[at["port"]] or 0), status, int(row[at["weight"]] or 0)
        )
        found.setdefault(row[at["hostgroup_id"]], []).append(backend)
    return {hostgroup: tuple(backends) for hostgroup, backends in found.items()}
