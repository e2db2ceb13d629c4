"""Reads an instance once, for its plan and for the decision about it."""

from __future__ import annotations

from collections.abc import Callable

from proxyctl.config.files import ConfigFiles
from proxyctl.instance.client import AdminClient
from proxyctl.instance.facts import read_uptime
from proxyctl.instance.lock import read_holder
from proxyctl.plan.files import plan_files
from proxyctl.plan.make import PlanOptions
from proxyctl.plan.plan import Plan
from proxyctl.watch.decision import InstanceReading


def read_instance(
    client: AdminClient, files: ConfigFiles, options: PlanOptions, now: Callable[[], float]
) -> tuple[Plan, InstanceReading]:
    """Return the plan of the files, and what else a decision needs. Sends SELECTs only.

    `now`: the clock of decisions. Raises: as `plan_files`.
    """
    holder = read_holder(client)
    is_dead = holder is not None and holder.is_dead()
    asked_at = now()
    uptime = read_uptime(client)
    answered_at = now()
    plan = plan_files(client, files, options)
    return plan, InstanceReading(
        plan.is_in_sync,
        _hash_of_desired(plan),
        hash((plan.fingerprint, *plan.secrets)),
        _is_empty(plan),
        None if uptime is None else answered_at - uptime,
        answered_at - asked_at,
        holder.text() if holder is not None and not is_dead else "",
        was_interrupted=is_dead,
    )


def _hash_of_desired(plan: Plan) -> int:
    """Return a hash of the rows that the files want, for comparison in this process."""
    return hash(
        tuple(
            (name, diff.desired.scope and diff.desired.scope.text, frozenset(rows.items()))
            for module in plan.modules
            for name, diff in sorted(module.diffs.items())
            if diff.desired is not None
            for rows in (diff.desired.rows,)
        )
    )


def _is_empty(plan: Plan) -> bool:
    """Return whether no layer has a row of the managed tables, as after a start without a disk."""
    tables = [
        diff
        for module in plan.modules
        for diff in module.diffs.values()
        if diff.desired is not None and diff.layout.table.prefix is None
    ]
    return bool(tables) and not any(diff.memory or diff.runtime or diff.disk for diff in tables)
