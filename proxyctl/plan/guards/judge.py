"""Run the guards of rows, servers, access and members. Pure.

`plan.make` itself runs those of lint, policies and shard moves, which judge two whole
configurations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from proxyctl.catalog import Value
from proxyctl.catalog.destinations import SERVERS, destinations_of
from proxyctl.plan.before_after import hostgroups_in_use
from proxyctl.plan.diff import TableDiff
from proxyctl.plan.guards import Danger, members, mistyped
from proxyctl.plan.guards.access import blind_monitor, lockouts, shared_names
from proxyctl.plan.guards.deletes import deletions
from proxyctl.plan.guards.hostgroups import (
    Needs,
    Servers,
    emptied_hostgroups,
    renumbered_families,
    unserved_destinations,
)
from proxyctl.plan.instance_state import InstanceState
from proxyctl.plan.plan import ModulePlan
from proxyctl.proxysql.configuration import BeforeAfter, Configuration
from proxyctl.proxysql.topology import Topologies, Topology
from proxyctl.rows.desired import SNAPSHOT, Desired


def dangers(
    modules: Sequence[ModulePlan],
    diffs: Mapping[str, TableDiff],
    current: InstanceState,
    desired: Desired,
    topologies: Topologies,
    runtime: Callable[[], BeforeAfter],
) -> Iterator[Danger]:
    """Yield the dangers that all guards find. `runtime`: RUNTIME before and after the apply."""
    changes = {
        name: found
        for module in modules
        for name in module.diffs
        if (found := module.at_runtime(name))
    }
    yield from mistyped.dangers(modules, current.tables)
    yield from _worded(deletions(modules, desired.guards), desired)
    for table in SERVERS:
        if table in current.info.layouts and changes.keys() & {table, *destinations_of(table)}:
            after = _topology(table, runtime().after)
            servers = _servers(table, modules, current, topologies, runtime())
            used = hostgroups_in_use(table, diffs, current)
            needs = Needs(
                writers=frozenset(family.writer for family in after.families),
                before=used.before,
                after=used.after,
                names=desired.hostgroup_names,
                noun="hostgroup" if table == "mysql_servers" else "pgsql hostgroup",
            )
            before = _topology(table, runtime().before)
            renumbered = renumbered_families(servers, needs, before, after)
            yield from renumbered.values()
            known: frozenset[Value] = frozenset().union(*renumbered)
            if table in changes:
                yield from _worded(emptied_hostgroups(servers, needs, known), desired)
            for name in destinations_of(table):
                if name in changes:
                    layout = current.info.layouts[name]
                    yield from unserved_destinations(
                        layout, changes[name], servers, needs, after, known
                    )
    if "admin_variables" in changes:
        yield from lockouts(changes["admin_variables"], current.info.login)
    if "admin_variables" in diffs:
        yield from members.checksums_off(diffs["admin_variables"])
    yield from shared_names(diffs, current)
    if "mysql_variables" in changes:
        is_on = current.info.facts.monitor.is_on
        yield from blind_monitor(changes["mysql_variables"], is_on=is_on)
    if current.membership.has_peers:
        loaded = [module.name for module in modules if module.images]
        yield from members.dangers(loaded, current.membership)
        yield from members.drained_elsewhere(modules)


_SNAPSHOT_HOLDS = (
    "restore other tables with --only, or apply files that contain what would be lost: the"
    " snapshot does not contain it"
)


def _worded(dangers: Iterable[Danger], desired: Desired) -> Iterator[Danger]:
    """Yield dangers of what the desired rows lack; no file can correct those of a snapshot."""
    for danger in dangers:
        yield replace(danger, fix=_SNAPSHOT_HOLDS) if desired.source is SNAPSHOT else danger


def _servers(
    table: str,
    modules: Sequence[ModulePlan],
    current: InstanceState,
    topologies: Topologies,
    runtime: BeforeAfter,
) -> Servers:
    """Return the servers of a table, now and after the last LOAD of the plan."""
    info = current.info
    now, loaded = runtime.before.tables[table].rows, runtime.after.tables[table].rows
    topology = topologies.desired
    diff = next((module.servers for module in modules if table in module.diffs), None)
    if diff is not None:
        # A LOAD as ONLINE undoes their SHUNNED at once, so they count as new servers.
        now = {key: row for key, row in now.items() if key not in diff.shunned}
    else:
        settings = info.facts.monitor
        rows = {name: (current.at_runtime(name) or {}).values() for name in settings.family_tables}
        topology = Topology.of(info.layouts, rows, settings)
    return Servers(info.layouts[table], now, loaded, topology.of_servers(info.layouts[table]))


def _topology(table: str, side: Configuration) -> Topology:
    """Return the families of a table of servers in a configuration, monitored or not."""
    return side.topology.of_servers(side.tables[table].layout)
