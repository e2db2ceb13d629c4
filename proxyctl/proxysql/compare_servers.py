"""Compare the servers at RUNTIME with the desired servers. Pure.

Inside a family the monitor places the nodes, so only membership and attributes count. Elsewhere
rows are compared exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic

from proxyctl.catalog import Layout, Value
from proxyctl.proxysql.compare import Difference, differing
from proxyctl.proxysql.servers import Server, server_reader
from proxyctl.proxysql.topology import Family, Node, Topology, main_hostgroup
from proxyctl.rows.row import AnyRow, DesiredRow, Key, Row, Rows


def _same_status(current: object, desired: object) -> bool:
    """Return whether a status at RUNTIME agrees with a configured one.

    ProxySQL itself changes ONLINE to SHUNNED and back; see `stays_shunned` for the exception.
    """
    have, want = str(current).upper(), str(desired).upper()
    return have == want or (have.startswith("SHUNNED") and want in ("ONLINE", "SHUNNED"))


@dataclass
class ServersVerdict:
    """The result."""

    differences: list[Difference]
    """The differences; a key may appear several times, each time with another `current`."""
    discovered: list[Node]
    """The nodes that the monitor added; a plan leaves them alone."""


@dataclass
class _ServersByFamily(Generic[AnyRow]):
    """Server rows, divided by family."""

    outside: dict[Key, AnyRow]
    """The rows of no family, by key."""
    nodes: dict[tuple[Family, Node], list[tuple[Key, AnyRow]]]
    """The rows of each node of a family, with their keys."""


def _divided(rows: Mapping[Key, AnyRow], topology: Topology) -> _ServersByFamily[AnyRow]:
    servers: _ServersByFamily[AnyRow] = _ServersByFamily({}, {})
    for key, row in rows.items():
        hostgroup, hostname, port = key
        family = topology.family_of(hostgroup)
        if family is None:
            servers.outside[key] = row
        else:
            servers.nodes.setdefault((family, (hostname, port)), []).append((key, row))
    return servers


@dataclass(frozen=True)
class _Comparison:
    """The parameters of a comparison."""

    layout: Layout
    """The layout of the table of servers."""
    read: Callable[[DesiredRow], Server]
    """Returns the cells of a row that decide about traffic."""
    is_owned: Callable[[Key], bool]
    """Returns whether a plan deletes a row that is in no file."""
    ignored: frozenset[int]
    """The positions that are not compared."""
    drained: Collection[Node]
    """The nodes that do not differ in the columns that drain them."""
    shunned: Collection[Key]
    """The keys of the rows whose SHUNNED is not ProxySQL's own, as `compare_servers` takes them."""
    removed: Collection[Key]
    """The keys of the configured rows that the apply removes."""

    def held(self, current: Row) -> frozenset[int]:
        """Return the columns by which a RUNTIME row of a drained node is drained."""
        server = self.read(current)
        names = server.drained_by if server.node in self.drained else ()
        return frozenset(self.layout.index[name] for name in names)

    def changed(self, current: Row, desired: DesiredRow) -> tuple[int, ...]:
        """Return the attributes that differ between a RUNTIME row and a configured one."""
        status = self.layout.index["status"]
        is_exact = self.layout.key_of(current) in self.shunned
        is_same = not is_exact and _same_status(current[status], desired[status])
        return tuple(
            position
            for position in differing(self.layout, current, desired)
            if position not in self.ignored and not (position == status and is_same)
        )


