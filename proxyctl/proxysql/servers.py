"""A server as ProxySQL reads its row: whether it takes queries, is drained, stays shunned. Pure."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import NamedTuple

from proxyctl.catalog import Layout, Role, Value
from proxyctl.proxysql.topology import Node, Topology
from proxyctl.rows.row import DesiredRow, Key, Row, Rows, replace_cells

Address = tuple[str, int]
"""hostname in lower case, and port."""


class Server(NamedTuple):
    """The cells of a row of mysql_servers or pgsql_servers that decide about traffic.

    `status` in upper case. The cells of a row from files may be KEEP.
    """

    hostgroup: int
    hostname: str
    port: int
    status: str = "ONLINE"
    weight: int = 1
    max_connections: int = 1000
    use_ssl: int = 0

    @property
    def node(self) -> Node:
        """Hostname and port."""
        return (self.hostname, self.port)

    @property
    def key(self) -> Key:
        """The key of the row."""
        return (self.hostgroup, self.hostname, self.port)

    @property
    def address(self) -> Address:
        """The identity of the server, wherever it stands."""
        return (self.hostname.lower(), self.port)

    @property
    def is_off(self) -> bool:
        """Whether the row is OFFLINE_HARD; such a row never reaches RUNTIME."""
        return self.status == "OFFLINE_HARD"

    @property
    def is_shunned(self) -> bool:
        """Whether the row is SHUNNED, other than during a blue/green switch of AWS."""
        return self.status == "SHUNNED"

    @property
    def serves(self) -> bool:
        """Whether ProxySQL sends new queries to the server.

        ProxySQL never chooses a server with weight 0, and opens no connection to one with
        max_connections 0. Source: ProxySQL 2.7.1, run.
        """
        return self.status == "ONLINE" and self.weight != 0 and self.max_connections != 0

    @property
    def is_out_of_service(self) -> bool:
        """Whether the row keeps new connections from the server."""
        return self.status == "OFFLINE_SOFT" or self.max_connections == 0

    @property
    def is_drained_by_limit(self) -> bool:
        """Whether the row drains its server as a Galera node is drained."""
        return self.weight == 0 and self.max_connections == 0

    @property
    def drained_by(self) -> frozenset[str]:
        """The columns by which the row drains its server; empty if the server is not drained.

        max_connections 0 drains a node of a Galera family, and weight 0 keeps the monitor from
        making it the writer. The status drains any other server; the Galera monitor would undo the
        status.
        """
        status = {"status"} if self.status == "OFFLINE_SOFT" else set()
        limits = {"weight", "max_connections"} if self.is_drained_by_limit else set()
        return frozenset(status | limits)

    @property
    def rank(self) -> tuple[Value, ...]:
        """The sort key by which the Galera monitor elects writers; the highest wins."""
        return (self.weight, self.hostname, self.port)


_COLUMNS = ("hostgroup_id", "hostname", "port", "status", "weight", "max_connections", "use_ssl")


def server_reader(layout: Layout) -> Callable[[DesiredRow], Server]:
    """Return the function that reads a row of mysql_servers or pgsql_servers."""
    cells_of = itemgetter(*(layout.index[name] for name in _COLUMNS))

    def read(row: DesiredRow) -> Server:
        hostgroup, hostname, port, status, *remaining = cells_of(row)
        return Server(hostgroup, hostname, port, str(status).upper(), *remaining)

    return read


def without_off(layout: Layout, runtime: Rows) -> Rows:
    """Return RUNTIME without OFFLINE_HARD rows, which hold the last connections of removed servers.

    They count as absent.
    """
    read = server_reader(layout)
    return {key: row for key, row in runtime.items() if not read(row).is_off}


def drained_nodes(layout: Layout, runtime: Rows, memory: Rows, disk: Rows) -> frozenset[Node]:
    """Return the nodes that are drained on all rows at RUNTIME, but neither in MEMORY nor on DISK.

    A table without servers has none.
    """
    if layout.table.role is not Role.SERVERS:
        return frozenset()

    def nodes(rows: Rows, *, open_only: bool) -> set[Node]:
        return {
            server.node
            for server in map(server_reader(layout), rows.values())
            if not server.is_off and not (open_only and server.drained_by)
        }

    drained = nodes(runtime, open_only=False) - nodes(runtime, open_only=True)
    if not drained:
        return frozenset()
    return frozenset(drained & nodes(memory, open_only=True) & nodes(disk, open_only=True))


def stays_shunned(
    layout: Layout, runtime: Rows, memory: Rows, disk: Rows, topology: Topology
) -> frozenset[Key]:
    """Return the keys of the servers that are SHUNNED and that ProxySQL never uses again.

    ProxySQL undoes the SHUNNED that it sets itself, but not one that it loaded. RUNTIME shows both
    alike. Only a statement or a .cnf brings SHUNNED into MEMORY or onto DISK: a SAVE writes ONLINE.
    So a server that is SHUNNED there, too, was loaded so. (The exception: a LOAD of SHUNNED over
    one of ProxySQL's own, which the next query may undo. A LOAD of ONLINE is right for both.)
    `topology`: the families whose nodes the monitor places; the Galera monitor undoes either.
    Source: ProxySQL 2.7.1 and 3.0.3, run.
    """
    if layout.table.role is not Role.SERVERS:
        return frozenset()
    read, own_topology = server_reader(layout), topology.of_servers(layout)

    def is_placed_by_galera(key: Key) -> bool:
        family = own_topology.family_of(key[0])
        return family is not None and family.is_galera

    return frozenset(
        key
        for key, row in runtime.items()
        if read(row).is_shunned
        and any(read(rows[key]).is_shunned for rows in (memory, disk) if key in rows)
        and not is_placed_by_galera(key)
    )


def without_shunning(layout: Layout, row: Row) -> Row:
    """Return a row of RUNTIME without a SHUNNED that ProxySQL itself has set."""
    if not str(row[layout.index["status"]]).upper().startswith("SHUNNED"):
        return row
    return replace_cells(layout, row, status="ONLINE")
