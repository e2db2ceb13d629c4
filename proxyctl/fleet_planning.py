"""Many instances as one: files compiled once, instances read at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from proxyctl.admin.client import AdminClient
from proxyctl.admin.login import Login
from proxyctl.at_once import at_once
from proxyctl.config.load import ParsedFiles
from proxyctl.doctor.examination import Examination
from proxyctl.doctor.fleet import ExaminedFleet
from proxyctl.drift import Drift
from proxyctl.errors import ProxyctlError
from proxyctl.fleet.outcome import DriftingFleet, Failed, Fleet, Planned
from proxyctl.plan import Plan
from proxyctl.workflow import PlanOptions, drift_of, plan_files

R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class Target:
    """One instance of the fleet, and the files as they are for it."""

    login: Login
    files: ParsedFiles
    trace: Callable[[str], None] | None = None

    @property
    def name(self) -> str:
        """What people call it."""
        return self.login.name or self.login.address

    def connect(self) -> AdminClient:
        """Open a connection. Raises: InstanceError."""
        return AdminClient(self.login, trace=self.trace)


@dataclass
class _DistinctPlans:
    """Plans that differ from one another; a fleet of a hundred mostly has one."""

    _kept: dict[str, Plan] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def planned(self, plan: Plan) -> Planned:
        """Return the plan of an instance; where one like it is kept, that takes its place."""
        with self._guard:
            kept = self._kept.setdefault(plan.likeness, plan)
        return Planned(plan.name, plan.address, plan.version, plan.fingerprint, kept)


def plan_fleet(
    targets: Sequence[Target],
    options: PlanOptions,
    *,
    workers: int,
    done: Callable[[int], None] = lambda _count: None,
) -> Fleet:
    """Return the plans of all instances, and why some have none. Sends SELECTs only.

    `done` is told how many are finished. Raises what is no expected error of an instance.
    """
    distinct = _DistinctPlans()

    def work(target: Target) -> Planned:
        with target.connect() as client:
            return distinct.planned(plan_files(client, target.files, options))

    return Fleet(*_at_all(targets, work, workers, done))


def drift_fleet(
    targets: Sequence[Target],
    options: PlanOptions,
    *,
    workers: int,
    done: Callable[[int], None] = lambda _count: None,
) -> DriftingFleet:
    """Return how far all instances are from the files. As `plan_fleet`."""

    def work(target: Target) -> Drift:
        with target.connect() as client:
            found = drift_of(client, target.files, options)
        # A plan keeps the rows of all tables: where nothing differs nobody asks for them.
        return replace(found, plan=replace(found.plan, modules=[])) if found.is_none else found

    return DriftingFleet(*_at_all(targets, work, workers, done))


def examine_fleet(
    targets: Sequence[Target],
    look: Callable[[AdminClient, Mapping[int, str]], Examination],
    *,
    workers: int,
    done: Callable[[int], None] = lambda _count: None,
) -> ExaminedFleet:
    """Return what is wrong with all instances. As `plan_fleet`.

    `look` examines one; it is given the names of hostgroups in the files.
    """

    def work(target: Target) -> Examination:
        with target.connect() as client:
            return look(client, target.files.hostgroup_names())

    return ExaminedFleet(*_at_all(targets, work, workers, done))


def _at_all(
    targets: Sequence[Target],
    work: Callable[[Target], R],
    workers: int,
    done: Callable[[int], None],
) -> tuple[list[R], list[Failed]]:
    """Return what the work gave for each instance, and where it failed, in their order."""
    found: dict[Target, R | BaseException] = {}
    for count, (target, result) in enumerate(at_once(targets, work, workers=workers), 1):
        found[target] = result
        done(count)
    good: list[R] = []
    failed: list[Failed] = []
    for target in targets:
        result = found[target]
        if isinstance(result, ProxyctlError):
            failed.append(Failed(target.name, target.login.address, result))
        elif isinstance(result, BaseException):
            raise result
        else:
            good.append(result)
    return good, failed
