"""What a command does, from the files and an open connection to a plan. No printing, no options.

files    -> Desired --+
                      +-> survey (three layers) -> Plan
instance -> Rows    --+
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from proxyctl.catalog import ADMIN_MODULES, TABLES
from proxyctl.config.load import ParsedFiles
from proxyctl.config.patterns import mistakes_at_runtime
from proxyctl.errors import ConfigError, UsageError, counted
from proxyctl.instance.client import AdminClient
from proxyctl.instance.cluster import read_membership
from proxyctl.instance.facts import RuntimeFacts, used_connections
from proxyctl.instance.members import Membership
from proxyctl.instance.read import TableReader
from proxyctl.plan import edits, fitting, notes
from proxyctl.plan.guards import danger, judge, members, shard_moves
from proxyctl.plan.guards.judge import Situation
from proxyctl.plan.inspect import (
    LARGE,
    InstanceLook,
    InstanceSurvey,
    hostgroups_in_use,
    look_at,
    situation_of,
    survey_families,
    survey_managed,
)
from proxyctl.plan.notes import what_stays
from proxyctl.plan.plan import ModulePlan, Plan, Refusal, ShardMove, ordered, plan_module
from proxyctl.plan.steps import with_images
from proxyctl.replay.sides import SIDE_TABLES, Sides
from proxyctl.state.families import Family
from proxyctl.state.row import SNAPSHOT, Desired, DesiredTable, GuardAction, Key, Source


@dataclass(frozen=True)
class PlanOptions:
    """What the command line allows.

    `saves`: whether an apply would SAVE. `leftovers`: admin modules that the apply staged whose
    lock we took over, and whether MEMORY of each was what DISK held before: then it is so again.
    """

    only: tuple[str, ...] = ()
    force: bool = False
    discard_pending: bool = False
    allow_shard_moves: bool = False
    saves: bool = True
    leftovers: Mapping[str, bool] = field(default_factory=dict)


DEFAULT_OPTIONS = PlanOptions()


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
    return _surveyed(client, desired, options, reader, instance or look_at(client))[0]


def _surveyed(
    client: AdminClient,
    desired: Desired,
    options: PlanOptions,
    reader: TableReader | None,
    instance: InstanceLook,
) -> tuple[Plan, InstanceSurvey]:
    """Return the plan, and the survey that it was made from."""
    survey = _survey(client, desired, options, reader, instance)
    plan = _made(survey, _read(survey, desired), desired, options, instance.leftovers)
    _tell_decisions(client, plan)
    return plan, survey


@dataclass(frozen=True)
class _Reading:
    """What was read for one plan, beside the tables.

    Shape: `modules` with what each loads and saves; `moves`: what changes shard; `connections` in
    use by server, read where servers are loaded.
    """

    modules: list[ModulePlan]
    families: tuple[Family, ...]
    situation: Situation
    moves: list[ShardMove]
    connections: Mapping[Key, int]
    membership: Membership


def _read(survey: InstanceSurvey, desired: Desired) -> _Reading:
    """Read everything that a plan needs. Raises: ConfigError, InstanceError."""
    client = survey.client
    families = survey_families(survey)
    survey_managed(survey)
    modules = list(_module_plans(survey))
    mistakes = list(fitting.mistakes_when_read(survey.done, client.version_text))
    if mistakes:
        raise ConfigError(mistakes)
    in_use = hostgroups_in_use(survey)
    modules = with_images(modules, survey.surroundings, in_use.at_some_time)
    membership = read_membership(client) if survey.facts.is_cluster_member else Membership()
    loads_servers = any(one.images and one.name == "MYSQL SERVERS" for one in modules)
    connections = used_connections(client) if loads_servers else {}
    situation = situation_of(survey, modules, in_use, desired.hostgroup_names)
    moves = _shard_moves(survey, modules, desired)
    return _Reading(modules, families, situation, moves, connections, membership)


def _made(
    survey: InstanceSurvey,
    found: _Reading,
    desired: Desired,
    options: PlanOptions,
    leftovers: Mapping[str, bool],
) -> Plan:
    """Return the plan. `leftovers`: of an apply that died, whose lock nobody has taken over."""
    client, modules, membership = survey.client, found.modules, found.membership
    limits = desired.guards
    loaded = [module.name for module in modules if module.images]
    dangers = [
        *judge.dangers(modules, found.situation, limits),
        *members.dangers(loaded, membership),
        *members.drained_elsewhere(modules, membership),
    ]
    return Plan(
        name=client.login.name or client.address,
        address=client.address,
        version=client.version_text,
        modules=modules,
        refusals=[
            *_pending_refusals(modules, options, leftovers, desired.source),
            *danger.refusals(dangers, limits, force=options.force),
            *_shard_refusals(found.moves, desired, options),
        ],
        left_alone=[text for one in survey.done.values() for text in notes.left_alone(one)],
        taken_out=[text for one in survey.done.values() for text in notes.taken_out(one)],
        warnings=[
            *desired.warnings,
            *notes.left_by_dead_apply(modules, leftovers),
            *danger.warnings(dangers, limits, force=options.force),
            *_shard_warnings(found.moves, desired, options),
            *_warnings(survey.facts, found),
            *(what_stays(modules, membership) if membership.has_peers else ()),
        ],
        restart_required=[*notes.restart_required(modules)],
        members=[one.name for one in membership.listed],
        saves=options.saves,
        families=found.families,
        families_before=survey.surroundings.memory_families,
        hostgroup_names=desired.hostgroup_names,
        shard_moves=found.moves,
        source=desired.source,
    )


def _survey(
    client: AdminClient,
    desired: Desired,
    options: PlanOptions,
    reader: TableReader | None,
    instance: InstanceLook,
) -> InstanceSurvey:
    """Return the survey to begin, of the tables that are selected and that this instance has."""
    tables, layouts = select(desired, options.only), instance.layouts
    mistakes = [
        *fitting.misfits(tables, layouts, client.version),
        *mistakes_at_runtime(desired, instance.facts.regex_engine),
    ]
    if mistakes:
        raise ConfigError(mistakes)
    return InstanceSurvey(
        client,
        reader or TableReader(client),
        layouts,
        instance.facts,
        {name: fitting.fit(table, layouts[name]) for name, table in tables.items()},
        ordered(name for name, was_saved in instance.leftovers.items() if was_saved),
    )


def _shard_moves(
    survey: InstanceSurvey, modules: Iterable[ModulePlan], desired: Desired
) -> list[ShardMove]:
    """Return tables and schemas that change shard; looked for where something may do that."""
    changes = {
        name: found
        for module in modules
        for name in SIDE_TABLES
        if (found := module.at_runtime(name))
    }
    leaving = (
        (survey.layouts[name], change.current)
        for name in (shard_moves.RULES, shard_moves.FAST_ROUTING)
        for change in changes.get(name, ())
        if change.current is not None
    )
    if not (changes and shard_moves.concerns_shards(survey.tables, leaving)):
        return []
    return shard_moves.shard_moves(survey.sides(desired.hostgroup_names), survey.tables)


def _shard_refusals(
    moves: Iterable[ShardMove], desired: Desired, options: PlanOptions
) -> Iterator[Refusal]:
    action = desired.guards.action(shard_moves.CODE)
    if action is GuardAction.REFUSE and not options.allow_shard_moves:
        yield from shard_moves.refusals(moves, desired.hostgroup_names)


def _shard_warnings(
    moves: Iterable[ShardMove], desired: Desired, options: PlanOptions
) -> Iterator[str]:
    action = desired.guards.action(shard_moves.CODE)
    said = options.allow_shard_moves or action is GuardAction.WARN
    return shard_moves.warnings(moves, desired.hostgroup_names, allowed=said)


def _tell_decisions(client: AdminClient, plan: Plan) -> None:
    """Tell --debug what was decided for each admin module, and what stands in the way."""
    if not client.is_traced:
        return
    for module in plan.modules:
        steps = [f"{module.loads} LOAD"] * bool(module.images) + ["SAVE"] * module.save
        does = ", ".join(steps) or "no LOAD, no SAVE"
        client.tell(f"decided: {module.name}: {counted(len(module.changes), 'change')}; {does}")
    for refusal in plan.refusals:
        client.tell(f"decided: refused: {refusal.code}; allowed by {refusal.allow or 'nothing'}")


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
    return _files_surveyed(client, files, options, reader)[0]


def plan_with_sides(
    client: AdminClient, files: ParsedFiles, options: PlanOptions = DEFAULT_OPTIONS
) -> tuple[Plan, Sides]:
    """Return the plan, and what routes queries before and after it. Raises like `make_plan`."""
    plan, survey = _files_surveyed(client, files, options, None)
    return plan, survey.sides(plan.hostgroup_names)


def _files_surveyed(
    client: AdminClient, files: ParsedFiles, options: PlanOptions, reader: TableReader | None
) -> tuple[Plan, InstanceSurvey]:
    reader = reader or TableReader(client)
    instance = look_at(client)
    layouts = instance.layouts
    likely = [name for name in LARGE if name in files.sections and name in layouts]
    with reader.reading_ahead([layouts[name] for name in likely]):
        desired = files.project(client.version, additions=instance.additions).desired
        return _surveyed(client, desired, options, reader, instance)


def select(desired: Desired, only: tuple[str, ...]) -> dict[str, DesiredTable]:
    """Return the managed tables that `--only` names, by admin module or by table.

    Raises: UsageError for a name that is neither, or of which nothing is managed.
    """
    tables = desired.tables
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
            who = "the apply of that snapshot did" if desired.source is SNAPSHOT else "the files do"
            raise UsageError(f"--only {name}: {who} not manage it")
        result |= found
    return result


def _module_plans(survey: InstanceSurvey) -> Iterator[ModulePlan]:
    engine_changes = False
    for module in ADMIN_MODULES.values():
        managed = survey.module(module, managed_only=True)
        reload = module.name == "MYSQL QUERY RULES" and engine_changes
        if not managed and not (reload and "mysql_query_rules" in survey.layouts):
            continue
        if reload or not all(found.is_in_sync for found in managed.values()):
            # A LOAD or SAVE moves the whole module: what else stands in it matters now.
            managed = survey.module(module, managed_only=False)
        planned = plan_module(module, managed, reload=reload)
        engine_changes = engine_changes or planned.changes_regex_engine
        yield planned


def _pending_refusals(
    modules: Iterable[ModulePlan],
    options: PlanOptions,
    left_here: Mapping[str, bool],
    source: Source,
) -> Iterator[Refusal]:
    """Yield the refusals for pending edits.

    Where a dead apply had staged a module and MEMORY comes from DISK, all differences are ours.
    `left_here`: those of an apply whose lock nobody has taken over.
    """
    leftovers = {**options.leftovers, **left_here}
    for module in modules:
        if not leftovers.get(module.name):
            found = edits.pending_edits(module, saves=options.saves)
            yield from edits.refusals(module, found, discard=options.discard_pending, source=source)


def _warnings(facts: RuntimeFacts, found: _Reading) -> Iterator[str]:
    """Yield what a person should know of these changes, beside what guards say."""
    if facts.is_read_only and not all(module.is_in_sync for module in found.modules):
        yield (
            "the admin interface is read-only (admin-read_only): an apply needs PROXYSQL READWRITE"
        )
    yield from notes.fought_over(found.families)
    for module in found.modules:
        if module.name == "MYSQL SERVERS" and module.load:
            leaving = notes.leaving_servers(module)
            yield from notes.unshunned(module, found.families)
            yield from notes.cut_connections(leaving, found.connections)
