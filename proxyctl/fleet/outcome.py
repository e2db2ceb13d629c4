"""Plans of a fleet, results of a rollout, and their exit codes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from proxyctl.apply.result import ApplyResult
from proxyctl.errors import ApplyError, ExitCode, ProxyctlError
from proxyctl.fleet.failed import Failed, worst
from proxyctl.instance.cluster import PeerResult
from proxyctl.plan.plan import Plan, Refusal


@dataclass(frozen=True)
class Planned:
    """The plan of one instance, and what only a plan of the whole fleet knows of it."""

    name: str
    address: str
    plan: Plan
    """Instances with the same plan share it, and it names the first of them: a plan holds the rows
    of all tables, so a fleet keeps only distinct plans."""
    refusals: Sequence[Refusal]
    """The reasons not to apply: those of the plan, as an apply to the whole fleet finds them."""
    notes: Sequence[str] = ()
    """The warnings that are not in the plan."""

    @classmethod
    def of(cls, plan: Plan) -> Planned:
        """Return the instance that the plan names, with the plan's own refusals."""
        return cls(plan.name, plan.address, plan, plan.refusals)

    @property
    def warnings(self) -> list[str]:
        """The warnings of the plan and the notes."""
        return [*self.plan.warnings, *self.notes]

    @property
    def is_in_sync(self) -> bool:
        """Whether the instance matches the files."""
        return self.plan.is_in_sync

    @property
    def own_plan(self) -> Plan:
        """The plan with this instance's name and address."""
        return replace(self.plan, name=self.name, address=self.address)


@dataclass(frozen=True)
class Fleet:
    """The plans of all instances, in the order of the files."""

    planned: Sequence[Planned]
    """The instances with a plan."""
    failed: Sequence[Failed] = ()
    """The instances without one."""

    @classmethod
    def of(cls, plan: Plan) -> Fleet:
        """Return a fleet of one."""
        return cls([Planned.of(plan)])

    @property
    def in_sync(self) -> list[Planned]:
        """The instances that match the files."""
        return [planned for planned in self.planned if planned.is_in_sync]

    @property
    def differing(self) -> list[Planned]:
        """The instances that differ from the files."""
        return [planned for planned in self.planned if not planned.is_in_sync]

    @property
    def alike(self) -> list[list[Planned]]:
        """The instances that differ, grouped by plan, refusals and notes."""
        groups: dict[tuple[object, ...], list[Planned]] = {}
        for instance in self.differing:
            key = (instance.plan.likeness, *instance.refusals, *instance.notes)
            groups.setdefault(key, []).append(instance)
        return [*groups.values()]

    def only(self) -> Planned:
        """Return the instance of a fleet of one. Raises: the error that prevented its plan."""
        for failure in self.failed:
            raise failure.error
        (planned,) = self.planned
        return planned

    def exit_code(self, *, differences: bool, refusals: bool = False) -> ExitCode:
        """Return the worst code of all instances.

        `differences`: an instance that differs gives 2. `refusals`: an instance with refusals
        gives 3.
        """
        codes = [failure.error.exit_code for failure in self.failed]
        if differences and self.differing:
            codes.append(ExitCode.DIFFERENCES)
        if refusals and any(planned.refusals for planned in self.planned):
            codes.append(ExitCode.REFUSED)
        return worst(codes)


class State(StrEnum):
    """The result of a rollout for one instance."""

    APPLIED = "applied"
    FOLLOWED = "followed"
    ROLLED_BACK = "rolled back"
    IN_SYNC = "in sync"
    FAILED = "failed"
    NOT_TOUCHED = "not touched"


_UNCHANGED = {State.NOT_TOUCHED, State.FAILED, State.ROLLED_BACK}
"""The results of instances that the rollout did not bring to the files."""


@dataclass(frozen=True)
class Rolled:
    """One instance after a rollout."""

    name: str
    """The name of the instance in the files, or its address."""
    address: str
    """The address of the admin interface."""
    state: State
    """The result of the rollout for the instance."""
    error: ProxyctlError | None = None
    """The error of its apply, or of the check after it."""
    result: ApplyResult | None = None
    """The result of the apply, if it was complete."""
    shunned: Sequence[str] = ()
    """The servers that ProxySQL has shunned since the apply, as host:port."""
    behind: Sequence[PeerResult] = ()
    """The members of its cluster outside the fleet that do not follow."""
    notes: Sequence[str] = ()
    """Further sentences for the user."""

    @property
    def is_well(self) -> bool:
        """Whether the next batch may start."""
        return not (self.error or self.shunned or self.behind)

    @property
    def snapshot(self) -> str | None:
        """The snapshot that the apply took, if any."""
        if isinstance(self.error, ApplyError):
            return self.error.snapshot
        return self.result.snapshot if self.result else None

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of this instance alone."""
        if self.error is not None:
            return self.error.exit_code
        return ExitCode.DONE if self.is_well else ExitCode.INCOMPLETE


@dataclass(frozen=True)
class Rollout:
    """The result of a rollout, in the order of the instances."""

    id: str
    """The id that the snapshots of the rollout record."""
    rolled: Sequence[Rolled]
    """The result of each instance."""
    was_interrupted: bool = False
    """Whether the user interrupted the rollout."""
    unread: Sequence[Failed] = ()
    """The instances that were skipped because they could not be read."""

    @property
    def has_work(self) -> bool:
        """Whether any instance had to change."""
        return any(result.state is not State.IN_SYNC for result in self.rolled)

    @property
    def has_changed(self) -> bool:
        """Whether any instance changed, or may have changed."""
        unchanged = (State.IN_SYNC, State.NOT_TOUCHED)
        return any(result.state not in unchanged for result in self.rolled)

    @property
    def exit_code(self) -> ExitCode:
        """The worst code; 4 when some instances were applied and others were not."""
        if self.was_interrupted:
            return ExitCode.INTERRUPTED
        codes = [result.exit_code for result in self.rolled]
        codes += [failure.error.exit_code for failure in self.unread]
        states = {result.state for result in self.rolled}
        if State.APPLIED in states and (self.unread or states & _UNCHANGED):
            codes.append(ExitCode.INCOMPLETE)
        return worst(codes)
