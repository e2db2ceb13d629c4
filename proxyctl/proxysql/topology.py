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

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

from proxyctl.catalog import Layout, Value
from proxyctl.proxysql.cells import number
from proxyctl.rows.row import Key, Layer, Row, Rows

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


_RDS_DISCOVERY = "mysql-monitor_aws_rds_topology_discovery_interval"


MONITOR_VARIABLES = (
    "mysql-monitor_enabled",
    "pgsql-monitor_enabled",
    _RDS_DISCOVERY,
    "mysql-monitor_writer_is_also_reader",
    "pgsql-monitor_writer_is_also_reader",
)
"""The variables that `MonitorSettings` reads."""


@dataclass(frozen=True)
class MonitorSettings:
    """The variables at RUNTIME that decide what the monitor does with the rows of families."""

    is_on: bool = True
    """Whether the monitor places servers of MySQL."""
    is_on_for_pgsql: bool = True
    discovers_rds: bool = False
    """Whether it adds nodes of Amazon RDS to replication families."""
    keeps_reader: bool = True
    """Whether the writer of a replication family keeps its row in the reader hostgroup."""
    keeps_reader_for_pgsql: bool = True

    @classmethod
    def of(cls, variables: Mapping[str, str]) -> Self:
        """Return the settings. ProxySQL reads '' as 0."""
        on, on_for_pgsql, interval, *keeps = (variables.get(n, "") for n in MONITOR_VARIABLES)
        keeps_reader = (value == "true" for value in keeps)
        return cls(on == "true", on_for_pgsql == "true", interval not in ("", "0"), *keeps_reader)

    def as_if_on(self) -> MonitorSettings:
        """Return the settings before the monitor was switched off: nodes stay where it put them."""
        return replace(self, is_on=True, is_on_for_pgsql=True)

    @property
    def family_tables(self) -> tuple[str, ...]:
        """The tables whose rows make families."""
        mysql = FAMILY_TABLES if self.is_on else ()
        return mysql + (PGSQL_FAMILY_TABLES if self.is_on_for_pgsql else ())


@dataclass(frozen=True)
class Family:
    """One monitored family."""

    kind: str
    """The kind of the family, such as `galera` or `replication`."""
    writer: Value
    """The writer hostgroup."""
    hostgroups: frozenset[Value]
    """All hostgroups of the family."""
    offline: Value = None
    """The offline hostgroup; None if the kind has none."""
    backup: Value = None
    """The backup writer hostgroup; None if the kind has none."""
    discovers: bool = False
    """Whether the monitor adds nodes that nobody configured."""
    also: tuple[str, ...] = ()
    """The kinds of other rows that claim the family's hostgroups."""
    protocol: str = "mysql"
    """Either `mysql` or `pgsql`."""
    reader: Value = field(default=None, compare=False)
    """The reader hostgroup. Like the two fields below, it is a column of the family's row, and does
    not count in `==`."""
    max_writers: int = field(default=1, compare=False)
    """The cell of that column; 1 if the table does not have it: then `nodes restore` counts on one
    writer, although the monitor of a replication family limits nothing."""
    writer_is_also_reader: int = field(default=0, compare=False)
    """The cell of that column. For replication, whether the monitor's variable of that name is on;
    0 if there is neither."""

    @property
    def identity(self) -> tuple[str, str, Value]:
        """The protocol, the kind and the writer hostgroup: what survives a change of the others."""
        return (self.protocol, self.kind, self.writer)

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

    def writer_reads(
        self, running: Collection[Value], configured: Collection[Value], removed: Collection[Value]
    ) -> bool | None:
        """Return whether the files put a node that is the writer into the reader hostgroup, too.

        The arguments are the node's hostgroups at RUNTIME, in the files, and of the rows that the
        apply removes. None: the files do not decide it. In a replication family the monitor neither
        adds nor removes the reader row of a node that stays the writer, so this is up to the files;
        with writer_is_also_reader off it removes the row after each LOAD.
        Source: 2.7.1 and 3.0.3, run.
        """
        is_left = self.kind == "replication" and self.writer_is_also_reader
        if not is_left or self.writer not in running or self.writer not in configured:
            return None
        if self.reader in configured:
            return True
        return False if self.reader in removed else None


