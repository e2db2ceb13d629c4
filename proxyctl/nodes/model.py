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
    """The connections of one server in one hostgroup, counted since ProxySQL started.

    Units: `latency_us` is the round trip of the monitor's last ping; 0 when there was none.
    """

    used: int = 0
    free: int = 0
    errors: int = 0
    queries: int = 0
    latency_us: int = 0

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
    """A row of a server, with its connections at RUNTIME.

    `stays_shunned`: the row is SHUNNED at RUNTIME, and ProxySQL never undoes that.
    """

    server: Server
    connections: Connections = Connections()
    stays_shunned: bool = False


@dataclass(frozen=True)
class MonitorCheck:
    """The last check of a node by the monitor.

    `error`: of the check or of the ping; None without an error. `wsrep`: the columns of
    monitor.mysql_server_galera_log by name. Units: `lag_s` seconds of replication lag.
    """

    at: datetime | None = None
    error: str | None = None
    wsrep: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    read_only: bool | None = None
    lag_s: int | None = None


@dataclass(frozen=True)
class NodeView:
    """One node of a family or hostgroup, with everything known about it.

    `answer`: the answer of the node itself; None if proxyctl did not ask the node.
    """

    node: Node
    configured: tuple[NodeRow, ...] = ()
    runtime: tuple[NodeRow, ...] = ()
    check: MonitorCheck = MonitorCheck()
    answer: NodeAnswer | None = None

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
    """The nodes behind one ProxySQL.

    `is_monitored` False: the monitor is off, and nodes stay in the hostgroups where it placed them.
    """

    name: str
    address: str
    version: str
    groups: tuple[NodeGroup, ...]
    hostgroup_names: Mapping[int, str] = field(default_factory=dict)
    is_monitored: bool = True


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
