"""Plan files for an instance: compile, inspect, make."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from proxyctl.config.files import ConfigFiles
from proxyctl.config.project import Project
from proxyctl.instance.client import AdminClient
from proxyctl.plan.before_after import before_after
from proxyctl.plan.inspect import begin_reading, inspect, read_info
from proxyctl.plan.instance_state import InstanceState
from proxyctl.plan.make import DEFAULT_OPTIONS, PlanOptions, make, routing_change, select
from proxyctl.plan.plan import Plan, ShardMove
from proxyctl.proxysql.configuration import BeforeAfter
from proxyctl.rows.desired import Desired
from proxyctl.text import counted

_LOGGER = logging.getLogger(__name__)


def plan_files(
    client: AdminClient, files: ConfigFiles, options: PlanOptions = DEFAULT_OPTIONS
) -> Plan:
    """Return the plan of the files for this instance. Sends SELECTs only.

    Raises: ConfigError when the files do not fit this instance, InstanceError when it cannot be
    read, UsageError when `only` names no managed table.
    """
    return plan_and_current(client, files, options)[0]


def plan_and_current(
    client: AdminClient,
    files: ConfigFiles,
    options: PlanOptions,
    taken_over: Mapping[str, bool] | None = None,
) -> tuple[Plan, InstanceState]:
    """Return the plan, and the state that it was made from.

    `taken_over`: see `read_info`. Raises: as `plan_files`.
    """
    desired, current, project = _inspected(client, files, options, taken_over=taken_over)
    return planned(desired, current, options, project), current


def plan_and_before_after(
    client: AdminClient, files: ConfigFiles, options: PlanOptions = DEFAULT_OPTIONS
) -> tuple[Plan, BeforeAfter]:
    """Return the plan, and RUNTIME before and after it. Raises: as `plan_files`."""
    desired, current, project = _inspected(client, files, options, routing=True)
    plan = planned(desired, current, options, project)
    return plan, before_after(plan.modules, current, desired)


def routing_change_of(
    client: AdminClient, files: ConfigFiles
) -> tuple[BeforeAfter, list[ShardMove]]:
    """Return RUNTIME before and after an apply of the files, and what changes shard.

    Accepts rules that cannot match if ProxySQL accepts them. Sends SELECTs only. Raises:
    ConfigError, InstanceError.
    """
    desired, current, _ = _inspected(
        client, files, DEFAULT_OPTIONS, routing=True, takes_dead_rules=True
    )
    return routing_change(desired, current)


def _inspected(
    client: AdminClient,
    files: ConfigFiles,
    options: PlanOptions,
    *,
    taken_over: Mapping[str, bool] | None = None,
    routing: bool = False,
    takes_dead_rules: bool = False,
) -> tuple[Desired, InstanceState, Project]:
    """Compile the files for the instance, and inspect it."""
    info = read_info(client, taken_over)
    reading = begin_reading(client, info, () if options.only else files.sections)
    project = files.project(
        info.version, takes_dead_rules=takes_dead_rules, deviations=info.deviations
    )
    desired = select(project.desired, options.only)
    current = inspect(client, desired, info, reading, routing=routing)
    return desired, current, project


def planned(
    desired: Desired, current: InstanceState, options: PlanOptions, project: Project | None = None
) -> Plan:
    """Return the plan, and log its decisions. Raises: as `make`."""
    plan = make(desired, current, options, project)
    if _LOGGER.isEnabledFor(logging.DEBUG):
        for module in plan.modules:
            steps = [f"{len(module.images)} LOAD"] * bool(module.images) + ["SAVE"] * module.save
            steps_text = ", ".join(steps) or "no LOAD, no SAVE"
            changes = counted(len(module.changes), "change")
            _LOGGER.debug("decided: %s: %s; %s", module.name, changes, steps_text)
        for refusal in plan.refusals:
            allow = refusal.allow or "nothing"
            _LOGGER.debug("decided: refused: %s; allowed by %s", refusal.code, allow)
    return plan
