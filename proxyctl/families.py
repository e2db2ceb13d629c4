"""Monitored hostgroup families: the hostgroups among which ProxySQL's monitor moves nodes.

One active row of mysql_galera_hostgroups, mysql_group_replication_hostgroups,
mysql_replication_hostgroups or mysql_aws_aurora_hostgroups makes a family, as long as
`mysql-monitor_enabled` is on at RUNTIME. Inside a family the hostgroup and the status of a node at
RUNTIME are the monitor's business: a plan compares membership and attributes, and a LOAD of MYSQL
SERVERS keeps the placement. Pure.
Source: measured on a three-node Galera cluster behind ProxySQL 2.7.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from proxyctl.catalog import Layout, Value
from proxyctl.compare import Difference, differing
from proxyctl.state import DesiredRow, Key, Row, Rows

Node = tuple[Value, Value]
"""hostname and port."""

FAMILY_TABLES = (
    "mysql_galera_hostgroups",
    "mysql_group_replication_hostgroups",
    "mysql_aws_aurora_hostgroups",
    "mysql_replication_hostgroups",
)


@dataclass(frozen=True)
class Family:
    """One monitored family.

    `places` says whether RUNTIME rows of its nodes may stand SHUNNED on purpose (Galera only);
    `discovers` whether the monitor adds nodes that nobody configured.
    """

    kind: str
    writer: Value
    hostgroups: frozenset[Value]
    offline: Value = None
    discovers: bool = False

    @property
    def is_galera(self) -> bool:
        """Whether the Galera monitor places the nodes."""
        return self.kind == "galera"


def families_in(
    layouts: Mapping[str, Layout], tables: Mapping[str, Iterable[Row]], *, rds_discovery: bool
) -> list[Family]:
    """Return the families that the rows of these tables define."""
    found = []
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
                    discovers=kind in ("group_replication", "aurora")
                    or (kind == "replication" and rds_discovery),
                )
            )
    return found


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
    max_connections: int

    @classmethod
    def of(cls, layout: Layout) -> ServerColumns:
        """Return the positions for this layout of mysql_servers (or pgsql_servers)."""
        names = ("hostgroup_id", "hostname", "port", "status", "max_connections")
        return cls(*(layout.index[name] for name in names))

    def node(self, row: DesiredRow) -> Node:
        """Return the node a row is about."""
        return (row[self.hostname], row[self.port])  # type: ignore[return-value]


def same_status(current: object, desired: object) -> bool:
    """Return whether a RUNTIME status agrees with a configured one: SHUNNED is a healthy node's."""
    healthy = ("ONLINE", "SHUNNED", "SHUNNED_REPLICATION_LAG")
    one, other = str(current).upper(), str(desired).upper()
    return one == other or (one in healthy and other in healthy)


@dataclass
class ServersVerdict:
    """How RUNTIME servers compare with the desired ones.

    `drained` are nodes of Galera families taken out by hand (max_connections 0 at RUNTIME);
    `discovered` are nodes the monitor added. Both are left alone and said.
    """

    differences: list[Difference]
    drained: list[Node]
    discovered: list[Node]


def compare_servers(
    layout: Layout,
    runtime: Rows,
    desired: Mapping[Key, DesiredRow],
    families: Iterable[Family],
    *,
    owned: Mapping[Key, bool] | None = None,
    ignored: frozenset[int] = frozenset(),
) -> ServersVerdict:
    """Compare RUNTIME with the desired rows: by family where the monitor places, else exactly.

    `runtime` without OFFLINE_HARD rows: they count as absent. `owned` tells for keys that stand
    only at RUNTIME whether they would be deleted (default: all).
    """
    columns = ServerColumns.of(layout)
    verdict = ServersVerdict([], [], [])
    in_family: dict[Value, Family] = {
        hostgroup: family for family in families for hostgroup in family.hostgroups
    }
    by_node_runtime: dict[tuple[int, Node], list[Row]] = {}
    by_node_desired: dict[tuple[int, Node], list[tuple[Key, DesiredRow]]] = {}
    for key, row in runtime.items():
        family = in_family.get(row[columns.hostgroup])
        if family is not None:
            by_node_runtime.setdefault((id(family), columns.node(row)), []).append(row)
        elif key not in desired and (owned is None or owned.get(key, True)):
            verdict.differences.append(Difference(key, row, None))
    for key, wanted in desired.items():
        family = in_family.get(wanted[columns.hostgroup])  # type: ignore[arg-type]
        if family is not None:
            by_node_desired.setdefault((id(family), columns.node(wanted)), []).append((key, wanted))
            continue
        found = runtime.get(key)
        if found is None:
            verdict.differences.append(Difference(key, None, wanted))
        elif changed := _changed(layout, columns, found, wanted, ignored):
            verdict.differences.append(Difference(key, found, wanted, changed))
    by_id = {id(family): family for family in in_family.values()}
    for place, wanted_rows in by_node_desired.items():
        _compare_node(
            layout, by_id[place[0]], by_node_runtime.get(place, []), wanted_rows, ignored, verdict
        )
    for (family_id, node), rows in by_node_runtime.items():
        if (family_id, node) in by_node_desired:
            continue
        if by_id[family_id].discovers:
            verdict.discovered.append(node)
            continue
        verdict.differences.extend(
            Difference(layout.key_of(row), row, None)
            for row in rows
            if owned is None or owned.get(layout.key_of(row), True)
        )
    return verdict


