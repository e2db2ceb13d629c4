"""What a command does, from the files and an open connection to a plan. No printing, no options.

files    -> Desired --+
                      +-> survey (three layers) -> Plan
instance -> Rows    --+
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from proxyctl import fitting, guards, pending, remarks
from proxyctl.admin.client import AdminClient
from proxyctl.admin.cluster import read_membership
from proxyctl.admin.host_names import addresses_of_each
from proxyctl.admin.read import TableReader
from proxyctl.admin.runtime_facts import used_connections
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
from proxyctl.guards import judge
from proxyctl.images import complete_images
from proxyctl.instance_survey import (
    LARGE,
    InstanceLook,
    InstanceSurvey,
    all_layers,
    hostgroups_in_use,
    look_at,
    situation_of,
    survey_families,
    survey_managed,
)
from proxyctl.members_files import other_members
from proxyctl.plan import ModulePlan, Plan, plan_module
from proxyctl.replay import shard_moves
from proxyctl.replay.sides import SIDE_TABLES, Sides
from proxyctl.state import (
    SNAPSHOT,
    Desired,
    DesiredTable,
    GuardAction,
    GuardLimits,
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
    layouts, facts = instance.layouts, instance.facts
    tables = select(desired, options.only)
    mistakes = [
        *fitting.misfits(tables, layouts, client.version),
        *mistakes_at_runtime(desired, facts.regex_engine),
    ]
    if mistakes:
        raise ConfigError(mistakes)
    fitted = {name: fitting.fit(table, layouts[name]) for name, table in tables.items()}
    reader = reader or TableReader(client)
    from_disk = frozenset(name for name, was in instance.leftovers.items() if was)
    survey = InstanceSurvey(client, reader, layouts, facts, fitted, from_disk)
    plan = Plan(
        name=client.login.name or client.address,
        address=client.address,
        version=client.version_text,
        hostgroup_names=desired.hostgroup_names,
        warnings=list(desired.warnings),
        saves=options.saves,
        source=desired.source,
    )
    plan.families = survey_families(survey)
    plan.families_before = survey.surroundings.memory_families
    survey_managed(survey)
    plan.modules = list(_module_plans(survey))
    mistakes = list(fitting.mistakes_when_read(survey.done, client.version_text))
    if mistakes:
        raise ConfigError(mistakes)
    used = hostgroups_in_use(survey)
    complete_images(plan.modules, survey.surroundings, used.at_some_time)
    plan.warnings.extend(remarks.left_by_dead_apply(plan.modules, instance.leftovers))
    _add_pending(plan, options, {**options.leftovers, **instance.leftovers}, desired.source)
    membership = options.membership
    if membership is None and facts.is_cluster_member:
        membership = read_membership(client)
    loaded = [module.name for module in plan.modules if module.images]
    others = OtherMembers() if membership is None else different(loaded, membership)
    plan.warnings.extend(others.warnings())
    found = [
        *judge.dangers(
            plan.modules,
            situation_of(survey, plan.modules, used, plan.hostgroup_names),
            desired.guards,
        ),
        *(refusing.dangers(loaded, membership) if membership else ()),
        *refusing.different_members(others.differing),
    ]
    plan.refusals.extend(guards.refusals(found, desired.guards, force=options.force))
    plan.warnings.extend(guards.warnings(found, desired.guards, force=options.force))
    _add_shard_moves(plan, survey, desired.guards, is_allowed=options.allow_shard_moves)
    is_member = membership is not None and len(membership.listed) > 1
    _add_remarks(plan, survey, is_member=is_member)
    if membership is not None and membership.listed:
        plan.members = [f"{host}:{port}" for host, port in membership.listed]
    if membership is not None and membership.listed and not plan.is_in_sync:
        plan.warnings.extend(what_stays(plan.modules, membership, saves=plan.saves))
        plan.warnings.extend(cut_off(plan.modules, membership))
        if is_member:
            check_ms = facts.galera_check_ms
            plan.warnings.extend(further_writers(plan.modules, membership, check_ms))
        plan.warnings.extend(going_on(plan.modules, plan.address))
        plan.leaving_members = leaving(plan.modules)
        plan.untaken = untaken(plan.modules, membership)
    _tell_decisions(client, plan)
    return plan, survey


def _add_shard_moves(
    plan: Plan, survey: InstanceSurvey, limits: GuardLimits, *, is_allowed: bool
) -> None:
    """Add tables and schemas that change shard; looked for where something at RUNTIME may do that.

    Changes: plan.
    """
    changes = {
        name: found
        for module in plan.modules
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
        return
    sides = survey.sides(plan.hostgroup_names)
    plan.shard_moves = shard_moves.shard_moves(sides, survey.tables)
    names, action = plan.hostgroup_names, limits.action(shard_moves.CODE)
    said = is_allowed or action is GuardAction.WARN
    plan.warnings.extend(shard_moves.warnings(plan.shard_moves, names, allowed=said))
    if action is GuardAction.REFUSE and not is_allowed:
        plan.refusals.extend(shard_moves.refusals(plan.shard_moves, names))


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
    with reader.reading_ahead(all_layers([layouts[name] for name in likely])):

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


def _add_pending(
    plan: Plan, options: PlanOptions, leftovers: Mapping[str, bool], source: Source
) -> None:
    """Add the refusals for pending edits. Changes: plan.

    Where a dead apply had staged a module and MEMORY comes from DISK, all differences are ours.
    """
    for module in plan.modules:
        if not leftovers.get(module.name):
            edits = pending.pending_edits(module, saves=options.saves)
            discard = options.discard_pending
            plan.refusals.extend(pending.refusals(module, edits, discard=discard, source=source))


def _add_remarks(
    plan: Plan,
    survey: InstanceSurvey,
    *,
    is_member: bool,
) -> None:
    for found in survey.done.values():
        plan.left_alone.extend(remarks.left_alone(found))
        plan.taken_out.extend(remarks.taken_out(found))
    plan.restart_required.extend(remarks.restart_required(plan.modules))
    if survey.facts.is_read_only and not plan.is_in_sync:
        plan.warnings.append(
            "the admin interface is read-only (admin-read_only): an apply needs PROXYSQL READWRITE"
        )
    plan.warnings.extend(remarks.fought_over(plan.families))
    for module in plan.modules:
        if module.name == "MYSQL SERVERS" and module.load:
            plan.warnings.extend(remarks.unshunned(module, plan.families))
            leaving = remarks.leaving_servers(module)
            used = used_connections(survey.client) if leaving else {}
            plan.warnings.extend(remarks.cut_connections(leaving, used, is_member=is_member))