def compare_servers(
    layout: Layout,
    runtime: Rows,
    desired: Mapping[Key, DesiredRow],
    topology: Topology,
    *,
    owned: Mapping[Key, bool] | None = None,
    ignored: frozenset[int] = frozenset(),
    drained: Collection[Node] = (),
    shunned: Collection[Key] = (),
    removed: Collection[Key] = (),
) -> ServersVerdict:
    """Compare RUNTIME with the desired rows: by family where the monitor places, else exactly.

    `runtime` lacks OFFLINE_HARD rows, which count as absent. `owned`: whether a plan deletes a key
    that only RUNTIME has (default: True). `drained` nodes do not differ in the columns that drain
    them. `shunned`: the keys of the rows whose SHUNNED is not ProxySQL's own, and thus differs from
    ONLINE. `removed`: the keys of the configured rows that the apply removes.

    Shape: a difference for each row of a node that is not as configured, under the key of the
    configured row. A key may appear several times, each time with another `current`.
    """

    def is_owned(key: Key) -> bool:
        return owned is None or owned.get(key, True)

    read = server_reader(layout)
    comparison = _Comparison(layout, read, is_owned, ignored, drained, shunned, removed)
    topology = topology.of_servers(layout)
    current, wanted = _divided(runtime, topology), _divided(desired, topology)
    verdict = ServersVerdict([], [])
    verdict.differences.extend(_outside_families(comparison, current.outside, wanted.outside))
    for member, configured in wanted.nodes.items():
        _compare_node(comparison, member[0], current.nodes.get(member, []), configured, verdict)
    for member, rows in current.nodes.items():
        if member not in wanted.nodes:
            _foreign_node(comparison, member, rows, verdict)
    return verdict


def _outside_families(
    comparison: _Comparison,
    current: Rows,
    wanted: Mapping[Key, DesiredRow],
) -> Iterator[Difference]:
    """Yield the differences of rows outside families."""
    for key, row in current.items():
        if key not in wanted and comparison.is_owned(key):
            yield Difference(key, row, None)
    for key, configured in wanted.items():
        have = current.get(key)
        if have is None:
            yield Difference(key, None, configured)
            continue
        held = comparison.held(have)
        if changed := tuple(p for p in comparison.changed(have, configured) if p not in held):
            yield Difference(key, have, configured, changed)


def _compare_node(
    comparison: _Comparison,
    family: Family,
    current: list[tuple[Key, Row]],
    wanted: list[tuple[Key, DesiredRow]],
    verdict: ServersVerdict,
) -> None:
    """Compare one node of a family: it must be present, with the configured attributes.

    A writer must be a reader as well if the files say so. Changes: verdict.
    """
    if not current:
        verdict.differences.extend(Difference(key, None, row) for key, row in wanted)
        return
    index = comparison.layout.index
    read = comparison.read
    configured_by_hostgroup: dict[Value, tuple[Key, DesiredRow]] = {
        read(row).hostgroup: (key, row) for key, row in wanted
    }
    main = configured_by_hostgroup[main_hostgroup(family, configured_by_hostgroup)]
    skip = {index["hostgroup_id"]} | ({index["status"]} if family.is_galera else set())
    running = {read(row).hostgroup for _, row in current}
    removed = {key[0] for key in comparison.removed if key[1:] == wanted[0][0][1:]}
    reads = family.writer_reads(running, configured_by_hostgroup, removed)
    if reads and family.reader not in running:
        key, configured = configured_by_hostgroup[family.reader]
        verdict.differences.append(Difference(key, None, configured))
    for key, row in current:
        if reads is False and read(row).hostgroup == family.reader:
            verdict.differences.append(Difference(key, row, None))
            continue
        key, configured = configured_by_hostgroup.get(read(row).hostgroup, main)
        held = comparison.held(row)
        differing_positions = comparison.changed(row, configured)
        changed = [position for position in differing_positions if position not in skip | held]
        if changed:
            verdict.differences.append(Difference(key, row, configured, tuple(changed)))


def _foreign_node(
    comparison: _Comparison,
    member: tuple[Family, Node],
    rows: list[tuple[Key, Row]],
    verdict: ServersVerdict,
) -> None:
    """Judge a node of a family that is in no file. Changes: verdict."""
    family, node = member
    owned = [(key, row) for key, row in rows if comparison.is_owned(key)]
    if not family.discovers:
        verdict.differences.extend(Difference(key, row, None) for key, row in owned)
    elif owned:
        verdict.discovered.append(node)
