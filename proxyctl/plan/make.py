"""Make a Plan of desired rows and a `Current`. Pure: nothing here asks the instance.

tables     the desired rows in the columns that the instance has
diff       the differences of each layer from them                -> changes
steps      which modules are staged, LOADed and SAVEd, with which rows
pending    what others left in MEMORY                             -> refusals
guards     dangerous transitions                                  -> refusals
notes      what is left alone, and side effects of a LOAD         -> warnings
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from proxyctl.catalog import ADMIN_MODULES, TABLES
from proxyctl.catalog.destinations import SERVERS
from proxyctl.config.checks import mistakes_at_runtime
from proxyctl.config.desired import Project
from proxyctl.errors import ConfigError, UsageError
from proxyctl.plan import guards, mistakes, notes, pending_edits
from proxyctl.plan.current import Current
from proxyctl.plan.diff import Surroundings, TableDiff, diff_table, placed_families
from proxyctl.plan.guards import judge, shard_moves
from proxyctl.plan.pending_edits import Pending
from proxyctl.plan.plan import ModulePlan, Plan, ShardMove, plan_module
from proxyctl.plan.steps import with_images
from proxyctl.routing.sides import SIDE_TABLES, Sides, sides_of
from proxyctl.state.families import Family
from proxyctl.state.row import (
    LINT,
    SNAPSHOT,
    Desired,
    DesiredTable,
    GuardAction,
    GuardLimits,
    Layer,
)
from proxyctl.text import nearest

if TYPE_CHECKING:
    from proxyctl.lint.run import Placed

MOST_LINTED = 2_000
"""Rows of all tables up to which lint takes no time that anybody would notice."""


@dataclass(frozen=True)
class PlanOptions:
    """The options of plan and apply.

    `saves`: whether an apply will SAVE. `lints`: a person reads the plan, with what lint finds.
    Raises: UsageError for a name in `only` that no admin module and no table has.
    """

    only: tuple[str, ...] = ()
    force: bool = False
    discard_pending: bool = False
    allow_shard_moves: bool = False
    saves: bool = True
    lints: bool = False

    def __post_init__(self) -> None:
        for name in self.only:
            _tables_of(name)


DEFAULT_OPTIONS = PlanOptions()


def make(
    desired: Desired,
    current: Current,
    options: PlanOptions = DEFAULT_OPTIONS,
    project: Project | None = None,
) -> Plan:
    """Return the plan that brings an instance to the desired rows.

    `project`: the files that the rows come from, None for a snapshot. Raises: ConfigError when the
    files do not fit this instance.
    """
    look, limits = current.look, desired.guards
    tables = _fitted(desired, current)
    diffs, around, families = _diffs(tables, current)
    modules = _modules(tables, diffs, current, around)
    found = [*mistakes.when_read(diffs, look.version_text)]
    if found:
        raise ConfigError(found)
    in_use = judge.hostgroups_in_use(diffs, current)
    used = {table: found.at_any_time for table, found in in_use.items()}
    modules = with_images(modules, around, used)
    dangers = [*judge.dangers(modules, diffs, current, desired, in_use=in_use, around=around)]
    linted = _Linted()
    if project is not None and options.lints and limits.action(LINT) is not GuardAction.OFF:
        linted = _lint(project, diffs, modules, limits)
    moves = _shard_moves(modules, tables, current, desired.hostgroup_names)
    pending = [*_pending(modules, current, options)]
    return Plan(
        name=look.name,
        address=look.address,
        version=look.version_text,
        modules=modules,
        refusals=[
            *pending_edits.refusals(
                pending, discard=options.discard_pending, source=desired.source
            ),
            *guards.refusals([*dangers, *linted.dangers], limits, force=options.force),
            *shard_moves.refusals(moves, desired, allowed=options.allow_shard_moves),
        ],
        discarded=[
            found
            for module, edits in pending
            if options.discard_pending
            for found in pending_edits.discarded(module, edits)
        ],
        left_alone=[text for one in diffs.values() for text in notes.left_alone(one)],
        taken_out=[text for one in diffs.values() for text in notes.taken_out(one)],
        warnings=[
            *desired.warnings,
            *notes.left_by_dead_apply(modules, look.staged),
            *guards.warnings(dangers, limits, force=options.force),
            *linted.warnings,
            *shard_moves.warnings(moves, desired, allowed=options.allow_shard_moves),
            *notes.warnings(modules, families, current),
        ],
        findings=linted.findings,
        restart_required=[*notes.restart_required(modules)],
        members=[one.name for one in current.membership.listed],
        saves=options.saves,
        families=families,
        families_before=around.memory_families,
        hostgroup_names=desired.hostgroup_names,
        shard_moves=moves,
        source=desired.source,
    )


class _Linted(NamedTuple):
    """What lint finds in the files. `dangers`: what refuses the plan that brings it."""

    findings: tuple[Placed, ...] = ()
    warnings: tuple[str, ...] = ()
    dangers: tuple[guards.Danger, ...] = ()


def _lint(
    project: Project,
    diffs: Mapping[str, TableDiff],
    modules: Iterable[ModulePlan],
    limits: GuardLimits,
) -> _Linted:
    """Run lint on the files. A plan that changes nothing is refused for nothing."""
    is_in_sync = all(one.is_in_sync for one in modules)
    if sum(len(table.rows) for table in project.desired.tables.values()) > MOST_LINTED:
        text = f"lint: skipped for more than {MOST_LINTED:,} rows; run proxyctl lint"
        return _Linted() if is_in_sync else _Linted(warnings=(text,))
    from proxyctl.plan.guards import lint  # importing every check takes a while

    report = lint.report_of(project)
    if report is None:
        return _Linted()
    found = lint.errors(report)
    if is_in_sync:
        return _Linted(found, (*lint.summary(report),)) if found else _Linted()
    dangers: tuple[guards.Danger, ...] = ()
    if found and limits.action(LINT) is GuardAction.REFUSE:
        dangers = (*lint.dangers(found, lint.brought_by(diffs, project)),)
    return _Linted(found, (*lint.summary(report),), dangers)


def select(desired: Desired, only: tuple[str, ...]) -> Desired:
    """Keep the desired tables that `--only` names, by admin module or by table.

    Raises: UsageError for a name without a managed table.
    """
    tables: dict[str, DesiredTable] = {}
    for name in only:
        found = {one: desired.tables[one] for one in _tables_of(name) if one in desired.tables}
        if not found:
            who = "the apply of that snapshot did" if desired.source is SNAPSHOT else "the files do"
            raise UsageError(f"--only {name}: {who} not manage it")
        tables |= found
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


def sides(desired: Desired, current: Current) -> Sides:
    """Return the routing configuration now and after an apply.

    `current`: inspected with `routing`. Raises: as `make`.
    """
    return _sides(_fitted(desired, current), current, desired.hostgroup_names)


def routing_change(desired: Desired, current: Current) -> tuple[Sides, list[ShardMove]]:
    """Return what `sides` does, and the tables and schemas that change shard.

    A rule that ProxySQL takes and that cannot match is no mistake here. Raises: ConfigError.
    """
    tables = _fitted(desired, current, takes_dead_rules=True)
    found = _sides(tables, current, desired.hostgroup_names)
    return found, shard_moves.shard_moves(found, tables)


def _sides(
    tables: Mapping[str, DesiredTable], current: Current, hostgroup_names: Mapping[int, str]
) -> Sides:
    return sides_of(
        current.look.layouts,
        tables,
        lambda layout: current.at_runtime(layout.name),
        version=current.look.version,
        hostgroup_names=hostgroup_names,
    )


def _fitted(
    desired: Desired, current: Current, *, takes_dead_rules: bool = False
) -> dict[str, DesiredTable]:
    """Return the desired tables in the columns that the instance has. Raises: ConfigError."""
    look = current.look
    found = [*mistakes.misfits(desired.tables, look.layouts, look.version)]
    if not takes_dead_rules:
        found += mistakes_at_runtime(desired, look.facts.regex_engine)
    if found:
        raise ConfigError(found)
    return {name: mistakes.fit(one, look.layouts[name]) for name, one in desired.tables.items()}


def _surroundings(
    tables: Mapping[str, DesiredTable], diffs: Mapping[str, TableDiff], current: Current
) -> tuple[Surroundings, tuple[Family, ...]]:
    """Return the families that the monitor places now, and the desired families.

    `diffs`: of the managed tables of families, among others.
    """
    facts = current.look.facts
    managed = {TABLES[name].admin_module for name in tables}
    sides = {}
    for name in facts.family_tables:
        if name in diffs:
            sides[name] = diffs[name].target, diffs[name].memory, diffs[name].runtime
        elif name in current.tables and TABLES[name].admin_module in managed:
            rows = current.rows(name)
            sides[name] = rows[Layer.MEMORY], rows[Layer.MEMORY], rows[Layer.RUNTIME]
    layouts = current.look.layouts
    coming, placed, memory = placed_families(layouts, sides, rds_discovery=facts.rds_discovery)
    return Surroundings(placed, memory, facts.is_cluster_member), coming


def _diffs(
    tables: Mapping[str, DesiredTable], current: Current
) -> tuple[dict[str, TableDiff], Surroundings, tuple[Family, ...]]:
    """Return the diffs of the managed tables, what decides about servers, and desired families."""
    layouts = current.look.layouts
    found = {
        name: diff_table(layouts[name], table, current.rows(name))
        for name, table in tables.items()
        if name not in SERVERS
    }
    around, families = _surroundings(tables, found, current)
    for name in SERVERS:
        if name in tables:
            found[name] = diff_table(layouts[name], tables[name], current.rows(name), around)
    return {name: found[name] for name in tables}, around, families


def _modules(
    tables: Mapping[str, DesiredTable],
    diffs: dict[str, TableDiff],
    current: Current,
    around: Surroundings,
) -> list[ModulePlan]:
    """Return the plans of the admin modules with managed tables.

    Changes: `diffs` gets the other tables of the modules that differ.
    """
    layouts = current.look.layouts
    modules: list[ModulePlan] = []
    for module in ADMIN_MODULES.values():
        names = [table.name for table in module.tables if table.name in layouts]
        managed = {name: diffs[name] for name in names if name in tables}
        is_of_rules = module.name == "MYSQL QUERY RULES" and bool(names)
        reload = is_of_rules and any(one.changes_regex_engine for one in modules)
        if not managed and not reload:
            continue
        if reload or not all(found.is_in_sync for found in managed.values()):
            # A LOAD or SAVE moves the whole module: what else stands in it matters now.
            for name in names:
                if name not in tables:
                    diffs[name] = diff_table(layouts[name], None, current.rows(name), around)
            managed = {name: diffs[name] for name in names}
        modules.append(plan_module(module, managed, reload=reload))
    return modules


def _pending(
    modules: Iterable[ModulePlan], current: Current, options: PlanOptions
) -> Iterator[tuple[ModulePlan, list[Pending]]]:
    """Yield the pending edits by module; differences that a dead apply left are ours."""
    look = current.look
    for module in modules:
        if not (look.staged.get(module.name) or look.taken_over.get(module.name)):
            yield module, pending_edits.pending_edits(module, saves=options.saves)


def _shard_moves(
    modules: Iterable[ModulePlan],
    tables: Mapping[str, DesiredTable],
    current: Current,
    hostgroup_names: Mapping[int, str],
) -> list[ShardMove]:
    """Return the tables and schemas that change shard, if any change concerns sharding."""
    changes = {
        name: found
        for module in modules
        for name in SIDE_TABLES
        if (found := module.at_runtime(name))
    }
    leaving = (
        (current.look.layouts[name], change.current)
        for name in (shard_moves.RULES, shard_moves.FAST_ROUTING)
        for change in changes.get(name, ())
        if change.current is not None
    )
    if not (changes and shard_moves.concerns_shards(tables, leaving)):
        return []
    return shard_moves.shard_moves(_sides(tables, current, hostgroup_names), tables)
