"""The plans of a fleet, made at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from proxyctl.fleet.outcome import Fleet, Planned
from proxyctl.fleet.targets import Target, at_all
from proxyctl.instance.client import AdminClient
from proxyctl.plan.files import plan_files
from proxyctl.plan.make import PlanOptions
from proxyctl.plan.plan import Plan


def plan_fleet(
    targets: Sequence[Target],
    options: PlanOptions,
    *,
    workers: int,
    done: Callable[[int], None] = lambda _count: None,
) -> Fleet:
    """Return the plan of the files of every instance, or the error that prevented it.

    Sends SELECTs only. See `plan_each`.
    """

    def plan(client: AdminClient, target: Target) -> Plan:
        return plan_files(client, target.files, options)

    return plan_each(targets, plan, workers=workers, done=done)


def plan_each(
    targets: Sequence[Target],
    plan: Callable[[AdminClient, Target], Plan],
    *,
    workers: int,
    done: Callable[[int], None] = lambda _count: None,
) -> Fleet:
    """Return the plan of every instance, or the error that prevented it. See `at_all`.

    Equal plans are kept once: a hundred instances mostly share one plan.
    """
    distinct: dict[str, Plan] = {}

    def work(target: Target) -> Planned:
        with target.connect() as client:
            made = plan(client, target)
        kept = distinct.setdefault(made.likeness, made) if len(targets) > 1 else made
        return Planned(made.name, made.address, kept, kept.refusals)

    return Fleet(*at_all(targets, work, workers=workers, done=done))
