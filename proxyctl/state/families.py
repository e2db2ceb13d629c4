"""Monitored hostgroup families: the hostgroups among which ProxySQL's monitor moves nodes.

One active row of mysql_galera_hostgroups, mysql_group_replication_hostgroups,
mysql_replication_hostgroups, mysql_aws_aurora_hostgroups, mysql_aws_rds_bgd_hostgroups or
pgsql_replication_hostgroups makes a family, as long as the monitor of its protocol is on at
RUNTIME. Inside a family the hostgroup and the status of a node at RUNTIME are the monitor's
business: a plan compares membership and attributes, and a LOAD of servers keeps the placement.
Pure.
Source: measured on a three-node Galera cluster behind ProxySQL 2.7.1, and on a primary and a
standby of PostgreSQL 15 behind 3.0.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from proxyctl.catalog import Layout, Role, Value
from proxyctl.state.cells import number
from proxyctl.state.row import DesiredRow, Key, Row, Rows

Node = tuple[Value, Value]
"""hostname and port."""


def node_text(node: Node) -> str:
    """Return `db1:3306`, or the path of a Unix socket."""
    host, port = node
    return f"{host}:{port}" if port else str(host)


FAMILY_TABLES = (
    "mysql_galera_hostgroups",
    "mysql_group_replication_hostgroups",
    "mysql_aws_aurora_hostgroups",
    "mysql_aws_rds_bgd_hostgroups",
    "mysql_replication_hostgroups",
)
"""The family tables of MySQL. MySQL and PostgreSQL do not share hostgroups."""


PGSQL_FAMILY_TABLES = ("pgsql_replication_hostgroups",)


@dataclass(frozen=True)
class Family:
    """One monitored family.

    `discovers`: the monitor adds nodes that nobody configured. `also`: the kinds of other rows that
    claim the family's hostgroups. The last three fields are columns of the family's row, and not
    part of its identity.
    """

    kind: str
    writer: Value
    hostgroups: frozenset[Value]
    offline: Value = None
    backup: Value = None
    discovers: bool = False
    also: tuple[str, ...] = ()
    protocol: str = "mysql"
    reader: Value = field(default=None, compare=False)
    max_writers: int = field(default=1, compare=False)
    writer_is_also_reader: int = field(default=0, compare=False)

    @property
    def is_galera(self) -> bool:
        """Whether the Galera monitor places the nodes."""
        return self.kind == "galera"

    @property
    def roles(self) -> tuple[Value, ...]:
        """The writer, backup writer, reader and offline hostgroup; None for one that is missing."""
        return (self.writer, self.backup, self.reader, self.offline)

    @property
    def entrance(self) -> Value:
        """The hostgroup through which new nodes enter beside a writer; None: that of their rows.

        In the writer hostgroup a new node would be a second writer until the monitor's next check.
        That check makes a node in the reader hostgroup of a replication family a writer if its
        read_only is off. Source: 2.7.1 and 3.0.3, run.
        """
        return {"galera": self.offline, "replication": self.reader}.get(self.kind)


def families_in(
    layouts: Mapping[str, Layout], tables: Mapping[str, Iterable[Row]], *, rds_discovery: bool
) -> list[Family]:
    """Return the families of both protocols that the rows of these tables define.

    ProxySQL checks each table alone, so rows of two tables may name the same hostgroup. Then two
    monitors place its nodes, and the rows make one family.
    """
    families: list[Family] = []
    for name in (*FAMILY_TABLES, *PGSQL_FAMILY_TABLES):
        layout = layouts.get(name)
        if layout is None:
            continue
        index = layout.index
        protocol, _, kind = name.removesuffix("_hostgroups").partition("_")
        kind = kind.removeprefix("aws_")
        for row in tables.get(name, ()):
            if "active" in index and row[index["active"]] != 1:
                continue
            families.append(
                Family(
                    kind=kind,
                    writer=row[index["writer_hostgroup"]],
                    hostgroups=frozenset(
                        row[index[column.name]] for column in layout.columns if column.hostgroup
                    ),
                    offline=row[index["offline_hostgroup"]]
                    if "offline_hostgroup" in index
                    else None,
                    backup=row[index["backup_writer_hostgroup"]]
                    if "backup_writer_hostgroup" in index
                    else None,
                    discovers=kind in ("group_replication", "aurora", "rds_bgd")
                    or (name == "mysql_replication_hostgroups" and rds_discovery),
                    protocol=protocol,
                    reader=row[index["reader_hostgroup"]],
                    max_writers=_number(row, index.get("max_writers"), 1),
                    writer_is_also_reader=_number(row, index.get("writer_is_also_reader"), 0),
                )
            )
    return _without_overlap(families)


def _number(row: Row, position: int | None, default: int) -> int:
    return default if position is None else number(row[position]) or 0


def _without_overlap(families: Iterable[Family]) -> list[Family]:
    """Join the families that share a hostgroup, under the identity of the first."""
    result: list[Family] = []
    for family in families:
        joined = family
        for other in [earlier for earlier in result if _overlap(earlier, family)]:
            result.remove(other)
            joined = replace(
                other,
                hostgroups=other.hostgroups | joined.hostgroups,
                discovers=other.discovers or joined.discovers,
                also=(*other.also, joined.kind, *joined.also),
            )
        result.append(joined)
    return result


def _overlap(left: Family, right: Family) -> bool:
    return left.protocol == right.protocol and bool(left.hostgroups & right.hostgroups)


def families_of(layout: Layout, families: Iterable[Family]) -> list[Family]:
    """Return the families whose nodes are rows of this table."""
    return [family for family in families if layout.name == f"{family.protocol}_servers"]


def monitored(desired: Iterable[Family], runtime: Iterable[Family]) -> list[Family]:
    """Return the desired families whose nodes the monitor places now: same kind, same writer."""

    def identity(family: Family) -> tuple[str, str, Value]:
        return (family.protocol, family.kind, family.writer)

    running = set(map(identity, runtime))
    return [family for family in desired if identity(family) in running]


@dataclass(frozen=True)
class ServerColumns:
    """The positions of columns in a row of mysql_servers."""

    hostgroup: int
    hostname: int
    port: int
    status: int
    weight: int
    max_connections: int

    @classmethod
    def of(cls, layout: Layout) -> ServerColumns:
        """Return the positions for this layout of mysql_servers (or pgsql_servers)."""
        names = ("hostgroup_id", "hostname", "port", "status", "weight", "max_connections")
        return cls(*(layout.index[name] for name in names))

    def node(self, row: DesiredRow) -> Node:
        """Return the node of a row."""
        return (row[self.hostname], row[self.port])  # type: ignore[return-value]

    def is_off(self, row: DesiredRow) -> bool:
        """Return whether a row is OFFLINE_HARD; such a row never reaches RUNTIME."""
        return str(row[self.status]).upper() == "OFFLINE_HARD"

    def is_shunned(self, row: DesiredRow) -> bool:
        """Return whether a row is SHUNNED, other than during a blue/green switch of AWS."""
        return str(row[self.status]).upper() == "SHUNNED"

    def takes_queries(self, row: Row) -> bool:
        """Return whether ProxySQL sends new queries to the server of a row at RUNTIME."""
        return takes_queries(row[self.status], row[self.weight], row[self.max_connections])

    def election(self, row: Row) -> tuple[Value, ...]:
        """Return the sort key by which the Galera monitor elects writers; the highest wins."""
        return (row[self.weight], row[self.hostname], row[self.port])


def takes_queries(status: Value, weight: Value, max_connections: Value) -> bool:
    """Return whether ProxySQL sends new queries to a server with these cells.

    ProxySQL never chooses a server with weight 0, and opens no connection to one with
    max_connections 0. Source: ProxySQL 2.7.1, run.
    """
    return str(status).upper() == "ONLINE" and weight != 0 and max_connections != 0


def place_of(families: Iterable[Family]) -> Callable[[Key], Key]:
    """Return a function that maps a server's key to an identity that survives a move.

    Inside a family the identity is the family and the node, which may have several rows. Elsewhere
    it is the key.
    """
    in_family = by_hostgroup(families)

    def place(key: Key) -> Key:
        family = in_family.get(key[0])
        return key if family is None else (family.kind, family.writer, *key[1:])

    return place


def by_hostgroup(families: Iterable[Family]) -> dict[Value, Family]:
    """Return the families by hostgroup."""
    return {hostgroup: family for family in families for hostgroup in family.hostgroups}


def main_hostgroup(family: Family, configured: Iterable[object]) -> Value:
    """Return the hostgroup whose row also configures a node in a hostgroup without a row."""
    hostgroups = cast("Iterable[int]", configured)
    return min(hostgroups, key=lambda hostgroup: (hostgroup != family.writer, hostgroup))


def drain_columns(columns: ServerColumns, row: Row) -> frozenset[int]:
    """Return the columns by which a row drains its server; empty if the server is not drained.

    max_connections 0 drains a node of a Galera family, and weight 0 keeps the monitor from making
    it the writer. The status drains any other server; the Galera monitor would undo the status.
    """
    positions: set[int] = set()
    if str(row[columns.status]).upper() == "OFFLINE_SOFT":
        positions.add(columns.status)
    if is_drained_by_limit(columns, row):
        positions |= {columns.weight, columns.max_connections}
    return frozenset(positions)


def is_drained_by_limit(columns: ServerColumns, row: DesiredRow) -> bool:
    """Return whether a row drains its server as a Galera node is drained."""
    return row[columns.weight] == 0 and row[columns.max_connections] == 0


def drained_nodes(layout: Layout, runtime: Rows, memory: Rows, disk: Rows) -> frozenset[Node]:
    """Return the nodes that are drained on all rows at RUNTIME, but neither in MEMORY nor on DISK.

    A table without servers has none.
    """
    if layout.table.role is not Role.SERVERS:
        return frozenset()
    columns = ServerColumns.of(layout)

    def nodes(rows: Rows, *, open_only: bool) -> set[Node]:
        return {
            columns.node(row)
            for row in rows.values()
            if not columns.is_off(row) and not (open_only and drain_columns(columns, row))
        }

    drained = nodes(runtime, open_only=False) - nodes(runtime, open_only=True)
    if not drained:
        return frozenset()
    return frozenset(drained & nodes(memory, open_only=True) & nodes(disk, open_only=True))


def stays_shunned(
    layout: Layout, runtime: Rows, memory: Rows, disk: Rows, families: Iterable[Family]
) -> frozenset[Key]:
    """Return the keys of the servers that are SHUNNED and that ProxySQL never uses again.

    ProxySQL undoes the SHUNNED that it sets itself, but not one that it loaded. RUNTIME shows both
    alike. Only a statement or a .cnf brings SHUNNED into MEMORY or onto DISK: a SAVE writes ONLINE.
    So a server that is SHUNNED there, too, was loaded so. (The exception: a LOAD of SHUNNED over
    one of ProxySQL's own, which the next query may undo. A LOAD of ONLINE is right for both.)
    `families`: those whose nodes the monitor places; the Galera monitor undoes either.
    Source: ProxySQL 2.7.1 and 3.0.3, run.
    """
    if layout.table.role is not Role.SERVERS:
        return frozenset()
    columns, in_family = ServerColumns.of(layout), by_hostgroup(families_of(layout, families))

    def is_placed_by_galera(row: Row) -> bool:
        family = in_family.get(row[columns.hostgroup])
        return family is not None and family.is_galera

    return frozenset(
        key
        for key, row in runtime.items()
        if columns.is_shunned(row)
        and any(columns.is_shunned(rows[key]) for rows in (memory, disk) if key in rows)
        and not is_placed_by_galera(row)
    )


def without_shunning(columns: ServerColumns, row: Row) -> Row:
    """Return a row of RUNTIME without a SHUNNED that ProxySQL itself has set."""
    if not str(row[columns.status]).upper().startswith("SHUNNED"):
        return row
    return with_cells(row, {columns.status: "ONLINE"})


def with_cells(row: Row, changes: Mapping[int, Value]) -> Row:
    """Return the row with new values at these positions."""
    cells = list(row)
    for position, value in changes.items():
        cells[position] = value
    return tuple(cells)
