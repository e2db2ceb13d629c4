"""Monitored hostgroup families: the hostgroups among which ProxySQL's monitor moves nodes.

One active row of mysql_galera_hostgroups, mysql_group_replication_hostgroups,
mysql_replication_hostgroups or mysql_aws_aurora_hostgroups makes a family, as long as
`mysql-monitor_enabled` is on at RUNTIME. Inside a family the hostgroup and the status of a node at
RUNTIME are the monitor's business: a plan compares membership and attributes, and a LOAD of MYSQL
SERVERS keeps the placement. Pure.
Source: measured on a three-node Galera cluster behind ProxySQL 2.7.1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar, cast

from proxyctl.catalog import Layout, Value
from proxyctl.cells import number
from proxyctl.compare import Difference, differing
from proxyctl.state import DesiredRow, Key, Row, Rows

Node = tuple[Value, Value]
"""hostname and port."""


def node_text(node: Node) -> str:
    """Return `db1:3306`; the path alone for a Unix socket."""
    host, port = node
    return f"{host}:{port}" if port else str(host)


FAMILY_TABLES = (
    "mysql_galera_hostgroups",
    "mysql_group_replication_hostgroups",
    "mysql_aws_aurora_hostgroups",
    "mysql_replication_hostgroups",
)

MOVE_NODES = ("mysql_servers", "mysql_galera_hostgroups")
"""Tables whose changes move nodes; max_writers of a Galera cluster does."""


@dataclass(frozen=True)
class Family:
    """One monitored family.

    `discovers` tells whether the monitor adds nodes that nobody configured; `also` are the kinds of
    other rows that claim hostgroups of it. The last three are those columns of its row; they do not
    tell one family from another.
    """

    kind: str
    writer: Value
    hostgroups: frozenset[Value]
    offline: Value = None
    backup: Value = None
    discovers: bool = False
    also: tuple[str, ...] = ()
    reader: Value = field(default=None, compare=False)
    max_writers: int = field(default=1, compare=False)
    writer_is_also_reader: int = field(default=0, compare=False)

    @property
    def is_galera(self) -> bool:
        """Whether the Galera monitor places the nodes."""
        return self.kind == "galera"

    @property
    def ends_shunning(self) -> bool:
        """Whether the monitor makes a node that is well ONLINE though it was loaded SHUNNED.

        Source: ProxySQL 2.7.1, run with simulated nodes.
        """
        return self.kind in ("galera", "group_replication")

    @property
    def is_drained_by_limit(self) -> bool:
        """Whether the monitor would undo OFFLINE_SOFT, or makes a server ONLINE that comes back."""
        return self.kind in ("galera", "aurora")


def families_in(
    layouts: Mapping[str, Layout], tables: Mapping[str, Iterable[Row]], *, rds_discovery: bool
) -> list[Family]:
    """Return the families that the rows of these tables define.

    Rows of different tables may name one hostgroup, since ProxySQL checks each table alone. Two
    monitors place its nodes then, and such rows make one family.
    """
    found: list[Family] = []
    for name in FAMILY_TABLES:
        layout = layouts.get(name)
        if layout is None:
            continue
        index = layout.index
        kind = name.removeprefix("mysql_").removesuffix("_hostgroups").removeprefix("aws_")
        for row in tables.get(name, ()):
            if "active" in index and row[index["active"]] != 1:
                continue
            found.append(
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
                    discovers=kind in ("group_replication", "aurora")
                    or (kind == "replication" and rds_discovery),
                    reader=row[index["reader_hostgroup"]],
                    max_writers=_number(row, index.get("max_writers"), 1),
                    writer_is_also_reader=_number(row, index.get("writer_is_also_reader"), 0),
                )
            )
    return _without_overlap(found)


def _number(row: Row, position: int | None, default: int) -> int:
    return default if position is None else number(row[position]) or 0


def _without_overlap(families: Iterable[Family]) -> list[Family]:
    """Join the families that share a hostgroup. The first of them names what they become."""
    result: list[Family] = []
    for family in families:
        joined = family
        for other in [known for known in result if known.hostgroups & family.hostgroups]:
            result.remove(other)
            joined = replace(
                other,
                hostgroups=other.hostgroups | joined.hostgroups,
                discovers=other.discovers or joined.discovers,
                also=(*other.also, joined.kind, *joined.also),
            )
        result.append(joined)
    return result


def monitored(desired: Iterable[Family], runtime: Iterable[Family]) -> list[Family]:
    """Return the desired families whose nodes the monitor places now: same kind, same writer."""
    running = {(family.kind, family.writer) for family in runtime}
    return [family for family in desired if (family.kind, family.writer) in running]


@dataclass(frozen=True)
class ServerColumns:
    """Where the columns that matter here stand in a mysql_servers row."""

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
        """Return the node a row is about."""
        return (row[self.hostname], row[self.port])  # type: ignore[return-value]

    def election(self, row: Row) -> tuple[Value, ...]:
        """Return what the Galera monitor chooses writers by; the highest wins."""
        return (row[self.weight], row[self.hostname], row[self.port])


def same_status(current: object, desired: object) -> bool:
    """Return whether a RUNTIME status agrees with a configured one.

    ProxySQL itself gives an ONLINE server SHUNNED, and takes it back. It does not take back one
    that was loaded, so a configured SHUNNED is no ONLINE.
    Source: ProxySQL 2.7.1, watched in front of healthy servers.
    """
    one, other = str(current).upper(), str(desired).upper()
    return one == other or (one.startswith("SHUNNED") and other in ("ONLINE", "SHUNNED"))


@dataclass
class ServersVerdict:
    """How RUNTIME servers compare with the desired ones.

    `drained` are nodes taken out: those on record, and nodes of Galera families taken out by hand
    (max_connections 0 at RUNTIME). `discovered` are nodes the monitor added. Both are left alone
    and said.
    """

    differences: list[Difference]
    drained: list[Node]
    discovered: list[Node]


def place_of(families: Iterable[Family]) -> Callable[[Key], Key]:
    """Return a function from a server's key to what stays the same when the monitor moves it.

    That is family and node inside a family, where one node may have several rows, and the key
    itself elsewhere.
    """
    in_family = _by_hostgroup(families)

    def place(key: Key) -> Key:
        family = in_family.get(key[0])
        return key if family is None else (family.kind, family.writer, *key[1:])

    return place


def _by_hostgroup(families: Iterable[Family]) -> dict[Value, Family]:
    return {hostgroup: family for family in families for hostgroup in family.hostgroups}


AnyRow = TypeVar("AnyRow", Row, DesiredRow)


@dataclass
class _Servers(Generic[AnyRow]):
    """Server rows on the two sides of the line: those of families by family and node, and others.

    Shape: `outside` by key; `nodes` with every row of a node in its family, and its key.
    """

    outside: dict[Key, AnyRow]
    nodes: dict[tuple[Family, Node], list[tuple[Key, AnyRow]]]


def _divided(
    columns: ServerColumns, rows: Mapping[Key, AnyRow], families: Mapping[Value, Family]
) -> _Servers[AnyRow]:
    found: _Servers[AnyRow] = _Servers({}, {})
    for key, row in rows.items():
        family = families.get(row[columns.hostgroup])  # type: ignore[arg-type]
        if family is None:
            found.outside[key] = row
        else:
            found.nodes.setdefault((family, columns.node(row)), []).append((key, row))
    return found


@dataclass(frozen=True)
class _Comparison:
    """What both ways of comparing have to know. `is_owned` answers for rows of no file.

    `shunned_by_hand`: the configured rows whose SHUNNED at RUNTIME is not ProxySQL's own.
    """

    layout: Layout
    columns: ServerColumns
    is_owned: Callable[[Key], bool]
    ignored: frozenset[int]
    drains: Collection[Node]
    shunned_by_hand: Collection[Key]

    def changed(
        self, key: Key, current: Row, desired: DesiredRow, *, ends_shunning: bool = False
    ) -> tuple[int, ...]:
        """Return the attributes that differ between a RUNTIME row and a configured one."""
        status = self.columns.status
        one, other = current[status], desired[status]
        by_hand = key in self.shunned_by_hand and not ends_shunning
        is_same = not by_hand and same_status(one, other)
        is_same = is_same or (ends_shunning and same_status(other, one))
        return tuple(
            position
            for position in differing(self.layout, current, desired)
            if position not in self.ignored and not (position == status and is_same)
        )


def compare_servers(
    layout: Layout,
    runtime: Rows,
    desired: Mapping[Key, DesiredRow],
    families: Iterable[Family],
    *,
    owned: Mapping[Key, bool] | None = None,
    ignored: frozenset[int] = frozenset(),
    drains: Collection[Node] = (),
    shunned_by_hand: Collection[Key] = (),
) -> ServersVerdict:
    """Compare RUNTIME with the desired rows: by family where the monitor places, else exactly.

    `runtime` without OFFLINE_HARD rows: they count as absent. `owned` tells for keys that stand
    only at RUNTIME whether they would be deleted (default: all). `drains`: nodes on record.
    `shunned_by_hand`: keys of desired rows for which RUNTIME was loaded SHUNNED.

    Shape: a difference for every row of a node that is not as configured. Its key is the configured
    row's, so that one key may come several times, with another `current` each time.
    """

    def is_owned(key: Key) -> bool:
        return owned is None or owned.get(key, True)

    columns = ServerColumns.of(layout)
    comparison = _Comparison(layout, columns, is_owned, ignored, drains, shunned_by_hand)
    in_family = _by_hostgroup(families)
    current, wanted = _divided(columns, runtime, in_family), _divided(columns, desired, in_family)
    verdict = ServersVerdict([], [], [])
    verdict.differences.extend(
        _outside_families(comparison, current.outside, wanted.outside, verdict)
    )
    for place, configured in wanted.nodes.items():
        _compare_node(comparison, place[0], current.nodes.get(place, []), configured, verdict)
    for place, rows in current.nodes.items():
        if place not in wanted.nodes:
            _foreign_node(comparison, place, rows, verdict)
    return verdict


def _outside_families(
    comparison: _Comparison,
    current: Rows,
    wanted: Mapping[Key, DesiredRow],
    verdict: ServersVerdict,
) -> Iterator[Difference]:
    """Yield every difference of rows that stay where the files put them. Changes: verdict."""
    for key, row in current.items():
        if key not in wanted and comparison.is_owned(key):
            yield Difference(key, row, None)
    for key, configured in wanted.items():
        found = current.get(key)
        if found is None:
            yield Difference(key, None, configured)
            continue
        held = drained_columns(None, comparison.columns, found, comparison.drains)
        _note_drained(verdict, comparison.columns.node(found), held)
        if changed := tuple(p for p in comparison.changed(key, found, configured) if p not in held):
            yield Difference(key, found, configured, changed)


def _compare_node(
    comparison: _Comparison,
    family: Family,
    current: list[tuple[Key, Row]],
    wanted: list[tuple[Key, DesiredRow]],
    verdict: ServersVerdict,
) -> None:
    """Compare one node of a family: it must stand somewhere, with the configured attributes.

    Changes: verdict.
    """
    columns = comparison.columns
    if not current:
        verdict.differences.extend(Difference(key, None, row) for key, row in wanted)
        return
    by_hostgroup = {row[columns.hostgroup]: (key, row) for key, row in wanted}
    main = by_hostgroup[main_hostgroup(family, by_hostgroup)]
    skip = {columns.hostgroup} | ({columns.status} if family.is_galera else set())
    for _, row in current:
        key, configured = by_hostgroup.get(row[columns.hostgroup], main)
        held = drained_columns(family, columns, row, comparison.drains)
        held = held or drained_by_hand(family, columns, row, configured)
        _note_drained(verdict, columns.node(row), held)
        found = comparison.changed(key, row, configured, ends_shunning=family.ends_shunning)
        changed = [position for position in found if position not in skip | held]
        if changed:
            verdict.differences.append(Difference(key, row, configured, tuple(changed)))


def _note_drained(verdict: ServersVerdict, node: Node, held: frozenset[int]) -> None:
    if held and node not in verdict.drained:
        verdict.drained.append(node)


def _foreign_node(
    comparison: _Comparison,
    place: tuple[Family, Node],
    rows: list[tuple[Key, Row]],
    verdict: ServersVerdict,
) -> None:
    """Judge a node that stands in a family and in no file. Changes: verdict."""
    family, node = place
    if family.discovers:
        verdict.discovered.append(node)
        return
    verdict.differences.extend(
        Difference(key, row, None) for key, row in rows if comparison.is_owned(key)
    )


def main_hostgroup(family: Family, configured: Iterable[object]) -> Value:
    """Return the hostgroup whose row counts where the node stands in one that no file names."""
    found = cast("Iterable[int]", configured)
    return min(found, key=lambda hostgroup: (hostgroup != family.writer, hostgroup))


def drained_columns(
    family: Family | None, columns: ServerColumns, row: Row, drains: Collection[Node]
) -> frozenset[int]:
    """Return the columns that a drain on record holds in a RUNTIME row, if the row still shows it.

    A node of Galera is drained by its limit, and weighs nothing lest it become the writer. One of
    Aurora is drained by its limit alone: that monitor gives weights of its own. Any other server is
    drained by its status. Without a family it is either: one of Galera has none while the monitor
    is off.
    """
    if columns.node(row) not in drains:
        return frozenset()
    if family is None and row[columns.max_connections] == 0:
        weightless = [columns.weight] if row[columns.weight] == 0 else []
        return frozenset([columns.max_connections, *weightless])
    if family is not None and family.is_drained_by_limit:
        shows = row[columns.max_connections] == 0
        held = [columns.max_connections, *([columns.weight] if family.is_galera else [])]
        return frozenset(held if shows else [])
    shows = str(row[columns.status]).upper() == "OFFLINE_SOFT"
    return frozenset([columns.status] if shows else [])


def drained_by_hand(
    family: Family, columns: ServerColumns, row: Row, configured: DesiredRow
) -> frozenset[int]:
    """Return the columns by which a node of a Galera family is drained that is not on record.

    That is max_connections 0 at RUNTIME only. Weight 0 comes with it where another member of a
    ProxySQL Cluster drained it: what was loaded there travels, the record does not.
    """
    limit, weight = columns.max_connections, columns.weight
    if not family.is_galera or row[limit] != 0 or configured[limit] == 0:
        return frozenset()
    return frozenset([limit, weight] if row[weight] == 0 else [limit])
