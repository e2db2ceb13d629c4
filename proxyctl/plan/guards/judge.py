"""Run every guard on the changes of a plan. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from proxyctl.catalog import Value
from proxyctl.catalog.destinations import SERVERS, destinations_of
from proxyctl.plan.current import Current, hostgroups_in
from proxyctl.plan.diff import Surroundings, TableDiff
from proxyctl.plan.guards import Danger, members
from proxyctl.plan.guards.access import blind_monitor, lockouts, shared_names
from proxyctl.plan.guards.deletes import deletions
from proxyctl.plan.guards.hostgroups import (
    Needs,
    Servers,
    emptied_hostgroups,
    unserved_destinations,
)
from proxyctl.plan.plan import ModulePlan
from proxyctl.state.families import (
    FAMILY_TABLES,
    PGSQL_FAMILY_TABLES,
    Family,
    families_in,
    families_of,
)
from proxyctl.state.row import Desired, Layer
from proxyctl.state.runtime import runtime_image

Used = Mapping[str, frozenset[Value]]
"""The hostgroups that rules, fast routing and users send traffic to, by table."""


class HostgroupsInUse(NamedTuple):
    """The hostgroups in use, now and after the apply."""

    before: Used
    after: Used

    @property
    def at_any_time(self) -> frozenset[Value]:
        """The hostgroups of both sides, over all tables."""
        return frozenset().union(*self.before.values(), *self.after.values())


def hostgroups_in_use(
    diffs: Mapping[str, TableDiff], current: Current
) -> dict[str, HostgroupsInUse]:
    """Return the hostgroups in use by table of servers, without tables that do not change."""
    in_use: dict[str, HostgroupsInUse] = {}
    for table in SERVERS:
        servers = diffs.get(table)
        if servers is None or not servers.changes[Layer.RUNTIME]:
            continue
        destinations = destinations_of(table)
        before = {
            name: used for name, used in current.hostgroups_used().items() if name in destinations
        }
        after = dict(before)
        for name, column in destinations.items():
            diff = diffs.get(name)
            if diff is not None and diff.desired is not None:
                image = runtime_image(diff.layout, dict(diff.target))
                after[name] = hostgroups_in(image.values(), diff.layout.index[column])
        in_use[table] = HostgroupsInUse(before, after)
    return in_use


def dangers(
    modules: Sequence[ModulePlan],
    diffs: Mapping[str, TableDiff],
    current: Current,
    desired: Desired,
    in_use: Mapping[str, HostgroupsInUse],
    surroundings: Surroundings,
) -> Iterator[Danger]:
    """Yield the dangers that all guards find."""
    changes = {
        name: found for one in modules for name in one.diffs if (found := one.at_runtime(name))
    }
    yield from deletions(modules, desired.guards)
    for table in SERVERS:
        if changes.keys() & {table, *destinations_of(table)}:
            servers = _servers(table, modules, current, surroundings)
            used = in_use[table].after if table in in_use else {}
            noun = "hostgroup" if table == "mysql_servers" else "pgsql hostgroup"
            writers = frozenset(one.writer for one in _configured_families(table, diffs, current))
            needs = Needs(writers, used, desired.hostgroup_names, noun)
            if table in changes:
                yield from emptied_hostgroups(servers, needs)
            for name in destinations_of(table):
                if name in changes:
                    layout = current.look.layouts[name]
                    yield from unserved_destinations(layout, changes[name], servers, needs)
    if "admin_variables" in changes:
        yield from lockouts(changes["admin_variables"], current.look.access)
    if "admin_variables" in diffs:
        yield from members.checksums_off(diffs["admin_variables"])
    yield from shared_names(diffs, current)
    if "mysql_variables" in changes:
        is_on = current.look.facts.monitor_enabled
        yield from blind_monitor(changes["mysql_variables"], is_on=is_on)
    if current.membership.has_peers:
        loaded = [one.name for one in modules if one.images]
        yield from members.dangers(loaded, current.membership)
        yield from members.drained_elsewhere(modules)


def _servers(
    table: str, modules: Sequence[ModulePlan], current: Current, surroundings: Surroundings
) -> Servers:
    """Return the servers of a table, now and after the last LOAD of the plan."""
    look = current.look
    for module in modules:
        if table in module.diffs:
            now = module.diffs[table].runtime
            loaded = module.images[-1][table] if module.images else now
            families = families_of(look.layouts[table], surroundings.families)
            return Servers(look.layouts[table], now, loaded, tuple(families))
    now = current.at_runtime(table)
    rows = {
        name: current.at_runtime(name).values()
        for name in look.facts.family_tables
        if name in current.tables
    }
    all_families = families_in(look.layouts, rows, rds_discovery=look.facts.rds_discovery)
    families = families_of(look.layouts[table], all_families)
    return Servers(look.layouts[table], now, now, tuple(families))


def _configured_families(
    table: str, diffs: Mapping[str, TableDiff], current: Current
) -> list[Family]:
    """Return the families of a table of servers, as MEMORY will configure them."""
    layouts = current.look.layouts
    rows = {
        name: (diffs[name].target if name in diffs else current.rows(name)[Layer.MEMORY]).values()
        for name in (*FAMILY_TABLES, *PGSQL_FAMILY_TABLES)
        if name in current.tables
    }
    return families_of(layouts[table], families_in(layouts, rows, rds_discovery=False))
