"""Which hostgroups have a server that gets queries, now and once the monitor has looked. Pure.

Source: ProxySQL 2.7.1, run with simulated nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from proxyctl.catalog import Layout, Value
from proxyctl.families import Family, Node, ServerColumns
from proxyctl.state import Row, Rows

_Places = Mapping[Value, Row]
"""The rows of one node in a family, by hostgroup."""


def serving(layout: Layout, rows: Rows) -> frozenset[Value]:
    """Return the hostgroups with a server that gets queries: ONLINE, or SHUNNED for the time being.

    One of weight 0 is never chosen, and one that may have no connection gets none.
    """
    columns = ServerColumns.of(layout)
    return frozenset(row[columns.hostgroup] for row in rows.values() if _may_serve(columns, row))


def serving_now(layout: Layout, runtime: Rows, families: Iterable[Family]) -> frozenset[Value]:
    """Return the hostgroups with a server that gets queries at RUNTIME.

    A row of a Galera node counts as SHUNNED for the time being unless the monitor keeps it so.
    """
    columns, rows = ServerColumns.of(layout), dict(runtime)
    for family in families:
        for places in _nodes_of(columns, runtime, family).values():
            if family.is_galera and _is_kept_out(columns, family, places):
                for hostgroup in places.keys() - {family.offline}:
                    del rows[layout.key_of(places[hostgroup])]
    return serving(layout, rows)


def _may_serve(columns: ServerColumns, row: Row) -> bool:
    takes_some = row[columns.weight] != 0 and row[columns.max_connections] != 0
    return takes_some and _is_in_service(columns, row)


def _is_in_service(columns: ServerColumns, row: Row) -> bool:
    """Whether it is ONLINE, or SHUNNED for the time being."""
    return str(row[columns.status]).upper().startswith(("ONLINE", "SHUNNED"))


def with_families(layout: Layout, rows: Rows, families: Iterable[Family]) -> frozenset[Value]:
    """Return the hostgroups that will serve once the monitor has placed the nodes.

    In a Galera cluster every node can be the writer, and which places the others get is worked out:
    a node that becomes the writer may be missing among the readers. Elsewhere the monitor waits
    until a server says that it is the writer, and fills the other hostgroups from one healthy node.
    """
    found = serving(layout, rows)
    columns = ServerColumns.of(layout)
    for family in families:
        healthy = family.hostgroups - {family.offline}
        if family.is_galera:
            nodes = _nodes_of(columns, rows, family)
            found = (found - healthy) | _filled(columns, family, nodes)
        elif found & healthy:
            found |= healthy - {family.writer}
    return found


def _nodes_of(columns: ServerColumns, rows: Rows, family: Family) -> Mapping[Node, _Places]:
    nodes: dict[Node, dict[Value, Row]] = {}
    for row in rows.values():
        if row[columns.hostgroup] in family.hostgroups:
            nodes.setdefault(columns.node(row), {})[row[columns.hostgroup]] = row
    return nodes


def _is_kept_out(columns: ServerColumns, family: Family, places: _Places) -> bool:
    """Whether the monitor lets the node serve in the offline hostgroup only.

    It SHUNs a node with pxc_maint_mode where it was; one that is unwell stands nowhere else.
    """
    return family.offline in places and not any(
        str(row[columns.status]).upper() == "ONLINE"
        for hostgroup, row in places.items()
        if hostgroup != family.offline
    )


def _filled(
    columns: ServerColumns, family: Family, nodes: Mapping[Node, _Places]
) -> frozenset[Value]:
    """Return the hostgroups of a family in which a node will serve, as the monitor elects now.

    A drained node whose weight was left alone may be elected, too.
    """
    there = [one for one in nodes.values() if not _is_kept_out(columns, family, one)]
    return frozenset(
        hostgroup
        for hostgroup, found in _elected(columns, family, there).items()
        if any(_may_serve(columns, row) for places in found for row in places.values())
    )


def once_all_are_well(layout: Layout, rows: Rows, families: Iterable[Family]) -> Counter[Value]:
    """Return how many servers a hostgroup has ONLINE once nobody is SHUNNED or kept out any more.

    The Galera monitor places new nodes and those that come back; elsewhere rows are where they are.
    """
    columns, found = ServerColumns.of(layout), Counter[Value]()
    placed = frozenset[Value]()
    for family in families:
        if family.is_galera:
            placed |= family.hostgroups
            nodes = [*_nodes_of(columns, rows, family).values()]
            elected = _elected(columns, family, nodes)
            found.update({hostgroup: len(there) for hostgroup, there in elected.items()})
    found.update(
        row[columns.hostgroup]
        for row in rows.values()
        if row[columns.hostgroup] not in placed and _is_in_service(columns, row)
    )
    return found


def _elected(
    columns: ServerColumns, family: Family, there: Iterable[_Places]
) -> dict[Value, list[_Places]]:
    """Return the nodes that stand in each hostgroup of a family if these are well."""
    there = [*there]
    # A node that says read_only stands among the readers only.
    readers = [places for places in there if set(places) == {family.reader}]
    candidates = [places for places in there if set(places) != {family.reader}]
    candidates.sort(key=lambda places: _best(columns, family, places), reverse=True)
    writers, waiting = candidates[: family.max_writers], candidates[family.max_writers :]
    # 0: readers are no candidates; 1: all are both; 2: those that wait are.
    also = {0: [], 1: candidates, 2: waiting}.get(family.writer_is_also_reader, [])
    return {family.writer: writers, family.backup: waiting, family.reader: [*readers, *also]}


def _best(columns: ServerColumns, family: Family, places: _Places) -> tuple[Value, ...]:
    row = places.get(family.writer) or next(iter(places.values()))
    return columns.election(row)
