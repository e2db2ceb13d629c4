"""Make a Plan from desired rows and an `InstanceState`. Pure: nothing here asks the instance.

tables     the desired rows in the columns that the instance has
diff       the differences of each layer from them                -> changes
steps      the modules to stage, LOAD and SAVE, and their rows
pending    edits that others left in MEMORY                       -> refusals
guards     dangerous transitions                                  -> refusals
notes      rows that are left alone, side effects of a LOAD       -> warnings
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from proxyctl.catalog import ADMIN_MODULES, TABLES
from proxyctl.catalog.destinations import SERVERS
from proxyctl.config.checks import mistakes_at_runtime
from proxyctl.config.project import Project
from proxyctl.errors import ConfigError, UsageError
from proxyctl.plan import guards, misfits, notes, pending_edits
from proxyctl.plan.before_after import before_after, hostgroups_in_use
from proxyctl.plan.diff import TableDiff, diff_table
from proxyctl.plan.fast_routing import kept_alive
from proxyctl.plan.guards import judge, shard_moves
from proxyctl.plan.instance_state import InstanceState
from proxyctl.plan.pending_edits import Pending
from proxyctl.plan.plan import (
    MOST_LINTED_ROWS,
    MOST_LINTED_RULES,
    Discarded,
    LintErrors,
    ModulePlan,
    Plan,
    ShardMove,
    plan_module,
)
from proxyctl.plan.plugin_rows import left_to_plugins
from proxyctl.plan.steps import with_images
from proxyctl.proxysql.configuration import BeforeAfter
from proxyctl.proxysql.topology import Topologies
from proxyctl.routing.router import SERVING_TABLES
from proxyctl.rows.desired import (
    LINT,
    POLICIES,
    SNAPSHOT,
    Desired,
    DesiredTable,
    GuardAction,
    GuardLimits,
)
from proxyctl.rows.row import Layer
from proxyctl.text import nearest

if TYPE_CHECKING:
    from proxyctl.lint.run import LocatedFinding


@dataclass(frozen=True)
class PlanOptions:
    """The options of plan and apply.

    Raises: UsageError for a name in `only` that is neither an admin module nor a table.
    """

    only: tuple[str, ...] = ()
    """Only these admin modules (`MYSQL-USERS`) or tables (`mysql_users`); empty: all."""
    force: bool = False
    """Whether to ignore the refusals that name `--force`."""
    discard_pending: bool = False
    """Whether to overwrite managed rows that were edited in MEMORY."""
    allow_shard_moves: bool = False
    """Whether tables and schemas may move to another shard; their data must be there already."""
    saves: bool = True
    """Whether an apply SAVEs. If not, a restart reverts the change."""

    def __post_init__(self) -> None:
        for name in self.only:
            _tables_of(name)


DEFAULT_OPTIONS = PlanOptions()


def make(
    desired: Desired,
    current: InstanceState,
    options: PlanOptions = DEFAULT_OPTIONS,
    project: Project | None = None,
) -> Plan:
    """Return the plan that brings an instance to the desired rows.

    `project`: the files that the rows come from; None for a snapshot. Raises: ConfigError when the
    files do not fit this instance.
    """
    info, limits = current.info, desired.guards
    desired = left_to_plugins(desired, info.ledger)
    drafted = _draft(desired, current)
    diffs, modules, topologies = drafted
    unfit = [*misfits.in_diffs(diffs, info.version_text)]
    if unfit:
        raise ConfigError(unfit)
    runtime = cache(lambda: before_after(modules, current, desired))
    dangers = [*judge.dangers(modules, diffs, current, desired, topologies, runtime)]
    linted = _Lint() if project is None else _lint(project, drafted, current, desired, runtime)
    moves = _shard_moves(modules, runtime)
    pending = [*_pending(modules, current, options)]
    coming, names = topologies.coming, desired.hostgroup_names
    modules = [notes.with_remarks(module, coming, names) for module in modules]
    return Plan(
        name=info.name,
        address=info.address,
        version=info.version_text,
        modules=modules,
        refusals=[
            *pending_edits.refusals(
                pending, discard=options.discard_pending, source=desired.source
            ),
            *guards.refusals([*dangers, *linted.dangers], limits, force=options.force),
            *shard_moves.refusals(moves, desired, allowed=options.allow_shard_moves),
        ],
        discarded=[*_discarded(pending)] if options.discard_pending else [],
        left_alone=[*notes.left_alone(diffs.values())],
        out_of_service=[text for diff in diffs.values() for text in notes.out_of_service(diff)],
        warnings=[
            *desired.warnings,
            *notes.left_by_interrupted_apply(modules, info.staged),
            *guards.warnings(dangers, limits, force=options.force),
            *_not_refused(linted, limits),
            *notes.not_read(modules, current),
            *shard_moves.warnings(moves, desired, allowed=options.allow_shard_moves),
            *notes.warnings(modules, coming, current),
        ],
        findings=linted.findings,
        known_findings=linted.known_findings,
        lint_errors=linted.errors,
        skipped_checks=linted.skipped,
        restart_required=[*notes.restart_required(modules)],
        members=[member.name for member in current.membership.listed],
        saves=options.saves,
        topologies=topologies,
        hostgroup_names=names,
        shard_moves=moves,
        source=desired.source,
        paths=project.paths if project else (),
        lists_instances=bool(project and project.instances),
    )


class _Lint(NamedTuple):
    """What a plan says of lint."""

    findings: tuple[LocatedFinding, ...] = ()
    """The findings that the plan introduces; in a plan that changes nothing, the errors in the
    files."""
    known_findings: int = 0
    """The number of findings that were there before."""
    errors: LintErrors | None = None
    """The number of errors before and after; None if the guard of lint is off."""
    skipped: tuple[str, ...] = ()
    """The codes of the checks that did not run."""
    dangers: tuple[guards.Danger, ...] = ()
    """The errors that the plan introduces, and the policies that it breaks."""


def _lint(
    project: Project,
    drafted: _Draft,
    current: InstanceState,
    desired: Desired,
    runtime: Callable[[], BeforeAfter],
) -> _Lint:
    """Run lint and the policies on RUNTIME before and after, and the policies on the changes.

    Neither refuses a plan that changes nothing.
    """
    limits = desired.guards
    if limits.action(POLICIES) is GuardAction.OFF:
        project = project.without_policies
    is_off = limits.action(LINT) is GuardAction.OFF
    if is_off and not project.policies:
        return _Lint()
    from proxyctl.plan.guards import lint, policies  # importing every check takes a while

    is_large = _is_large(drafted.diffs, current)
    result = lint.lint_change(runtime(), project, is_large=is_large, only_policies=is_off)
    errors = None if is_off else result.counts
    if all(module.is_in_sync for module in drafted.modules):
        return _Lint(result.errors_in_files, errors=errors, skipped=result.skipped)
    changes = [change for module in drafted.modules for change in module.changes]
    broken = policies.broken_by_changes(project, changes, desired, current.info.name)
    introduced = (*result.introduced, *broken)
    dangers = (*lint.dangers(result.errors), *policies.dangers(introduced))
    return _Lint(introduced, len(result.known), errors, result.skipped, dangers)


def _not_refused(linted: _Lint, limits: GuardLimits) -> Iterator[str]:
    """Yield that the guard of lint refuses nothing that a skipped check would find."""
    if linted.skipped and limits.action(LINT) is GuardAction.REFUSE:
        yield (
            "guards.lint cannot refuse errors of the checks that did not run; run proxyctl lint on"
            " the files"
        )


def _is_large(diffs: Mapping[str, TableDiff], current: InstanceState) -> bool:
    """Return whether lint of RUNTIME, now or afterwards, would take long."""
    counts = {
        name: max(
            len(current.at_runtime(name) or ()),
            len(diffs[name].target) if name in diffs else 0,
        )
        for name, layout in current.info.layouts.items()
        if layout.table.prefix is None
    }
    rules = sum(counts.get(name, 0) for name in ("mysql_query_rules", "pgsql_query_rules"))
    return rules > MOST_LINTED_RULES or sum(counts.values()) > MOST_LINTED_ROWS


class _Draft(NamedTuple):
    """The modules of a plan, and what they were made from."""

    diffs: dict[str, TableDiff]
    modules: list[ModulePlan]
    topologies: Topologies


def _draft(desired: Desired, current: InstanceState, *, takes_dead_rules: bool = False) -> _Draft:
    """Return the steps of a plan, before anything judges them. Raises: ConfigError."""
    tables: Mapping[str, DesiredTable]
    tables = _fitted(desired, current, takes_dead_rules=takes_dead_rules)
    if desired.keeps_fast_routing_alive:
        tables = kept_alive(tables, current)
    diffs, topologies = _diffs(tables, current)
    modules = _modules(tables, diffs, current, topologies)
    changing = (name for name in SERVERS if name in diffs and diffs[name].changes[Layer.RUNTIME])
    used = {name: hostgroups_in_use(name, diffs, current).at_any_time for name in changing}
    modules = with_images(modules, topologies.desired, used)
    return _Draft(diffs, modules, topologies)


def select(desired: Desired, only: tuple[str, ...]) -> Desired:
    """Keep the desired tables that `--only` names, by admin module or by table.

    Raises: UsageError for a name without a managed table.
    """
    tables: dict[str, DesiredTable] = {}
    for name in only:
        named = {
            table: desired.tables[table] for table in _tables_of(name) if table in desired.tables
        }
        if not named:
            who = "the apply of that snapshot did" if desired.source is SNAPSHOT else "the files do"
            raise UsageError(f"--only {name}: {who} not manage it")
        tables |= named
    return replace(desired, tables=tables) if only else desired


def _tables_of(name: str) -> list[str]:
    """Return the tables of an admin module, or the table itself. Raises: UsageError."""
    if name in TABLES:
        return [name]
    spelled = name.replace("-", " ")
    if module := ADMIN_MODULES.get(spelled.upper()):
        return [table.name for table in module.tables]
    near = nearest(spelled, [*ADMIN_MODULES, *TABLES], cutoff=0.6)
    listed = f"admin modules: {', '.join(ADMIN_MODULES)}"
    fix = f"did you mean {near!r}?" if near else listed
    raise UsageError(f"--only {name}: no such admin module or table", fix=fix)


def routing_change(desired: Desired, current: InstanceState) -> tuple[BeforeAfter, list[ShardMove]]:
    """Return RUNTIME before and after an apply, and the tables and schemas that change shard.

    `current`: inspected with `routing`. Accepts rules that cannot match if ProxySQL accepts them.
    Raises: ConfigError.
    """
    desired = left_to_plugins(desired, current.info.ledger)
    drafted = _draft(desired, current, takes_dead_rules=True)
    runtime = before_after(drafted.modules, current, desired)
    return runtime, shard_moves.shard_moves(runtime)


def _fitted(
    desired: Desired, current: InstanceState, *, takes_dead_rules: bool = False
) -> dict[str, DesiredTable]:
    """Return the desired tables with the columns of the instance. Raises: ConfigError."""
    info = current.info
    unfit = [*misfits.of_tables(desired.tables, info.layouts, info.version)]
    if not takes_dead_rules:
        unfit += mistakes_at_runtime(desired, info.facts.regex_engine)
    if unfit:
        raise ConfigError(unfit)
    return {name: misfits.fit(table, info.layouts[name]) for name, table in desired.tables.items()}


def _topologies(
    tables: Mapping[str, DesiredTable], diffs: Mapping[str, TableDiff], current: InstanceState
) -> Topologies:
    """Return the families that decide how servers compare.

    `diffs`: those of the managed tables of families, and possibly more.
    """
    facts = current.info.facts
    managed = {TABLES[name].admin_module for name in tables}
    sides = {}
    for name in facts.monitor.family_tables:
        if name in diffs:
            sides[name] = diffs[name].target, diffs[name].memory, diffs[name].runtime
        elif name in current.tables and TABLES[name].admin_module in managed:
            rows = current.rows(name)
            sides[name] = rows[Layer.MEMORY], rows[Layer.MEMORY], rows[Layer.RUNTIME]
    return Topologies.of(
        current.info.layouts, sides, facts.monitor, is_cluster_member=facts.is_cluster_member
    )


def _diffs(
    tables: Mapping[str, DesiredTable], current: InstanceState
) -> tuple[dict[str, TableDiff], Topologies]:
    """Return the diffs of the managed tables, and the families of the instance."""
    layouts = current.info.layouts
    diffs = {
        name: diff_table(layouts[name], table, current.rows(name))
        for name, table in tables.items()
        if name not in SERVERS
    }
    topologies = _topologies(tables, diffs, current)
    for name in SERVERS:
        if name in tables:
            diffs[name] = diff_table(layouts[name], tables[name], current.rows(name), topologies)
    return {name: diffs[name] for name in tables}, topologies


def _modules(
    tables: Mapping[str, DesiredTable],
    diffs: dict[str, TableDiff],
    current: InstanceState,
    topologies: Topologies,
) -> list[ModulePlan]:
    """Return the plans of the admin modules with managed tables.

    Changes: `diffs` also gets the unmanaged tables of modules that differ.
    """
    layouts = current.info.layouts
    modules: list[ModulePlan] = []
    for module in ADMIN_MODULES.values():
        names = [table.name for table in module.tables if table.name in layouts]
        managed = {name: diffs[name] for name in names if name in tables}
        is_of_rules = module.name == "MYSQL QUERY RULES" and bool(names)
        reload = is_of_rules and any(earlier.changes_regex_engine for earlier in modules)
        if not managed and not reload:
            continue
        if reload or not all(diff.is_in_sync for diff in managed.values()):
            # A LOAD or SAVE moves the whole module, so its unmanaged tables matter, too.
            for name in names:
                if name not in tables:
                    diffs[name] = diff_table(layouts[name], None, current.rows(name), topologies)
            managed = {name: diffs[name] for name in names}
        modules.append(plan_module(module, managed, reload=reload))
    return modules


def _pending(
    modules: Iterable[ModulePlan], current: InstanceState, options: PlanOptions
) -> Iterator[tuple[ModulePlan, list[Pending]]]:
    """Yield the pending edits by module, except for those that an interrupted apply had staged."""
    info = current.info
    for module in modules:
        if not (info.staged.get(module.name) or info.taken_over.get(module.name)):
            yield module, pending_edits.pending_edits(module, saves=options.saves)


def _discarded(pending: Iterable[tuple[ModulePlan, list[Pending]]]) -> Iterator[Discarded]:
    for module, edits in pending:
        yield from pending_edits.discarded(module, edits)


def _shard_moves(
    modules: Iterable[ModulePlan], runtime: Callable[[], BeforeAfter]
) -> list[ShardMove]:
    """Return the tables and schemas that change shard, if anything about routing changes."""
    changes = any(module.at_runtime(name) for module in modules for name in SERVING_TABLES)
    return shard_moves.shard_moves(runtime()) if changes else []
