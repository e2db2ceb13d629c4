"""Asks every guard about the changes of a plan. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from proxyctl.catalog import Value
from proxyctl.catalog.destinations import DESTINATIONS
from proxyctl.instance.facts import CREDENTIALS
from proxyctl.plan.current import Current, hostgroups_in
from proxyctl.plan.diff import Surroundings, TableDiff
from proxyctl.plan.guards import members
from proxyctl.plan.guards.access import (
    blind_monitor,
    dropped_users,
    lockouts,
    logins,
    replaced_logins,
)
from proxyctl.plan.guards.danger import Danger
from proxyctl.plan.guards.deletes import deletions
from proxyctl.plan.guards.hostgroups import Needs, Servers, emptied_hostgroups, strays
from proxyctl.plan.plan import ModulePlan
from proxyctl.state.families import FAMILY_TABLES, families_in
from proxyctl.state.row import GuardLimits, Layer, Rows
from proxyctl.state.runtime import runtime_image


@dataclass(frozen=True)
class HostgroupsInUse:
    """The hostgroups that rules, fast routing and users send traffic to, now and afterwards.

    Shape: by table.
    """

    before: Mapping[str, frozenset[Value]] = field(default_factory=dict)
    after: Mapping[str, frozenset[Value]] = field(default_factory=dict)

    @property
    def at_any_time(self) -> frozenset[Value]:
        """The hostgroups of both sides, over all tables."""
        return frozenset().union(*self.before.values(), *self.after.values())


@dataclass(frozen=True)
class Logins:
    """Users with the name of a login of the admin interface.

    `users` and `admins`: once everything is applied; `before`: names that are both already;
    `admins_now`: the logins until ADMIN VARIABLES is loaded, which comes after MYSQL USERS.
    """

    users: frozenset[str]
    admins: frozenset[str]
    before: frozenset[str]
    admins_now: frozenset[str]


@dataclass(frozen=True)
class Situation:
    """The facts that guards need besides the changes.

    `servers` None: no change affects servers or destinations. `logins` None: no user has the name
    of an administrator.
    """

    current: Current
    needs: Needs
    servers: Servers | None
    logins: Logins | None


def hostgroups_in_use(diffs: Mapping[str, TableDiff], current: Current) -> HostgroupsInUse:
    """Return the hostgroups in use; empty if no hostgroup may lose servers."""
    servers = diffs.get("mysql_servers")
    if servers is None or not servers.changes[Layer.RUNTIME]:
        return HostgroupsInUse()
    before = current.hostgroups_used()
    after = dict(before)
    for name, column in DESTINATIONS.items():
        found = diffs.get(name)
        if found is not None and found.desired is not None:
            image = runtime_image(found.layout, dict(found.target))
            after[name] = hostgroups_in(image.values(), found.layout.index[column])
    return HostgroupsInUse(before, after)


def situation_of(
    modules: Sequence[ModulePlan],
    diffs: Mapping[str, TableDiff],
    current: Current,
    in_use: HostgroupsInUse,
    around: Surroundings,
    hostgroup_names: Mapping[int, str],
) -> Situation:
    """Return the facts that guards need."""
    layouts = current.look.layouts
    rows = {
        name: (diffs[name].target if name in diffs else current.rows(name)[Layer.MEMORY]).values()
        for name in FAMILY_TABLES
        if name in current.tables
    }
    writers = {family.writer for family in families_in(layouts, rows, rds_discovery=False)}
    return Situation(
        current,
        Needs(frozenset(writers), in_use.after, hostgroup_names),
        _servers_in(modules, current, around),
        _logins_in(diffs, current),
    )


def _servers_in(
    modules: Iterable[ModulePlan], current: Current, around: Surroundings
) -> Servers | None:
    """Return the servers now and afterwards, if the apply changes them or destinations."""
    look = current.look
    layout = look.layouts["mysql_servers"]
    plans = {name: one for one in modules for name in one.diffs}
    servers = plans.get("mysql_servers")
    if servers is not None:
        now = servers.diffs["mysql_servers"].runtime
        loaded = servers.images[-1]["mysql_servers"] if servers.images else now
        return Servers(layout, now, loaded, around.families)
    if not any(name in plans and plans[name].at_runtime(name) for name in DESTINATIONS):
        return None
    now, families = current.at_runtime("mysql_servers"), []
    if look.facts.monitor_enabled:
        rows = {
            name: current.at_runtime(name).values()
            for name in FAMILY_TABLES
            if name in current.tables
        }
        families = families_in(look.layouts, rows, rds_discovery=look.facts.rds_discovery)
    return Servers(layout, now, now, tuple(families))


def _logins_in(diffs: Mapping[str, TableDiff], current: Current) -> Logins | None:
    """Return the names that are both a user and a login of the admin interface, now or later."""
    admins = known = current.look.facts.admin_names
    variables = diffs.get("admin_variables")
    if variables is not None:
        texts = (variables.target.get((name,)) for name in CREDENTIALS)
        admins = frozenset(name for row in texts if row for name, _ in logins(str(row[1])))
    users = diffs.get("mysql_users")
    if "mysql_users" not in current.tables or (users is None and admins == known):
        return None
    rows = current.rows("mysql_users")
    target = rows[Layer.MEMORY] if users is None else users.target
    afterwards = _names(current, target, admins | known)
    if not afterwards:
        return None
    return Logins(afterwards, admins, _names(current, rows[Layer.RUNTIME], known), known)


def _names(current: Current, users: Rows, among: Collection[str]) -> frozenset[str]:
    """Return the users with these names that can log in."""
    index = current.look.layouts["mysql_users"].index
    needed = [index[name] for name in ("active", "frontend")]
    return frozenset(
        str(key[0])
        for key, row in users.items()
        if key[0] in among and all(row[position] == 1 for position in needed)
    )


def dangers(
    modules: Sequence[ModulePlan], situation: Situation, limits: GuardLimits
) -> Iterator[Danger]:
    """Yield the findings of all guards."""
    changes = {
        name: found for one in modules for name in one.diffs if (found := one.at_runtime(name))
    }
    current, servers, needs = situation.current, situation.servers, situation.needs
    yield from deletions(modules, limits)
    if servers is not None:
        if "mysql_servers" in changes:
            yield from emptied_hostgroups(servers, needs)
        for name in DESTINATIONS:
            if name in changes:
                yield from strays(current.look.layouts[name], changes[name], servers, needs)
    if "admin_variables" in changes:
        yield from lockouts(changes["admin_variables"], current.look.access)
    for module in modules:
        if "admin_variables" in module.diffs:
            yield from members.checksums_off(module.diffs["admin_variables"])
    if situation.logins is not None:
        names = situation.logins
        yield from replaced_logins(names.users, names.admins, before=names.before)
        yield from dropped_users(names.users - names.before, names.admins_now - names.admins)
    if "mysql_variables" in changes:
        is_on = current.look.facts.monitor_enabled
        yield from blind_monitor(changes["mysql_variables"], is_on=is_on)
    if current.membership.has_peers:
        loaded = [one.name for one in modules if one.images]
        yield from members.dangers(loaded, current.membership)
        yield from members.drained_elsewhere(modules)