@dataclass(frozen=True)
class Topology:
    """The families that the rows of one configuration make.

    Hostgroups of MySQL and PostgreSQL are different ones with the same numbers: `of_servers` has
    the families of one table of servers.
    """

    families: tuple[Family, ...] = ()

    @classmethod
    def of(
        cls,
        layouts: Mapping[str, Layout],
        tables: Mapping[str, Iterable[Row]],
        settings: MonitorSettings,
    ) -> Topology:
        """Return the families that the rows of these tables make.

        ProxySQL checks each table alone, so rows of two tables may name the same hostgroup. Then
        two monitors place its nodes, and the rows make one family.
        """
        found = [
            family
            for name in settings.family_tables
            if name in layouts and name in tables
            for family in _families(name, layouts[name], tables[name], settings)
        ]
        return cls(tuple(_without_overlap(found)))

    @classmethod
    def placed(
        cls,
        layouts: Mapping[str, Layout],
        tables: Mapping[str, Mapping[Layer, Iterable[Row]]],
        settings: MonitorSettings,
    ) -> Topology:
        """Return the families whose nodes the monitor places now, as MEMORY configures them."""
        memory, runtime = (
            cls.of(layouts, {name: layers[layer] for name, layers in tables.items()}, settings)
            for layer in (Layer.MEMORY, Layer.RUNTIME)
        )
        return memory.placed_in(runtime)

    def of_servers(self, layout: Layout) -> Topology:
        """Return the families whose nodes are rows of this table."""
        return self.of_protocol(layout.name.removesuffix("_servers"))

    def of_protocol(self, protocol: str) -> Topology:
        """Return the families of `mysql` or `pgsql`."""
        own = tuple(family for family in self.families if family.protocol == protocol)
        return self if own == self.families else Topology(own)

    def placed_in(self, runtime: Topology) -> Topology:
        """Return the families whose nodes the monitor places now: same kind, same writer."""
        running = {family.identity for family in runtime.families}
        return Topology(tuple(family for family in self.families if family.identity in running))

    def with_families(self, other: Topology) -> Topology:
        """Return the families of both; for a hostgroup in two, that of `other`."""
        return Topology((*self.families, *other.families))

    @cached_property
    def by_hostgroup(self) -> Mapping[Value, Family]:
        """The families by hostgroup."""
        return {hostgroup: family for family in self.families for hostgroup in family.hostgroups}

    def family_of(self, hostgroup: Value) -> Family | None:
        """Return the family of a hostgroup."""
        return self.by_hostgroup.get(hostgroup)

    def identity(self, key: Key) -> Key:
        """Return an identity of a server's key that survives a move by the monitor.

        Inside a family it is the family and the node, which may have several rows; elsewhere the
        key.
        """
        family = self.by_hostgroup.get(key[0])
        return key if family is None else (family.kind, family.writer, *key[1:])

    def count(self, keys: Iterable[Key]) -> int:
        """Return the number of servers; a node of a family counts once."""
        return len(set(map(self.identity, keys)))


def _families(
    table: str, layout: Layout, rows: Iterable[Row], settings: MonitorSettings
) -> Iterable[Family]:
    """Yield the family of each active row of one table."""
    protocol, _, kind = table.removesuffix("_hostgroups").partition("_")
    kind = kind.removeprefix("aws_")
    discovers = kind in ("group_replication", "aurora", "rds_bgd") or (
        table == "mysql_replication_hostgroups" and settings.discovers_rds
    )
    hostgroups = [n for n, column in enumerate(layout.columns) if column.hostgroup]
    is_pgsql = protocol == "pgsql"
    keeps_reader = settings.keeps_reader_for_pgsql if is_pgsql else settings.keeps_reader
    is_also_reader = int(kind == "replication" and keeps_reader)
    for row in rows:
        cells = dict(zip(layout.names, row, strict=True))
        if cells.get("active", 1) == 1:
            yield Family(
                kind=kind,
                writer=cells["writer_hostgroup"],
                hostgroups=frozenset(row[position] for position in hostgroups),
                offline=cells.get("offline_hostgroup"),
                backup=cells.get("backup_writer_hostgroup"),
                discovers=discovers,
                protocol=protocol,
                reader=cells["reader_hostgroup"],
                max_writers=number(cells.get("max_writers", 1)) or 0,
                writer_is_also_reader=number(cells.get("writer_is_also_reader", is_also_reader))
                or 0,
            )


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


@dataclass(frozen=True)
class Topologies:
    """The families of an instance during a change."""

    coming: Topology = Topology()
    """Those of the desired rows, which the monitor will place once everything is loaded."""
    desired: Topology = Topology()
    """Those of the desired rows whose nodes the monitor places now."""
    memory: Topology = Topology()
    """Those of the MEMORY rows whose nodes the monitor places now."""
    is_cluster_member: bool = False
    """Whether MEMORY and DISK may hold placed rows that another member sent."""

    @classmethod
    def of(
        cls,
        layouts: Mapping[str, Layout],
        rows: Mapping[str, tuple[Rows, Rows, Rows]],
        settings: MonitorSettings,
        *,
        is_cluster_member: bool = False,
    ) -> Topologies:
        """Return the families. `rows`: desired, in MEMORY and at RUNTIME, by table of families."""
        coming, memory, runtime = (
            Topology.of(layouts, {name: of[side].values() for name, of in rows.items()}, settings)
            for side in range(3)
        )
        placed = coming.placed_in(runtime), memory.placed_in(runtime)
        return cls(coming, *placed, is_cluster_member)

    def around(self, layout: Layout) -> Topology:
        """Return the families, desired and in MEMORY, whose nodes are rows of a table."""
        return self.memory.with_families(self.desired).of_servers(layout)


def main_hostgroup(family: Family, configured: Iterable[Value]) -> Value:
    """Return the hostgroup whose row also configures a node in a hostgroup without a row."""
    return min(configured, key=lambda hostgroup: (hostgroup != family.writer, hostgroup))
