"""Asks every guard about the changes of a plan. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from proxyctl.catalog import Value
from proxyctl.catalog.destinations import SERVERS, destinations_of
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
from proxyctl.state.families import (
    FAMILY_TABLES,
    PGSQL_FAMILY_TABLES,
    families_in,
    families_of,
)
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


class Traffic(NamedTuple):
    """The servers of one protocol, and what needs them. `servers`: the name of their table."""

    table: str
    servers: Servers
    needs: Needs


@dataclass(frozen=True)
class Situation:
    """The facts that guards need besides the changes.

    `traffic`: of each protocol of which a change affects servers or destinations. `logins` None: no
    user has the name of an administrator.
    """

    current: Current
    traffic: tuple[Traffic, ...]
    logins: Logins | None


def hostgroups_in_use(
    diffs: Mapping[str, TableDiff], current: Current
) -> dict[str, HostgroupsInUse]:
    """Return the hostgroups in use by table of servers; none if no hostgroup may lose servers."""
    found: dict[str, HostgroupsInUse] = {}
    for table in SERVERS:
        servers = diffs.get(table)
        if servers is None or not servers.changes[Layer.RUNTIME]:
            continue
        mine = destinations_of(table)
        before = {name: used for name, used in current.hostgroups_used().items() if name in mine}
        after = dict(before)
        for name, column in mine.items():
            diff = diffs.get(name)
            if diff is not None and diff.desired is not None:
                image = runtime_image(diff.layout, dict(diff.target))
                after[name] = hostgroups_in(image.values(), diff.layout.index[column])
        found[table] = HostgroupsInUse(before, after)
    return found


def situation_of(
    modules: Sequence[ModulePlan],
    diffs: Mapping[str, TableDiff],
    current: Current,
    in_use: Mapping[str, HostgroupsInUse],
    around: Surroundings,
    hostgroup_names: Mapping[int, str],
) -> Situation:
    """Return the facts that guards need."""
    layouts = current.look.layouts
    rows = {
        name: (diffs[name].target if name in diffs else current.rows(name)[Layer.MEMORY]).values()
        for name in (*FAMILY_TABLES, *PGSQL_FAMILY_TABLES)
        if name in current.tables
    }
    families = families_in(layouts, rows, rds_discovery=False)
    traffic: list[Traffic] = []
    for table in SERVERS:
        servers = _servers_in(table, modules, current, around)
        if servers is not None:
            writers = frozenset(one.writer for one in families_of(layouts[table], families))
            used = in_use.get(table, HostgroupsInUse()).after
            noun = "hostgroup" if table == "mysql_servers" else "pgsql hostgroup"
            needs = Needs(writers, used, hostgroup_names, noun)
            traffic.append(Traffic(table, servers, needs))
    return Situation(current, tuple(traffic), _logins_in(diffs, current))


def _servers_in(
    table: str, modules: Iterable[ModulePlan], current: Current, around: Surroundings
) -> Servers | None:
    """Return the servers now and afterwards, if the apply changes them or destinations."""
    look, plans = current.look, {name: one for one in modules for name in one.diffs}
    servers = plans.get(table)
    if servers is not None:
        layout, now = look.layouts[table], servers.diffs[table].runtime
        loaded = servers.images[-1][table] if servers.images else now
        return Servers(layout, now, loaded, tuple(families_of(layout, around.families)))
    if not any(name in plans and plans[name].at_runtime(name) for name in destinations_of(table)):
        return None
    layout, now = look.layouts[table], current.at_runtime(table)
    rows = {
        name: current.at_runtime(name).values()
        for name in look.facts.family_tables
        if name in current.tables
    }
    families = families_in(look.layouts, rows, rds_discovery=look.facts.rds_discovery)
    return Servers(layout, now, now, tuple(families_of(layout, families)))


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
    current = situation.current
    yield from deletions(modules, limits)
    for table, servers, needs in situation.traffic:
        if table in changes:
            yield from emptied_hostgroups(servers, needs)
        for name in destinations_of(table):
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