def _changed(
    layout: Layout,
    columns: ServerColumns,
    current: Row,
    desired: DesiredRow,
    ignored: frozenset[int],
) -> tuple[int, ...]:
    """Return the attributes that differ between a RUNTIME row and a configured one."""
    return tuple(
        position
        for position in differing(layout, current, desired)
        if position not in ignored
        and not (position == columns.status and same_status(current[position], desired[position]))
    )


def _compare_node(
    layout: Layout,
    family: Family,
    runtime: list[Row],
    wanted: list[tuple[Key, DesiredRow]],
    ignored: frozenset[int],
    verdict: ServersVerdict,
) -> None:
    """Compare one node of a family: it must stand somewhere, with the configured attributes."""
    columns = ServerColumns.of(layout)
    if not runtime:
        verdict.differences.extend(Difference(key, None, row) for key, row in wanted)
        return
    by_hostgroup = {row[columns.hostgroup]: (key, row) for key, row in wanted}
    skip = {columns.hostgroup} | ({columns.status} if family.is_galera else set())
    for row in runtime:
        key, configured = by_hostgroup.get(row[columns.hostgroup], wanted[0])
        changed = [
            position
            for position in _changed(layout, columns, row, configured, ignored)
            if position not in skip
        ]
        if is_drained(family, columns, row, configured):
            if columns.node(row) not in verdict.drained:
                verdict.drained.append(columns.node(row))
            changed = [position for position in changed if position != columns.max_connections]
        if changed and all(difference.key != key for difference in verdict.differences):
            verdict.differences.append(Difference(key, row, configured, tuple(changed)))


def is_drained(family: Family, columns: ServerColumns, row: Row, configured: DesiredRow) -> bool:
    """Return whether a node of a Galera family is drained: max_connections 0 at RUNTIME only."""
    position = columns.max_connections
    return family.is_galera and row[position] == 0 and configured[position] != 0


def placed_rows(
    layout: Layout, configured: Rows, runtime: Rows, families: Iterable[Family]
) -> Rows:
    """Return the MEMORY rows whose LOAD leaves every node of a family where it stands.

    Publishing the configured rows instead would make every node of a Galera family a writer at
    once, empty its reader hostgroup and cut its connections until the monitor's next check.

    Shape: rows outside families as configured; nodes of a family with the hostgroups they have at
    RUNTIME and the configured attributes; a new node of a placed Galera family enters through the
    offline hostgroup; discovered nodes stay.
    """
    columns = ServerColumns.of(layout)
    result: Rows = dict(configured)
    for family in families:
        mine = [row for row in configured.values() if row[columns.hostgroup] in family.hostgroups]
        standing: dict[Node, list[Row]] = {}
        for row in runtime.values():
            if row[columns.hostgroup] in family.hostgroups:
                standing.setdefault(columns.node(row), []).append(row)
        nodes = {columns.node(row) for row in mine}
        for row in mine:
            _place_configured(layout, family, row, mine, standing, result)
        if family.discovers:
            for node, rows in standing.items():
                if node not in nodes:
                    result.update((layout.key_of(row), _online(columns, row)) for row in rows)
    return result


def _place_configured(
    layout: Layout,
    family: Family,
    row: Row,
    mine: list[Row],
    standing: dict[Node, list[Row]],
    result: Rows,
) -> None:
    columns = ServerColumns.of(layout)
    node = columns.node(row)
    if str(row[columns.status]).upper() == "OFFLINE_HARD":
        return
    rows = standing.get(node)
    if rows is None:
        if family.is_galera and standing and family.offline is not None:
            result.pop(layout.key_of(row), None)
            entering = _with(row, {columns.hostgroup: family.offline, columns.status: "ONLINE"})
            result[layout.key_of(entering)] = entering
        return
    own = {other[columns.hostgroup]: other for other in mine if columns.node(other) == node}
    result.pop(layout.key_of(row), None)
    for current in rows:
        source = own.get(current[columns.hostgroup], next(iter(own.values())))
        changes: dict[int, Value] = {columns.hostgroup: current[columns.hostgroup]}
        if family.is_galera:
            changes[columns.status] = _galera_status(columns, current, rows)
        if is_drained(family, columns, current, source):
            changes[columns.max_connections] = 0
        placed = _with(source, changes)
        result[layout.key_of(placed)] = placed


def _galera_status(columns: ServerColumns, row: Row, rows: list[Row]) -> Value:
    """SHUNNED is loaded as such only while the node serves elsewhere: the monitor mends that.

    A loaded SHUNNED of a node without another row would stay for ever.
    """
    status = str(row[columns.status]).upper()
    if status != "SHUNNED":
        return status
    serves = any(str(other[columns.status]).upper() == "ONLINE" for other in rows)
    return "SHUNNED" if serves else "ONLINE"


def _online(columns: ServerColumns, row: Row) -> Row:
    status = str(row[columns.status]).upper()
    return _with(row, {columns.status: "ONLINE"}) if status.startswith("SHUNNED") else row


def _with(row: Row, changes: dict[int, Value]) -> Row:
    cells = list(row)
    for position, value in changes.items():
        cells[position] = value
    return tuple(cells)
