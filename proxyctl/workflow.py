"""What a command does, from the files and an open connection to a plan. No printing, no options.

files    -> Desired --+
                      +-> survey (three layers) -> Plan
instance -> Rows    --+
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from proxyctl import fitting, guards, pending, remarks
from proxyctl.admin.client import AdminClient
from proxyctl.admin.read import (
    RuntimeFacts,
    TableReader,
    read_facts,
    read_layouts,
    used_connections,
    used_hostgroups,
)
from proxyctl.catalog import ADMIN_MODULES, TABLES, AdminModule, Layout, Value
from proxyctl.config.load import ParsedFiles
from proxyctl.config.patterns import check_patterns, engine_in_files, engine_of
from proxyctl.errors import ConfigError, Mistake, UsageError
from proxyctl.families import FAMILY_TABLES, Family, families_in, monitored
from proxyctl.plan import ModulePlan, Plan, complete_images, plan_module
from proxyctl.runtime_image import runtime_image
from proxyctl.state import KEEP, Desired, DesiredTable, Layer, Row
from proxyctl.survey import Surroundings, TableSurvey, survey_table


@dataclass(frozen=True)
class PlanOptions:
    """What the command line allows. `leftovers`: admin modules that our own dead apply staged."""

    only: tuple[str, ...] = ()
    force: bool = False
    discard_pending: bool = False
    include_pending: bool = False
    leftovers: frozenset[str] = frozenset()


DEFAULT_OPTIONS = PlanOptions()

_LARGE = (
    "mysql_users",
    "pgsql_users",
    "mysql_query_rules",
    "pgsql_query_rules",
    "mysql_query_rules_fast_routing",
    "pgsql_query_rules_fast_routing",
)
"""Tables worth reading ahead, in the order in which they are compared. Users come first: RUNTIME
holds them in halves, and folding those is done while ProxySQL is busy with the next table."""


@dataclass
class _Survey:
    """The surveys under way: what has been read of one instance."""

    client: AdminClient
    reader: TableReader
    layouts: dict[str, Layout]
    facts: RuntimeFacts
    tables: Mapping[str, DesiredTable]
    surroundings: Surroundings = field(default_factory=Surroundings)
    done: dict[str, TableSurvey] = field(default_factory=dict)

    def table(self, name: str) -> TableSurvey:
        """Return the survey of a table; read it when it was not yet."""
        if name not in self.done:
            layout = self.layouts[name]
            self.done[name] = survey_table(
                layout, self.tables.get(name), self.reader.layers_of(layout), self.surroundings
            )
        return self.done[name]

    def module(self, module: AdminModule, *, managed_only: bool) -> dict[str, TableSurvey]:
        """Return the surveys of the tables of a module that the instance has."""
        names = [t.name for t in module.tables if t.name in self.layouts]
        if managed_only:
            names = [name for name in names if name in self.tables]
        return {name: self.table(name) for name in names}


@dataclass(frozen=True)
class InstanceLook:
    """What is asked first of an instance: the tables it has, and what decides how to read them."""

    layouts: dict[str, Layout]
    facts: RuntimeFacts


def look_at(client: AdminClient) -> InstanceLook:
    """Return the first look at an instance."""
    return InstanceLook(read_layouts(client), read_facts(client))


def make_plan(
    client: AdminClient,
    desired: Desired,
    options: PlanOptions = DEFAULT_OPTIONS,
    *,
    reader: TableReader | None = None,
    instance: InstanceLook | None = None,
) -> Plan:
    """Read the instance and return the plan. Sends SELECTs only.

    `instance`: what was looked up before. Raises: ConfigError when the files do not fit this
    instance, InstanceError when it cannot be read.
    """
    instance = instance or look_at(client)
    layouts, facts = instance.layouts, instance.facts
    tables = select(desired.tables, options.only)
    mistakes = [
        *fitting.misfits(tables, layouts, client.version),
        *fitting.mistakes_at_instance(tables, facts.admin_names),
        *_patterns_at_instance(desired, facts),
    ]
    if mistakes:
        raise ConfigError(mistakes)
    fitted = {name: fitting.fit(table, layouts[name]) for name, table in tables.items()}
    survey = _Survey(client, reader or TableReader(client), layouts, facts, fitted)
    plan = Plan(
        name=client.login.name or client.address,
        address=client.address,
        version=client.version_text,
        hostgroup_names=desired.hostgroup_names,
        warnings=list(desired.warnings),
    )
    plan.families = _survey_families(survey)
    plan.families_before = survey.surroundings.memory_families
    _survey_managed(survey)
    plan.modules = list(_module_plans(survey))
    mistakes = [*_new_users_without_password(survey), *_unknown_variables(survey, client)]
    if mistakes:
        raise ConfigError(mistakes)
    used = _used_hostgroups(survey)
    complete_images(plan.modules, survey.surroundings, used.before | used.after)
    _add_refusals(plan, survey, desired, options, used.after)
    _add_remarks(plan, survey)
    return plan


def plan_files(
    client: AdminClient,
    files: ParsedFiles,
    options: PlanOptions = DEFAULT_OPTIONS,
    *,
    reader: TableReader | None = None,
) -> Plan:
    """Compile the files for this instance and return the plan.

    Large tables are read from the instance while the files are compiled. Raises like `make_plan`.
    """
    reader = reader or TableReader(client)
    instance = look_at(client)
    layouts = instance.layouts
    likely = [name for name in _LARGE if name in files.sections and name in layouts]
    with reader.reading_ahead(_all_layers([layouts[name] for name in likely])):
        desired = files.project(client.version).desired
        return make_plan(client, desired, options, reader=reader, instance=instance)


def _all_layers(layouts: Iterable[Layout]) -> list[tuple[Layout, Layer]]:
    """Return the layers to read ahead.

    RUNTIME first: ProxySQL takes long to make it, and waiting for that leaves the processor to us.
    """
    order = (Layer.RUNTIME, Layer.MEMORY, Layer.DISK)
    return [(layout, layer) for layout in layouts for layer in order]


def _patterns_at_instance(desired: Desired, facts: RuntimeFacts) -> list[Mistake]:
    """Check the patterns with the engine in force at RUNTIME, where the files do not set one."""
    variables = desired.tables.get("mysql_variables")
    is_set = variables is not None and ("mysql-query_processor_regex",) in variables.rows
    engine = engine_of(facts.regex_engine)
    if is_set or engine is engine_in_files(desired):
        return []
    return check_patterns(desired, engine)


def select(tables: Mapping[str, DesiredTable], only: tuple[str, ...]) -> dict[str, DesiredTable]:
    """Return the managed tables that `--only` names, by admin module or by table.

    Raises: UsageError for a name that is neither, or that the files do not manage.
    """
    if not only:
        return dict(tables)
    result: dict[str, DesiredTable] = {}
    for name in only:
        module = ADMIN_MODULES.get(name.upper())
        names = [t.name for t in module.tables] if module else [name]
        if not module and name not in TABLES:
            near = get_close_matches(name, [*ADMIN_MODULES, *TABLES], n=1)
            hint = (
                f"did you mean {near[0]!r}?"
                if near
                else f"admin modules: {', '.join(ADMIN_MODULES)}"
            )
            raise UsageError(f"--only {name}: no such admin module or table", hint=hint)
        found = {n: tables[n] for n in names if n in tables}
        if not found:
            raise UsageError(f"--only {name}: the files do not manage it")
        result |= found
    return result


def _survey_families(survey: _Survey) -> tuple[Family, ...]:
    """Find out which hostgroup families the monitor places now, before servers are compared.

    Returns the desired families, whether the monitor knows them already or not.
    """
    servers = ADMIN_MODULES["MYSQL SERVERS"]
    managed = {table.name for table in servers.tables} & set(survey.tables)
    if not managed:
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


def _module_plans(survey: _Survey) -> Iterator[ModulePlan]:
    engine_changes = False
    for module in ADMIN_MODULES.values():
        managed = survey.module(module, managed_only=True)
        reload = module.name == "MYSQL QUERY RULES" and engine_changes
        if not managed and not (reload and "mysql_query_rules" in survey.layouts):
            continue
        if module.name == "MYSQL VARIABLES":
            engine_changes = _regex_engine_changes(managed)
        if reload or not all(found.is_in_sync for found in managed.values()):
            # A LOAD or SAVE moves the whole module: what else stands in it matters now.
            managed = survey.module(module, managed_only=False)
        yield plan_module(module, managed, reload=reload)


def _survey_managed(survey: _Survey) -> None:
    """Survey every managed table, large ones first and reading ahead."""
    waiting = [name for name in survey.tables if name not in survey.done]
    large = [name for name in _LARGE if name in waiting]
    with survey.reader.reading_ahead(_all_layers([survey.layouts[name] for name in large])):
        for name in (*large, *(name for name in waiting if name not in large)):
            survey.table(name)


def _regex_engine_changes(managed: dict[str, TableSurvey]) -> bool:
    found = managed.get("mysql_variables")
    return found is not None and any(
        change.key == ("mysql-query_processor_regex",) for change in found.changes[Layer.RUNTIME]
    )


def _new_users_without_password(survey: _Survey) -> Iterator[Mistake]:
    for name in ("mysql_users", "pgsql_users"):
        found = survey.done.get(name)
        if found is None or found.desired is None:
            continue
        password = found.layout.index["password"]
        for change in found.changes[Layer.MEMORY]:
            row = change.desired
            if change.current is None and row is not None and row[password] is KEEP:
                where = found.desired.where.get(change.key)
                path, line, column = (where.path, where.line, where.column) if where else ("", 0, 0)
                yield Mistake(
                    path,
                    line,
                    column,
                    "password",
                    f"user {change.key[0]!r} is new and has no password",
                    "add `password: {env: NAME}`; without it only existing users are left alone",
                )


def _unknown_variables(survey: _Survey, client: AdminClient) -> Iterator[Mistake]:
    for name, found in survey.done.items():
        if found.layout.table.prefix is None or found.desired is None:
            continue
        for change in found.changes[Layer.MEMORY]:
            if change.current is None:
                where = found.desired.where.get(change.key)
                path, line, column = (
                    (where.path, where.line, where.column) if where else (name, 0, 0)
                )
                yield Mistake(
                    path,
                    line,
                    column,
                    str(change.key[0]),
                    f"ProxySQL {client.version_text} has no such variable",
                )


@dataclass(frozen=True)
class _Used:
    """The hostgroups that rules, fast routing and users send traffic to, now and afterwards."""

    before: frozenset[Value] = frozenset()
    after: frozenset[Value] = frozenset()


_ROUTING_TABLES = {
    "mysql_query_rules": "destination_hostgroup",
    "mysql_query_rules_fast_routing": "destination_hostgroup",
    "mysql_users": "default_hostgroup",
}


def _used_hostgroups(survey: _Survey) -> _Used:
    """Return the hostgroups in use; asked only when servers change at RUNTIME."""
    servers = survey.done.get("mysql_servers")
    if servers is None or not servers.changes.get(Layer.RUNTIME):
        return _Used()
    after: set[Value] = set()
    unmanaged = dict(survey.layouts)
    for name, column in _ROUTING_TABLES.items():
        if name in survey.tables:
            del unmanaged[name]
            rows = runtime_image(survey.layouts[name], dict(survey.table(name).target)).values()
            position = survey.layouts[name].index[column]
            # The rows of MEMORY, which hold no KEEP.
            after |= {row[position] for row in rows if isinstance(row[position], int)}  # type: ignore[misc]
    if unmanaged.keys() & _ROUTING_TABLES.keys():
        after |= used_hostgroups(survey.client, unmanaged)
    return _Used(used_hostgroups(survey.client, survey.layouts), frozenset(after))


def _add_refusals(
    plan: Plan,
    survey: _Survey,
    desired: Desired,
    options: PlanOptions,
    used: frozenset[Value],
) -> None:
    for module in plan.modules:
        plan.refusals.extend(
            pending.refusals(
                module,
                discard=options.discard_pending,
                include=options.include_pending,
                leftovers=options.leftovers,
            )
        )
    servers = survey.done.get("mysql_servers")
    if desired.guards.empty_hostgroup == "warn" and servers is not None and servers.desired:
        families, names = survey.surroundings.families, desired.hostgroup_names
        plan.warnings.extend(guards.emptied_hostgroups(servers, families, used, names))
    if not options.force:
        plan.refusals.extend(
            guards.guard_refusals(
                plan.modules,
                desired.guards,
                survey.surroundings.families,
                used,
                desired.hostgroup_names,
            )
        )


def _add_remarks(plan: Plan, survey: _Survey) -> None:
    for found in survey.done.values():
        plan.left_alone.extend(remarks.left_alone(found))
    plan.restart_required.extend(remarks.restart_required(plan.modules))
    for module in plan.modules:
        if module.name == "MYSQL SERVERS" and module.load:
            plan.warnings.extend(remarks.unshunned(module))
            leaving = remarks.leaving_servers(module)
            used = used_connections(survey.client) if leaving else {}
            plan.warnings.extend(remarks.cut_connections(leaving, used))
