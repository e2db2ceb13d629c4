"""A node as configured, as ProxySQL has it at RUNTIME, and as the node itself answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from proxyctl.catalog import Value
from proxyctl.instance.backend import NodeAnswer
from proxyctl.proxysql.servers import Server
from proxyctl.proxysql.topology import Family, Node

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Connections:
    """The connections of one server in one hostgroup, counted since ProxySQL started."""

    used: int = 0
    """The connections in use."""
    free: int = 0
    """The open connections that are not in use."""
    errors: int = 0
    """The connections that failed."""
    queries: int = 0
    """The queries sent to the server."""
    latency_us: int = 0
    """The round trip of the monitor's last ping; 0 when there was none. Units: microseconds."""

    def __add__(self, other: Connections) -> Connections:
        return Connections(
            self.used + other.used,
            self.free + other.free,
            self.errors + other.errors,
            self.queries + other.queries,
            max(self.latency_us, other.latency_us),
        )


@dataclass(frozen=True)
class NodeRow:
    """A row of a server, with its connections at RUNTIME."""

    server: Server
    """The row."""
    connections: Connections = Connections()
    """The connections of the server in its hostgroup."""
    stays_shunned: bool = False
    """Whether the row is SHUNNED at RUNTIME, and ProxySQL never undoes that."""


@dataclass(frozen=True)
class MonitorCheck:
    """The last check of a node by the monitor."""

    at: datetime | None = None
    """The time of the check; None if there was none."""
    error: str | None = None
    """The error of the check or of the ping; None without an error."""
    wsrep: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    """The columns of monitor.mysql_server_galera_log, by name."""
    read_only: bool | None = None
    """The value of read_only; None if the monitor does not read it."""
    lag_s: int | None = None
    """The replication lag; None if the monitor does not measure it. Units: seconds."""


@dataclass(frozen=True)
class NodeView:
    """One node of a family or hostgroup, with everything known about it."""

    node: Node
    """Host and port."""
    configured: tuple[NodeRow, ...] = ()
    """The rows of the node in MEMORY."""
    runtime: tuple[NodeRow, ...] = ()
    """The rows of the node at RUNTIME."""
    check: MonitorCheck = MonitorCheck()
    """The last check of the node by the monitor."""
    answer: NodeAnswer | None = None
    """The answer of the node itself; None if proxyctl did not ask the node."""

    @property
    def connections(self) -> Connections:
        """The connections of the node in all hostgroups."""
        return sum((row.connections for row in self.runtime), Connections())

    @property
    def is_drained(self) -> bool:
        """Whether RUNTIME shows the node drained and the configuration does not."""
        is_out = bool(self.runtime) and all(row.server.drained_by for row in self.runtime)
        return is_out and not all(row.server.drained_by for row in self.configured)


@dataclass(frozen=True)
class NodeGroup:
    """The nodes of one family, or of one hostgroup without a family."""

    hostgroups: tuple[Value, ...]
    family: Family | None
    nodes: tuple[NodeView, ...]


@dataclass(frozen=True)
class NodeReport:
    """The nodes behind one ProxySQL."""

    name: str
    """The name of the instance in the files, or its address."""
    address: str
    """The address of the admin interface."""
    version: str
    """The version as the instance reports it."""
    groups: tuple[NodeGroup, ...]
    """The families and the hostgroups without a family."""
    hostgroup_names: Mapping[int, str] = field(default_factory=dict)
    """The names of hostgroups from the files, by number."""
    is_monitored: bool = True
    """False: the monitor is off, and nodes stay in the hostgroups where it placed them."""


_STATES = {"0": "Initialized", "1": "Joining", "2": "Donor/Desynced", "3": "Joined", "4": "Synced"}
_PROBLEMS = {
    "primary_partition": ("NO", "not in the primary component"),
    "wsrep_desync": ("YES", "desynced"),
    "wsrep_reject_queries": ("YES", "rejects queries"),
    "pxc_maint_mode": ("YES", "in maintenance"),
}
"""Columns of monitor.mysql_server_galera_log, the value that is a problem, and its meaning."""


def wsrep_state(wsrep: Mapping[str, str]) -> str:
    """Return the state of the node. It may contain text of the server: escape it for a terminal."""
    number = wsrep.get("wsrep_local_state", "")
    return _STATES.get(number, f"wsrep_local_state {number}")


def wsrep_reasons(wsrep: Mapping[str, str]) -> Iterator[str]:
    """Yield why the monitor keeps a node out of service."""
    for column, (value, text) in _PROBLEMS.items():
        if wsrep.get(column) == value:
            yield text
