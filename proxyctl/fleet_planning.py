"""Many instances as one: files compiled once, instances read at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

from proxyctl.admin.client import AdminClient
from proxyctl.admin.cluster import read_own_checksums
from proxyctl.admin.host_names import addresses_of_each
from proxyctl.admin.login import Login
from proxyctl.at_once import at_once
from proxyctl.cluster.checksums import Checksum
from proxyctl.cluster.electing import as_follower, first_of, together
from proxyctl.cluster.namesakes import in_one_spelling
from proxyctl.config.load import ParsedFiles
from proxyctl.errors import ProxyctlError, traceback_lines, unexpected
from proxyctl.fleet.outcome import DriftingFleet, Failed, Fleet, Planned
from proxyctl.plan import Plan
from proxyctl.workflow import PlanOptions, plan_files

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

    def connect(self, *, compiles: bool = True) -> AdminClient:
        """Open a connection; `compiles` where the files are to be compiled then.

        Raises: InstanceError; ConfigError for files that cannot be read, or refer to what is not at
        hand.
        """
        self.files.raise_if_misread()
        if compiles:
            self.files.raise_if_unresolved()
        return AdminClient(self.login, trace=self.trace)

    def told(self, error: Exception) -> ProxyctlError:
        """Return what to say of what was raised here; --debug says where a bug is."""
        if isinstance(error, ProxyctlError):
            return error
        if self.trace is not None:
            for line in traceback_lines(error):
                self.trace(f"{self.name}: {line}")
        return unexpected(error, is_debug=self.trace is not None)


@dataclass
class _DistinctPlans:
    """Plans that differ from one another; a fleet of a hundred mostly has one."""

    _kept: dict[str, Plan] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def planned(self, plan: Plan) -> Planned:
        """Return the plan of an instance; where one like it is kept, that takes its place."""
        with self._guard:
            kept = self._kept.setdefault(plan.likeness, plan)
        return replace(Planned.of(plan), plan=kept)

    def follower(self, one: Planned, first: Planned) -> Planned:
        """Return the plan of a member of a cluster that is changed after the `first` one."""
        plan = as_follower(one.plan, first.name)
        if plan is one.plan:
            return one
        found = self.planned(replace(plan, name=one.name, address=one.address))
        return replace(found, members=one.members)


def plan_fleet(
    targets: Sequence[Target],
    options: PlanOptions,
    *,
    workers: int,
    done: Callable[[int], None] = lambda _count: None,
) -> Fleet:
    """Return the plans of all instances, and why some have none. Sends SELECTs only.

    `done` is told how many are finished. A bug that shows at one instance is why that one has none.
    """
    distinct = _DistinctPlans()

    def work(target: Target) -> _Found:
        with target.connect() as client:
            plan = plan_files(client, target.files, options)
            held = read_own_checksums(client) if plan.members else {}
            return _Found(distinct.planned(plan), held)

    found, failed = at_all(targets, work, workers, done)
    return Fleet(_in_turn(found, distinct), failed)


class _Found(NamedTuple):
    """The plan of an instance, and its checksums where it is a member of a cluster."""

    planned: Planned
    held: Mapping[str, Checksum]


def _in_turn(found: Sequence[_Found], distinct: _DistinctPlans) -> list[Planned]:
    """Return the plans; of members of one cluster as they are when one of them is changed first."""
    listed = in_one_spelling([one.planned.members for one in found], addresses_of_each)
    planned = [
        replace(one.planned, members=names) for one, names in zip(found, listed, strict=True)
    ]
    for group in together(listed):
        members = [planned[position] for position in group]
        if len(group) == 1 or all(one.is_in_sync for one in members):
            continue
        chosen = first_of([one.plan for one in members], [found[at].held for at in group])
        first = group[chosen]
        for position in group:
            if position == first:
                planned[first] = replace(planned[first], is_first=True)
            else:
                planned[position] = distinct.follower(planned[position], planned[first])
    return planned


def drift_fleet(
    targets: Sequence[Target],
    options: PlanOptions,
    *,
    workers: int,
    done: Callable[[int], None] = lambda _count: None,
) -> DriftingFleet:
    """Return how far all instances are from the files. As `plan_fleet`."""

    def work(target: Target) -> Plan:
        with target.connect() as client:
            found = plan_files(client, target.files, options)
        # A plan keeps the rows of all tables: where nothing differs nobody asks for them.
        return replace(found, modules=[]) if found.is_in_sync else found

    return DriftingFleet(*at_all(targets, work, workers, done))


def at_all(
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
        if isinstance(result, Exception):
            failed.append(Failed(target.name, target.login.address, target.told(result)))
        elif isinstance(result, BaseException):
            raise result
        else:
            good.append(result)
    return good, failed
