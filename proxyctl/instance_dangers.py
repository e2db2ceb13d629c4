"""What the guards say of a plan: each is asked where something of its kind changes at RUNTIME.

What a guard needs to know of the instance beyond that is read here, and only then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from proxyctl.admin.login import Login
from proxyctl.admin.pings import read_most_latency_ms
from proxyctl.catalog import Layout
from proxyctl.catalog.destinations import DESTINATIONS
from proxyctl.cluster import refusing
from proxyctl.cluster.membership import Membership
from proxyctl.compare import Difference
from proxyctl.families import FAMILY_TABLES, Family, families_in
from proxyctl.guards import danger
from proxyctl.guards.admin_access import Access, lockouts
from proxyctl.guards.crowds import ServersAt, new_crowds
from proxyctl.guards.danger import BLOCKS_EVERYTHING, Danger
from proxyctl.guards.deletions import deletions
from proxyctl.guards.hostgroups import (
    SERVERS,
    HostgroupNeeds,
    emptied_hostgroups,
    loaded_servers,
    running_servers,
    without_shunned,
)
from proxyctl.guards.latency import (
    MOST_LATENCY,
    leaves_no_time,
    left_without_limit,
    servers_without_time,
)
from proxyctl.guards.monitoring import blind_monitor, emptied_credentials, is_switched_on
from proxyctl.guards.serving import serving_now, with_families
from proxyctl.guards.stray import redirected, strays
from proxyctl.instance_survey import HostgroupsInUse, InstanceSurvey
from proxyctl.lint.answers_for_all import new_answer_for_all, rows_that_answer
from proxyctl.lint.answers_to_samples import names_sessions, new_answer_to_samples
from proxyctl.online_limits import ATTRIBUTES, crowded, online_limits
from proxyctl.plan import ModulePlan, Plan
from proxyctl.replay import shard_moves
from proxyctl.replay.sides import SIDE_TABLES, Sides, held_at_runtime, sides_of
from proxyctl.state import GuardAction, GuardLimits, Layer, Rows

_RULES, _VARIABLES, _USERS = "mysql_query_rules", "mysql_variables", "mysql_users"
_MATCHING = ("mysql-query_digests", "mysql-query_processor_regex")
"""Variables that decide what a rule matches."""


def add_dangers(
    plan: Plan,
    survey: InstanceSurvey,
    limits: GuardLimits,
    used: HostgroupsInUse,
    membership: Membership | None,
    different_members: Mapping[str, Sequence[str]],
    *,
    force: bool,
) -> None:
    """Add what the guards refuse, and what they only warn of. Changes: plan."""
    found = [
        *deletions(plan.modules, limits),
        *_hostgroups(plan, survey, limits, used),
        *_lockouts(plan, survey),
        *_monitor(plan, survey),
        *_latency(plan, survey),
        *_catch_all(plan, survey),
        *_cluster(plan, membership),
        *refusing.different_members(different_members),
    ]
    plan.refusals.extend(danger.refusals(found, limits, force=force))
    plan.warnings.extend(danger.warnings(found, limits, force=force))


def _hostgroups(
    plan: Plan, survey: InstanceSurvey, limits: GuardLimits, used: HostgroupsInUse
) -> Iterator[Danger]:
    families = survey.surroundings.families
    writers = frozenset(family.writer for family in _families_afterwards(survey))
    needs = HostgroupNeeds(writers, used.after, plan.hostgroup_names)
    servers = _servers_module(plan)
    if servers is not None and servers.load:
        now, then = _servers_now(survey, servers), _servers_then(survey, servers)
        crowds = new_crowds(now, then, families)
        yield from emptied_hostgroups(servers, families, needs, limits, crowds)
    turned = [
        (survey.layouts[name], changes)
        for name in DESTINATIONS
        if (changes := _at_runtime(plan, name)) and any(redirected(survey.layouts[name], changes))
    ]
    if not turned:
        return
    if servers is None:
        families = tuple(_families_at_runtime(survey)) if survey.facts.monitor_enabled else ()
        now = then = _unmanaged_servers(survey, families)
    elif not servers.load:
        now = then = _servers_now(survey, servers)
    served = serving_now(now.layout, now.servers, families)
    served |= with_families(now.layout, now.servers, families)
    will_serve = with_families(then.layout, then.servers, families)
    served -= crowded(now.layout, now.servers, now.most).keys()
    will_serve -= crowded(then.layout, then.servers, then.most).keys()
    for found, changes in turned:
        yield from strays(found, changes, served, will_serve, needs)


def _servers_module(plan: Plan) -> ModulePlan | None:
    """Return MYSQL SERVERS, None where no file has anything of it."""
    return next((module for module in plan.modules if SERVERS in module.surveys), None)


def _servers_now(survey: InstanceSurvey, module: ModulePlan) -> ServersAt:
    found = module.surveys.get(ATTRIBUTES)
    limits = online_limits(found.layout, held_at_runtime(found)) if found is not None else {}
    return ServersAt(survey.layouts[SERVERS], running_servers(module), limits)


def _servers_then(survey: InstanceSurvey, module: ModulePlan) -> ServersAt:
    """Return what the last LOAD of MYSQL SERVERS brings."""
    found, limits = module.surveys.get(ATTRIBUTES), {}
    if found is not None:
        limits = online_limits(found.layout, module.images[-1].get(ATTRIBUTES, found.target))
    return ServersAt(survey.layouts[SERVERS], loaded_servers(module), limits)


def _unmanaged_servers(survey: InstanceSurvey, families: tuple[Family, ...]) -> ServersAt:
    """Return the servers at RUNTIME where no file has any: they stay what they are."""
    layout = survey.layouts[SERVERS]
    runtime, memory = (survey.reader.read(layout, one) for one in (Layer.RUNTIME, Layer.MEMORY))
    attributes = survey.layouts.get(ATTRIBUTES)
    limits = {}
    if attributes is not None:
        limits = online_limits(attributes, survey.reader.read(attributes, Layer.RUNTIME))
    return ServersAt(layout, without_shunned(layout, runtime, memory, families), limits)


def _at_runtime(plan: Plan, table: str) -> list[Difference]:
    """Return what changes of a table at RUNTIME."""
    return [one for module in plan.modules for one in module.at_runtime(table)]


def _families_afterwards(survey: InstanceSurvey) -> list[Family]:
    """Return the families that the rows define; those of an unmanaged module were not read."""
    rows = {
        name: survey.done[name].target.values() for name in FAMILY_TABLES if name in survey.done
    }
    return families_in(survey.layouts, rows, rds_discovery=False)


def _families_at_runtime(survey: InstanceSurvey) -> list[Family]:
    """Return the families at RUNTIME, whether the monitor is on or not."""
    rows = {
        name: survey.reader.read(survey.layouts[name], Layer.RUNTIME).values()
        for name in FAMILY_TABLES
        if name in survey.layouts
    }
    return families_in(survey.layouts, rows, rds_discovery=False)


def _lockouts(plan: Plan, survey: InstanceSurvey) -> Iterable[Danger]:
    return lockouts(_at_runtime(plan, "admin_variables"), _access(survey.client.login))


def _access(login: Login) -> Access:
    return Access(login.user, login.password, login.host, login.port, login.socket)


def _monitor(plan: Plan, survey: InstanceSurvey) -> Iterable[Danger]:
    changes = _at_runtime(plan, _VARIABLES)
    emptied = emptied_credentials(changes)
    if not emptied or not (survey.facts.monitor_enabled or is_switched_on(changes)):
        return ()
    is_managed = any(name in survey.done for name in FAMILY_TABLES)
    families = _families_afterwards(survey) if is_managed else _families_at_runtime(survey)
    return blind_monitor(emptied, families)


def _latency(plan: Plan, survey: InstanceSurvey) -> Iterable[Danger]:
    if SERVERS not in survey.layouts:
        return ()
    layout = survey.layouts[SERVERS]
    module, changes = _servers_module(plan), _at_runtime(plan, _VARIABLES)
    if leaves_no_time(changes):
        if module is not None:
            return servers_without_time(layout, loaded_servers(module))
        return servers_without_time(layout, survey.reader.read(layout, Layer.RUNTIME))
    if module is None or not module.load or MOST_LATENCY in {change.key[0] for change in changes}:
        return ()
    bare = left_without_limit(layout, running_servers(module), loaded_servers(module))
    if not bare or read_most_latency_ms(survey.client) > 0:
        return ()
    return servers_without_time(layout, bare)


def _catch_all(plan: Plan, survey: InstanceSurvey) -> Iterator[Danger]:
    """Yield a catch-all that blocks, where rules change, or what decides what they match."""
    deciding = [
        change
        for name in (_RULES, _VARIABLES)
        for change in _at_runtime(plan, name)
        if name == _RULES or change.key[0] in _MATCHING
    ]
    if not deciding or _RULES not in survey.layouts:
        return
    rules = survey.done.get(_RULES)
    if rules is not None and not rows_that_answer(rules.layout, rules.target):
        return
    layouts = {name: survey.layouts[name] for name in (_RULES, _VARIABLES)}
    sides = sides_of_plan(plan, survey, layouts)
    text = new_answer_for_all(sides.before, sides.after)
    if text is None:
        if names_sessions(sides.after):
            layouts[_USERS] = survey.layouts[_USERS]
            sides = sides_of_plan(plan, survey, layouts)
        text = new_answer_to_samples(sides.before, sides.after)
    if text:
        yield Danger(BLOCKS_EVERYTHING, text)


def _cluster(plan: Plan, membership: Membership | None) -> Iterable[Danger]:
    loaded = [module.name for module in plan.modules if module.images]
    return refusing.dangers(loaded, membership) if membership else ()


def add_shard_moves(
    plan: Plan, survey: InstanceSurvey, limits: GuardLimits, *, is_allowed: bool
) -> None:
    """Add tables and schemas that change shard; looked for where something at RUNTIME may do that.

    Changes: plan.
    """
    leaving = (
        (survey.layouts[name], change.current)
        for name in (shard_moves.RULES, shard_moves.FAST_ROUTING)
        for change in _at_runtime(plan, name)
        if change.current is not None
    )
    changes = any(_at_runtime(plan, name) for name in SIDE_TABLES)
    if not (changes and shard_moves.concerns_shards(survey.tables, leaving)):
        return
    plan.shard_moves = shard_moves.shard_moves(sides_of_plan(plan, survey), survey.tables)
    names, action = plan.hostgroup_names, limits.action(shard_moves.CODE)
    said = is_allowed or action is GuardAction.WARN
    plan.warnings.extend(shard_moves.warnings(plan.shard_moves, names, allowed=said))
    if action is GuardAction.REFUSE and not is_allowed:
        plan.refusals.extend(shard_moves.refusals(plan.shard_moves, names))


def sides_of_plan(
    plan: Plan, survey: InstanceSurvey, layouts: dict[str, Layout] | None = None
) -> Sides:
    """Return what routes queries now and afterwards, from what the survey has read already.

    `layouts`: only these tables.
    """

    def runtime(layout: Layout) -> Rows:
        found = survey.done.get(layout.name)
        if found is None:
            return survey.reader.read(layout, Layer.RUNTIME)
        return held_at_runtime(found)

    return sides_of(
        layouts or survey.layouts,
        survey.tables,
        runtime,
        version=survey.client.version,
        hostgroup_names=plan.hostgroup_names,
    )
