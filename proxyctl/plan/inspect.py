"""One instance under survey: what has been read of it, table by table, for one plan."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from proxyctl.catalog import ADMIN_MODULES, Additions, AdminModule, Layout, Value
from proxyctl.catalog.destinations import DESTINATIONS
from proxyctl.instance.client import AdminClient
from proxyctl.instance.facts import RuntimeFacts, read_facts, used_hostgroups
from proxyctl.instance.lock import read_leftovers
from proxyctl.instance.read import TableReader, read_additions, read_layouts
from proxyctl.plan.guards.access import CREDENTIALS, Access, logins
from proxyctl.plan.guards.hostgroups import Needs, Servers
from proxyctl.plan.guards.judge import Logins, Situation
from proxyctl.plan.plan import ModulePlan
from proxyctl.plan.survey import Surroundings, TableSurvey, survey_table
from proxyctl.replay.sides import Sides, _folded, sides_of
from proxyctl.state.families import FAMILY_TABLES, Family, families_in, monitored
from proxyctl.state.row import DesiredTable, Layer, Row, Rows, Scope
from proxyctl.state.runtime import is_copied, runtime_image

LARGE = (
    "mysql_users",
    "pgsql_users",
    "mysql_query_rules",
    "pgsql_query_rules",
    "mysql_query_rules_fast_routing",
    "pgsql_query_rules_fast_routing",
)
"""Tables worth reading ahead, in the order in which they are compared. Users come first: RUNTIME
holds them in halves, and folding those is done while ProxySQL is busy with the next table."""


@dataclass(frozen=True)
class InstanceLook:
    """What is asked first of an instance: the tables it has, and what decides how to read them.

    `additions`: what files may use besides the catalogue. `leftovers`: admin modules that an apply
    staged that died, and whether MEMORY of each was what DISK held before.
    """

    layouts: dict[str, Layout]
    additions: Additions
    facts: RuntimeFacts
    leftovers: Mapping[str, bool]


def look_at(client: AdminClient) -> InstanceLook:
    """Return the first look at an instance."""
    layouts = read_layouts(client)
    return InstanceLook(
        layouts, read_additions(client, layouts), read_facts(client), read_leftovers(client)
    )


@dataclass
class InstanceSurvey:
    """The surveys under way: what has been read of one instance.

    `from_disk`: the admin modules whose MEMORY is read as it will be after LOAD ... FROM DISK.
    """

    client: AdminClient
    reader: TableReader
    layouts: dict[str, Layout]
    facts: RuntimeFacts
    tables: Mapping[str, DesiredTable]
    from_disk: Sequence[AdminModule] = ()
    surroundings: Surroundings = field(default_factory=Surroundings)
    done: dict[str, TableSurvey] = field(default_factory=dict)

    def table(self, name: str) -> TableSurvey:
        """Return the survey of a table; read it when it was not yet."""
        if name not in self.done:
            layout = self.layouts[name]
            read: Callable[[Layer], Rows] = self.reader.layers_of(layout)
            if any(layout.table in module.tables for module in self.from_disk):
                read = _with_memory_from_disk(layout, read)
            self.done[name] = survey_table(layout, self.tables.get(name), read, self.surroundings)
        return self.done[name]

    def at_runtime(self, name: str) -> Rows:
        """Return the rows of RUNTIME of a table, surveyed or not."""
        if name in self.done:
            return held_at_runtime(self.done[name])
        return self.reader.read(self.layouts[name], Layer.RUNTIME)

    def sides(self, hostgroup_names: Mapping[int, str]) -> Sides:
        """Return what routes queries now and once the files are applied."""
        return sides_of(
            self.layouts,
            self.tables,
            lambda layout: self.at_runtime(layout.name),
            version=self.client.version,
            hostgroup_names=hostgroup_names,
        )

    def module(self, module: AdminModule, *, managed_only: bool) -> dict[str, TableSurvey]:
        """Return the surveys of the tables of a module that the instance has."""
        names = [t.name for t in module.tables if t.name in self.layouts]
        if managed_only:
            names = [name for name in names if name in self.tables]
        return {name: self.table(name) for name in names}


def _with_memory_from_disk(
    layout: Layout, read: Callable[[Layer], Rows]
) -> Callable[[Layer], Rows]:
    """Return what reads a table as it is after LOAD ... FROM DISK; further variables stay."""

    def layers(layer: Layer) -> Rows:
        if layer is not Layer.MEMORY:
            return read(layer)
        disk = read(Layer.DISK)
        return disk if layout.table.prefix is None else {**read(Layer.MEMORY), **disk}

    return layers


def survey_families(survey: InstanceSurvey) -> tuple[Family, ...]:
    """Find out which hostgroup families the monitor places now, before servers are compared.

    Returns the desired families, whether the monitor knows them already or not.
    """
    servers = ADMIN_MODULES["MYSQL SERVERS"]
    managed = {table.name for table in servers.tables} & set(survey.tables)
    if not managed:
        survey.surroundings = Surroundings(is_cluster_member=survey.facts.is_cluster_member)
        return ()
    wanted: dict[str, list[Row]] = {}
    memory: dict[str, list[Row]] = {}
    runtime: dict[str, list[Row]] = {}
    for name in FAMILY_TABLES:
        if name not in survey.layouts:
            continue
        found = survey.table(name)
        layout = survey.layouts[name]
        memory[name] = list(found.memory.values())
        wanted[name] = list(found.target.values())
        runtime[name] = list(survey.reader.read(layout, Layer.RUNTIME).values())
    if not survey.facts.monitor_enabled:
        survey.surroundings = Surroundings(is_cluster_member=survey.facts.is_cluster_member)
        return ()

    def families(rows: dict[str, list[Row]]) -> list[Family]:
        return families_in(survey.layouts, rows, rds_discovery=survey.facts.rds_discovery)

    running, coming = families(runtime), families(wanted)
    survey.surroundings = Surroundings(
        families=tuple(monitored(coming, running)),
        memory_families=tuple(monitored(families(memory), running)),
        is_cluster_member=survey.facts.is_cluster_member,
    )
    return tuple(coming)


def survey_as_nobodys(client: AdminClient, facts: RuntimeFacts) -> InstanceSurvey:
    """Return a survey of an instance in which no row is ours: what was edited is somebody's.

    Nodes that the monitor placed before it was switched off count as placed. Raises: InstanceError.
    """
    layouts = read_layouts(client)
    layout = layouts["mysql_servers"]
    nothing = DesiredTable(layout, {}, scope=Scope(lambda _key: False, ""))
    survey = InstanceSurvey(
        client,
        TableReader(client),
        layouts,
        replace(facts, monitor_enabled=True),
        {"mysql_servers": nothing},
    )
    survey_families(survey)
    return survey


def survey_managed(survey: InstanceSurvey) -> None:
    """Survey every managed table, large ones first, in the order in which they are read ahead."""
    large = [name for name in LARGE if name in survey.tables]
    for name in (*large, *(name for name in survey.tables if name not in large)):
        survey.table(name)


@dataclass(frozen=True)
class HostgroupsInUse:
    """The hostgroups that rules, fast routing and users send traffic to, now and afterwards.

    Shape: by table.
    """

    before: Mapping[str, frozenset[Value]] = field(default_factory=dict)
    after: Mapping[str, frozenset[Value]] = field(default_factory=dict)

    @property
    def at_some_time(self) -> frozenset[Value]:
        """Those of both sides, whatever the table."""
        return frozenset().union(*self.before.values(), *self.after.values())


def hostgroups_in_use(survey: InstanceSurvey) -> HostgroupsInUse:
    """Return the hostgroups in use; asked only when a hostgroup may be left without servers."""
    servers = survey.done.get("mysql_servers")
    if servers is None or not servers.changes[Layer.RUNTIME]:
        return HostgroupsInUse()
    before = used_hostgroups(survey.client, survey.layouts)
    after = dict(before)
    for name, column in DESTINATIONS.items():
        if name in survey.tables:
            rows = runtime_image(survey.layouts[name], dict(survey.table(name).target)).values()
            position = survey.layouts[name].index[column]
            # The rows of MEMORY, which hold no KEEP.
            after[name] = frozenset(
                row[position]  # type: ignore[misc]
                for row in rows
                if isinstance(row[position], int)
            )
    return HostgroupsInUse(before, after)


def situation_of(
    survey: InstanceSurvey,
    modules: Sequence[ModulePlan],
    in_use: HostgroupsInUse,
    hostgroup_names: Mapping[int, str],
) -> Situation:
    """Return what guards have to know of the instance; read where it was not yet."""
    login = survey.client.login
    rows = {
        name: survey.done[name].target.values() for name in FAMILY_TABLES if name in survey.done
    }
    families = families_in(survey.layouts, rows, rds_discovery=False)
    writers = frozenset(family.writer for family in families)
    return Situation(
        access=Access(login.user, login.password, login.host, login.port, login.socket),
        monitor_is_on=survey.facts.monitor_enabled,
        layouts=survey.layouts,
        needs=Needs(writers, in_use.after, hostgroup_names),
        servers=_servers_in(survey, modules),
        logins=_logins_in(survey),
    )


def _servers_in(survey: InstanceSurvey, modules: Iterable[ModulePlan]) -> Servers | None:
    """Return the servers of both sides, where an apply changes them, or who is sent where."""
    layout = survey.layouts["mysql_servers"]
    plans = {name: plan for plan in modules for name in plan.surveys}
    servers = plans.get("mysql_servers")
    if servers is not None:
        now = servers.surveys["mysql_servers"].runtime or {}
        loaded = servers.images[-1]["mysql_servers"] if servers.images else now
        return Servers(layout, now, loaded, survey.surroundings.families)
    if not any(name in plans and plans[name].at_runtime(name) for name in DESTINATIONS):
        return None
    now = survey.reader.read(layout, Layer.RUNTIME)
    families = _families_at_runtime(survey) if survey.facts.monitor_enabled else ()
    return Servers(layout, now, now, families)


def _families_at_runtime(survey: InstanceSurvey) -> tuple[Family, ...]:
    """Return the families of RUNTIME."""
    rows = {
        name: survey.reader.read(survey.layouts[name], Layer.RUNTIME).values()
        for name in FAMILY_TABLES
        if name in survey.layouts
    }
    return tuple(families_in(survey.layouts, rows, rds_discovery=survey.facts.rds_discovery))


def _logins_in(survey: InstanceSurvey) -> Logins:
    """Return the names that are a user and a login of the admin interface; read users if needed."""
    admins = known = survey.facts.admin_names
    variables = survey.done.get("admin_variables")
    if variables is not None:
        texts = (variables.target.get((name,)) for name in CREDENTIALS)
        admins = frozenset(name for row in texts if row for name, _ in logins(str(row[1])))
    is_users = "mysql_users" in survey.tables
    if not is_users and (admins == known or "mysql_users" not in survey.layouts):
        return Logins()
    found = survey.table("mysql_users")
    afterwards = _names(found.layout, found.target, admins)
    if not afterwards:
        return Logins()
    before = _names(found.layout, survey.at_runtime("mysql_users"), known)
    return Logins(afterwards, admins, before)


def _names(layout: Layout, users: Rows, among: Collection[str]) -> frozenset[str]:
    """Return who of these can log in."""
    needed = [layout.index[name] for name in ("active", "frontend")]
    return frozenset(
        str(key[0])
        for key, row in users.items()
        if key[0] in among and all(row[position] == 1 for position in needed)
    )


def held_at_runtime(found: TableSurvey) -> Rows:
    """Return the rows of RUNTIME of a table that was surveyed."""
    if found.runtime is not None:
        return found.runtime
    if is_copied(found.layout):
        return found.memory
    # It was not kept because it shows what MEMORY holds.
    image = runtime_image(found.layout, _folded(found.layout, found.memory))
    return cast("Rows", image)
