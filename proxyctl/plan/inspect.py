"""Read an instance into one `InstanceState`, the only reading before an apply.

Sends SELECTs only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from proxyctl.catalog import ADMIN_MODULES, TABLES
from proxyctl.catalog.destinations import DESTINATIONS, SERVERS, servers_of
from proxyctl.instance.client import AdminClient
from proxyctl.instance.cluster import Membership, read_membership
from proxyctl.instance.facts import CREDENTIALS, read_facts, used_connections, used_hostgroups
from proxyctl.instance.lock import read_staged
from proxyctl.instance.plugins import read_ledger
from proxyctl.instance.read import (
    TableLayers,
    TableReader,
    read_counts,
    read_deviations,
    read_layer,
    read_layouts,
)
from proxyctl.plan.guards.shard_moves import FAST_ROUTING, RULES, shard_section_of
from proxyctl.plan.instance_state import InstanceInfo, InstanceState
from proxyctl.plan.plan import REGEX_ENGINE
from proxyctl.proxysql.compare import same_rows
from proxyctl.routing.router import SERVING_TABLES
from proxyctl.rows.desired import Desired
from proxyctl.rows.row import Layer

MOST_UNMANAGED_ROWS = 10_000
"""The most rows that a plan reads of a table which the files do not manage."""

_LARGE = ("MYSQL QUERY RULES", "PGSQL QUERY RULES", "MYSQL USERS", "PGSQL USERS")
"""Admin modules whose tables may take as long to read as the files take to compile."""


def read_info(client: AdminClient, taken_over: Mapping[str, bool] | None = None) -> InstanceInfo:
    """Return the facts of an instance that are read before its rows.

    `taken_over`: for an apply, which holds the lock: the modules that an interrupted apply
    had staged. Raises: InstanceError.
    """
    layouts = read_layouts(client)
    return InstanceInfo(
        client.name,
        client.address,
        client.version_text,
        client.login,
        layouts,
        read_deviations(client, layouts),
        read_facts(client),
        staged=read_staged(client) if taken_over is None else {},
        taken_over=taken_over or {},
        ledger=read_ledger(client),
    )


def begin_reading(client: AdminClient, info: InstanceInfo, likely: Iterable[str]) -> TableReader:
    """Request the large tables early: ProxySQL reads them while the files are compiled.

    One statement a module: the second is answered while the rows of the first are parsed.
    """
    reading, names = TableReader(client), {*likely}
    for module in _LARGE:
        tables = [table.name for table in ADMIN_MODULES[module].tables]
        if names.intersection(tables):
            reading.add(info.layouts[name] for name in tables if name in info.layouts)
    return reading


def inspect(
    client: AdminClient,
    desired: Desired,
    info: InstanceInfo,
    reading: TableReader | None = None,
    *,
    routing: bool = False,
) -> InstanceState:
    """Return the state that a plan of these desired rows may need.

    `reading`: the tables that were requested early. `routing`: also read all tables that decide
    where queries go. Raises: InstanceError.
    """
    reading, layouts = reading or TableReader(client), info.layouts
    reading.add(layouts[name] for name in _needed(desired, routing=routing) if name in layouts)
    tables = reading.tables(desired.tables)
    unmanaged = [layout for name, layout in layouts.items() if name not in tables]
    wanted = {*SERVING_TABLES} if _may_move_shards(desired, tables) else set()
    counts = read_counts(client, (layout for layout in unmanaged if layout.name not in wanted))
    counted = {name: count for name, count in counts.items() if count > MOST_UNMANAGED_ROWS}
    small = [layout for layout in unmanaged if layout.name not in counted]
    modules = {TABLES[name].admin_module for name in desired.tables}
    destinations = {
        name: layouts[name]
        for name in DESTINATIONS
        if name in counted and TABLES[servers_of(name)].admin_module in modules
    }
    return InstanceState(
        info,
        tables,
        unmanaged=read_layer(client, small, Layer.RUNTIME),
        counted=counted,
        destinations=used_hostgroups(client, destinations) if destinations else {},
        connections={
            name: used_connections(client, name)
            for name in SERVERS
            if _servers_leave(name, desired, tables)
        },
        membership=read_membership(client) if info.facts.is_cluster_member else Membership(),
    )


def _needed(desired: Desired, *, routing: bool) -> Iterator[str]:
    """Yield the tables that a plan may need: whole admin modules, since a LOAD moves whole ones."""
    names = {*desired.tables}
    changed = _variables_set(desired)
    if REGEX_ENGINE in changed:
        names.add(RULES)  # a new engine needs a LOAD of the rules
    if changed & {*CREDENTIALS}:
        names.add("mysql_users")  # no user may have the name of an administrator
    names |= {servers_of(name) for name in names & {*DESTINATIONS}}
    if routing:
        names |= {*SERVING_TABLES}
    modules = {TABLES[name].admin_module for name in names}
    for module in ADMIN_MODULES.values():
        if module.name in modules:
            yield from (table.name for table in module.tables)


def _may_move_shards(desired: Desired, tables: Mapping[str, TableLayers]) -> bool:
    """Return whether the files may change rules or fast routing of an instance with shards."""
    running = {name: tables[name] for name in (RULES, FAST_ROUTING) if name in tables}
    # Comparing whole tables takes a tenth of the time of looking at every comment.
    may_change = any(
        name in desired.tables
        and not same_rows(table.rows[Layer.RUNTIME], desired.tables[name].rows)
        for name, table in running.items()
    )
    return may_change and any(
        name == FAST_ROUTING or shard_section_of(table.layout, row) is not None
        for name, table in running.items()
        for row in table.rows[Layer.RUNTIME].values()
    )


def _servers_leave(name: str, desired: Desired, tables: Mapping[str, TableLayers]) -> bool:
    """Return whether a server of this table may leave a hostgroup, so that its connections matter.

    The monitor moves the nodes of a family between hostgroups: there, only a removed node counts.
    """
    desired_table, current_table = desired.tables.get(name), tables.get(name)
    if desired_table is None or current_table is None:
        return False
    nodes = {key[1:] for key in desired_table.rows}
    removed = current_table.rows[Layer.MEMORY].keys() - desired_table.rows.keys()
    return bool(removed) or any(key[1:] not in nodes for key in current_table.rows[Layer.RUNTIME])


def _variables_set(desired: Desired) -> set[object]:
    """Return the names of the variables that the files set."""
    return {
        key[0]
        for name, table in desired.tables.items()
        if TABLES[name].prefix is not None
        for key in table.rows
    }
