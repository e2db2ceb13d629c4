"""What a command does, from the files and an open connection to a plan. No printing, no options.

files    -> Desired --+
                      +-> survey (three layers) -> Plan
instance -> Rows    --+
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from proxyctl import fitting, guards, pending, remarks
from proxyctl.admin.client import AdminClient
from proxyctl.admin.cluster import read_membership
from proxyctl.admin.host_names import addresses_of_each
from proxyctl.admin.read import TableReader
from proxyctl.admin.runtime_facts import RuntimeFacts, used_connections
from proxyctl.catalog import ADMIN_MODULES, TABLES
from proxyctl.cluster import refusing
from proxyctl.cluster.account import cut_off
from proxyctl.cluster.differing import OtherMembers
from proxyctl.cluster.leaving import going_on, leaving
from proxyctl.cluster.membership import Membership
from proxyctl.cluster.travelling import untaken, what_stays
from proxyctl.cluster.writers import further_writers
from proxyctl.config.load import ParsedFiles, Project
from proxyctl.config.patterns import mistakes_at_runtime
from proxyctl.errors import ConfigError, UsageError, counted
from proxyctl.families import Family
from proxyctl.guards import judge
from proxyctl.guards.judge import Situation
from proxyctl.images import with_images
from proxyctl.instance_survey import (
    LARGE,
    InstanceLook,
    InstanceSurvey,
    hostgroups_in_use,
    look_at,
    situation_of,
    survey_families,
    survey_managed,
)
from proxyctl.members_files import other_members
from proxyctl.plan import ModulePlan, Plan, Refusal, ShardMove, ordered, plan_module
from proxyctl.replay import shard_moves
from proxyctl.replay.sides import SIDE_TABLES, Sides
from proxyctl.state import (
    SNAPSHOT,
    Desired,
    DesiredTable,
    GuardAction,
    Key,
    Source,
)


@dataclass(frozen=True)
class PlanOptions:
    """What the command line allows.

    `saves`: whether an apply would SAVE. `leftovers`: admin modules that the apply staged whose
    lock we took over, and whether MEMORY of each was what DISK held before: then it is so again.
    `membership`: what is known of the other members of the instance's cluster; None: it is asked
    what it has seen of them.
    """

    only: tuple[str, ...] = ()
    force: bool = False
    discard_pending: bool = False
    allow_shard_moves: bool = False
    saves: bool = True
    leftovers: Mapping[str, bool] = field(default_factory=dict)
    membership: Membership | None = None


DEFAULT_OPTIONS = PlanOptions()

Different = Callable[[Sequence[str], Membership], OtherMembers]
"""Returns other members for which the files say something else, given the admin modules loaded."""


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
    different: Different = lambda _modules, _membership: OtherMembers(),
) -> tuple[Plan, InstanceSurvey]:
    """Return the plan, and the survey that it was made from."""
    survey = _survey(client, desired, options, reader, instance)
    found = _read(survey, desired, options, different)
    plan = _with_cluster(
        _made(survey, found, desired, options, instance.leftovers), found.membership, survey.facts
    )
    _tell_decisions(client, plan)
    return plan, survey


@dataclass(frozen=True)
class _Reading:
    """What was read for one plan, beside the tables.

    Shape: `modules` with what each loads and saves; `moves`: what changes shard; `connections` in
    use by server, read where servers are loaded. `others`: members for which the files say
    something else.
    """

    modules: list[ModulePlan]
    families: tuple[Family, ...]
    situation: Situation
    moves: list[ShardMove]
    connections: Mapping[Key, int]
    membership: Membership | None
    others: OtherMembers


def _read(
    survey: InstanceSurvey, desired: Desired, options: PlanOptions, different: Different
) -> _Reading:
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
    membership = options.membership
    if membership is None and survey.facts.is_cluster_member:
        membership = read_membership(client)
    loaded = [module.name for module in modules if module.images]
    others = OtherMembers() if membership is None else different(loaded, membership)
    connections = used_connections(client) if "MYSQL SERVERS" in loaded else {}
    situation = situation_of(survey, modules, in_use, desired.hostgroup_names)
    moves = _shard_moves(survey, modules, desired)
    return _Reading(modules, families, situation, moves, connections, membership, others)


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
        *(refusing.dangers(loaded, membership) if membership else ()),
        *refusing.different_members(found.others.differing),
    ]
    is_member = membership is not None and len(membership.listed) > 1
    return Plan(
        name=client.login.name or client.address,
        address=client.address,
        version=client.version_text,
        modules=modules,
        refusals=[
            *_pending_refusals(modules, options, leftovers, desired.source),
            *guards.refusals(dangers, limits, force=options.force),
            *_shard_refusals(found.moves, desired, options),
        ],
        left_alone=[text for one in survey.done.values() for text in remarks.left_alone(one)],
        taken_out=[text for one in survey.done.values() for text in remarks.taken_out(one)],
        warnings=[
            *desired.warnings,
            *remarks.left_by_dead_apply(modules, leftovers),
            *found.others.warnings(),
            *guards.warnings(dangers, limits, force=options.force),
            *_shard_warnings(found.moves, desired, options),
            *_warnings(survey.facts, found, is_member=is_member),
        ],
        restart_required=[*remarks.restart_required(modules)],
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


def _with_cluster(plan: Plan, membership: Membership | None, facts: RuntimeFacts) -> Plan:
    """Return the plan with what it means that the instance is a member of a cluster."""
    if membership is None or not membership.listed:
        return plan
    members = [f"{host}:{port}" for host, port in membership.listed]
    if plan.is_in_sync:
        return replace(plan, members=members)
    writers = further_writers(plan.modules, membership, facts.galera_check_ms)
    return replace(
        plan,
        members=members,
        warnings=[
            *plan.warnings,
            *what_stays(plan.modules, membership, saves=plan.saves),
            *cut_off(plan.modules, membership),
            *(writers if len(membership.listed) > 1 else ()),
            *going_on(plan.modules, plan.address),
        ],
        leaving_members=leaving(plan.modules),
        untaken=untaken(plan.modules, membership),
    )


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

        def compiled(those: ParsedFiles, needs_secrets: bool) -> Project:
            return those.project(
                client.version, needs_secrets=needs_secrets, additions=instance.additions
            )

        def different(modules: Sequence[str], membership: Membership) -> OtherMembers:
            return other_members(files, compiled, modules, membership, addresses_of_each)

        desired = compiled(files, True).desired
        return _surveyed(client, desired, options, reader, instance, different)


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
            edits = pending.pending_edits(module, saves=options.saves)
            yield from pending.refusals(
                module, edits, discard=options.discard_pending, source=source
            )


def _warnings(facts: RuntimeFacts, found: _Reading, *, is_member: bool) -> Iterator[str]:
    """Yield what a person should know of these changes, beside what guards say."""
    if facts.is_read_only and not all(module.is_in_sync for module in found.modules):
        yield (
            "the admin interface is read-only (admin-read_only): an apply needs PROXYSQL READWRITE"
        )
    yield from remarks.fought_over(found.families)
    for module in found.modules:
        if module.name == "MYSQL SERVERS" and module.load:
            leaving = remarks.leaving_servers(module)
            yield from remarks.unshunned(module, found.families)
            yield from remarks.cut_connections(leaving, found.connections, is_member=is_member)
