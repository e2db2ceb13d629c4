"""Plan every instance of a fleet. Sends SELECTs only."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from proxyctl.fleet.cluster import is_behind
from proxyctl.fleet.outcome import Fleet, Planned
from proxyctl.fleet.targets import Target, at_all
from proxyctl.plan.files import plan_files
from proxyctl.plan.make import PlanOptions
from proxyctl.plan.plan import Plan


@dataclass
class _DistinctPlans:
    """The distinct plans of a fleet: a hundred instances mostly share one."""

    _kept: dict[str, Plan] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def kept(self, plan: Plan) -> Plan:
        """Return an equal plan that is kept already, or keep this one."""
        with self._guard:
            return self._kept.setdefault(plan.likeness, plan)


def plan_fleet(
    targets: Sequence[Target],
    options: PlanOptions,
    *,
    workers: int,
    done: Callable[[int], None] = lambda _count: None,
) -> Fleet:
    """Return the plan of every instance, or the error that prevented it. See `at_all`."""
    distinct = _DistinctPlans()

    def work(target: Target) -> Planned:
        with target.connect() as client:
            plan = plan_files(client, target.files, options)
        kept = distinct.kept(plan) if len(targets) > 1 else plan
        return Planned(plan.name, plan.address, kept, is_behind(plan))

    return Fleet(*at_all(targets, work, workers=workers, done=done))
