"""The rows of a drained node without the drain, where the configuration itself holds it. Pure.

A peer of a ProxySQL Cluster takes over what was loaded, the drain with it, into MEMORY and DISK.
Its next LOAD brings that back to the member that drained: what the node had is known elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from proxyctl.catalog import Layout, Value
from proxyctl.families import Family, Node, ServerColumns, drained_columns
from proxyctl.nodes.draining import in_order
from proxyctl.state import KEEP, DesiredRow, Key, Row, Rows

_OUT = ("OFFLINE_SOFT", "OFFLINE_HARD")


def given_back(
    layout: Layout,
    rows: Rows,
    families: Collection[Family],
    node: Node,
    sources: Sequence[Mapping[Key, DesiredRow]],
    *,
    or_defaults: bool,
) -> Rows:
    """Return the rows where those of the node have what the first source that knows it says.

    One that lets connections to it goes before others. A row that all who have it take out stays
    out. `or_defaults`: what nobody knows becomes what a new server has, or what it has elsewhere;
    else it stays as it is.
    """
    columns = ServerColumns.of(layout)
    in_family = {hostgroup: family for family in families for hostgroup in family.hostgroups}
    result = dict(rows)
    for key, row in rows.items():
        family = in_family.get(row[columns.hostgroup])
        held = drained_columns(family, columns, row, {node})
        if not held:
            continue
        near = _known(in_family, key, sources, or_elsewhere=or_defaults)
        known = [found for found in near if _serves(columns, found)]
        known = known or [source[key] for source in sources if key in source]
        cells = list(row)
        for position in held:
            said = [cell for one in known if (cell := one[position]) is not KEEP]
            if said:
                cells[position] = said[0]
            elif or_defaults:
                cells[position] = layout.columns[position].file_default
        result[key] = tuple(cells)
    return result


def kept_drained(
    layout: Layout,
    rows: Rows,
    families: Collection[Family],
    node: Node,
    said: Mapping[Key, DesiredRow],
    files: Mapping[Key, DesiredRow],
) -> dict[Value, str]:
    """Return the hostgroups where these rows have the node drained, and how, by number.

    Those only where it lets connections to it by what is `said`, and the files do not take it out.
    """
    columns = ServerColumns.of(layout)
    in_family = {hostgroup: family for family in families for hostgroup in family.hostgroups}
    found: dict[Value, str] = {}
    for key, row in rows.items():
        hostgroup = row[columns.hostgroup]
        held = drained_columns(in_family.get(hostgroup), columns, row, {node})
        if not held:
            continue
        serves = any(_serves(columns, one) for one in _known(in_family, key, [said]))
        configured = _known(in_family, key, [files])
        is_out = bool(configured) and not any(_serves(columns, one) for one in configured)
        if serves and not is_out:
            found[hostgroup] = _how(columns, held)
    return {hostgroup: found[hostgroup] for hostgroup in in_order(found)}


def said_by_nobody(
    layout: Layout,
    rows: Rows,
    families: Collection[Family],
    node: Node,
    sources: Sequence[Mapping[Key, DesiredRow]],
) -> dict[Value, str]:
    """Return the hostgroups where these rows have the node drained, and how, by number.

    Those only of which no source has anything.
    """
    columns = ServerColumns.of(layout)
    in_family = {hostgroup: family for family in families for hostgroup in family.hostgroups}
    found: dict[Value, str] = {}
    for key, row in rows.items():
        held = drained_columns(in_family.get(row[columns.hostgroup]), columns, row, {node})
        if held and not _known(in_family, key, sources):
            found[row[columns.hostgroup]] = _how(columns, held)
    return {hostgroup: found[hostgroup] for hostgroup in in_order(found)}


def _how(columns: ServerColumns, held: Collection[int]) -> str:
    return "OFFLINE_SOFT" if columns.status in held else "max_connections 0"


def _known(
    in_family: Mapping[Value, Family],
    key: Key,
    sources: Sequence[Mapping[Key, DesiredRow]],
    *,
    or_elsewhere: bool = False,
) -> list[DesiredRow]:
    """Return what the sources have of this row; `or_elsewhere`: or else of the same node.

    Outside of families nobody moves a node: its rows elsewhere say little of this one.
    """
    exact = [source[key] for source in sources if key in source]
    if key[0] not in in_family and (exact or not or_elsewhere):
        return exact
    return [found for source in sources for found in _nearest(in_family, key, source)]


def _nearest(
    in_family: Mapping[Value, Family], key: Key, source: Mapping[Key, DesiredRow]
) -> Iterator[DesiredRow]:
    """Yield the row of this key, or those of the same node in its family, or else its others.

    The monitor may have placed the node where no configured row has it.
    """
    if key in source:
        yield source[key]
        return
    others = {other: row for other, row in source.items() if other[1:3] == key[1:3]}
    family = in_family.get(key[0])
    near = [row for other, row in others.items() if family and other[0] in family.hostgroups]
    yield from near or others.values()


def _serves(columns: ServerColumns, row: DesiredRow) -> bool:
    is_out = row[columns.status] is not KEEP and str(row[columns.status]).upper() in _OUT
    return not is_out and row[columns.max_connections] != 0


def is_said_out(layout: Layout, files: Mapping[Key, DesiredRow], node: Node) -> bool:
    """Return whether the files have the node, and let no connection to any row of it."""
    columns = ServerColumns.of(layout)
    rows = [row for key, row in files.items() if key[1:3] == node]
    return bool(rows) and not any(_serves(columns, row) for row in rows)


def has_same_attributes(
    layout: Layout, families: Collection[Family], one: Rows, other: Rows
) -> bool:
    """Return whether two configurations of a node differ in its places in a family at most."""
    columns = ServerColumns.of(layout)
    placed = {hostgroup for family in families for hostgroup in family.hostgroups}

    def attributes(row: Row) -> tuple[Value, ...]:
        if row[columns.hostgroup] not in placed:
            return row
        return tuple(
            cell
            for position, cell in enumerate(row)
            if position not in (columns.hostgroup, columns.status)
        )

    return {attributes(row) for row in one.values()} == {attributes(row) for row in other.values()}
