"""What became of the instances that one command means, and with which code it ends. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from proxyctl.apply.result import ApplyResult
from proxyctl.errors import ApplyError, ExitCode, ProxyctlError
from proxyctl.instance.cluster import PeerResult
from proxyctl.plan.plan import Plan


@dataclass(frozen=True)
class Planned:
    """The plan of one instance. Instances with the same plan share one `plan`.

    `plan` is that of the first of them: its name and address are those of another instance. A plan
    keeps the rows of all tables, so that of a fleet only different ones are kept. `is_behind`: it
    has yet to take over what other members of its cluster hold.
    """

    name: str
    address: str
    plan: Plan
    is_behind: bool = False

    @property
    def is_in_sync(self) -> bool:
        """Whether nothing differs there."""
        return self.plan.is_in_sync

    @property
    def fingerprint(self) -> str:
        """That of the plan of this instance."""
        return self.own_plan.fingerprint

    @property
    def own_plan(self) -> Plan:
        """The plan with the name and the address of this instance."""
        return replace(self.plan, name=self.name, address=self.address)


@dataclass(frozen=True)
class Failed:
    """An instance of which nothing is known, and why."""

    name: str
    address: str
    error: ProxyctlError


@dataclass(frozen=True)
class Fleet:
    """The plans of all instances, in the order of the files."""

    planned: Sequence[Planned]
    failed: Sequence[Failed] = ()

    @property
    def count(self) -> int:
        """How many instances there are."""
        return len(self.planned) + len(self.failed)

    @property
    def in_sync(self) -> list[Planned]:
        """Those where nothing differs."""
        return [one for one in self.planned if one.is_in_sync]

    @property
    def differing(self) -> list[Planned]:
        """Those where something differs."""
        return [one for one in self.planned if not one.is_in_sync]

    @property
    def alike(self) -> list[list[Planned]]:
        """Those where something differs; with the same plan together."""
        found: dict[int, list[Planned]] = {}
        for one in self.differing:
            found.setdefault(id(one.plan), []).append(one)
        return [*found.values()]

    def only_plan(self) -> Plan:
        """Return the plan of a fleet of one. Raises: what hindered it."""
        for one in self.failed:
            raise one.error
        (planned,) = self.planned
        return planned.plan

    def exit_code(self, *, detailed: bool) -> ExitCode:
        """Return the worst code: 2 where something differs, if `detailed`, and those of errors."""
        differs = detailed and any(not one.is_in_sync for one in self.planned)
        code = ExitCode.DIFFERENCES if differs else ExitCode.DONE
        return worst([code, *(one.error.exit_code for one in self.failed)])


class State(StrEnum):
    """What became of one instance."""

    APPLIED = "applied"
    FOLLOWED = "followed"
    IN_SYNC = "in sync"
    FAILED = "failed"
    NOT_TOUCHED = "not touched"


@dataclass(frozen=True)
class Rolled:
    """One instance after a rollout.

    `error`: why it failed. `plan` and `result`: what was applied; the plan is kept of a fleet of
    one only. `shunned`: its servers that ProxySQL shunned since, as host:port. `behind`: members of
    its cluster outside the fleet that do not follow. `notes`: what is to be known besides.
    """

    name: str
    address: str
    state: State
    error: ProxyctlError | None = None
    plan: Plan | None = None
    result: ApplyResult | None = None
    shunned: Sequence[str] = ()
    behind: Sequence[PeerResult] = ()
    notes: Sequence[str] = ()

    @property
    def is_well(self) -> bool:
        """Whether the next batch may begin."""
        return not (self.error or self.shunned or self.behind)

    @property
    def snapshot(self) -> str | None:
        """The file with the state before, where there is one."""
        if isinstance(self.error, ApplyError):
            return self.error.snapshot
        return self.result.snapshot if self.result else None

    @property
    def exit_code(self) -> ExitCode:
        """What this instance alone would end a command with."""
        if self.error is not None:
            return self.error.exit_code
        return ExitCode.DONE if self.is_well else ExitCode.INCOMPLETE


@dataclass(frozen=True)
class Rollout:
    """What became of all instances, in their order.

    `was_interrupted`: by a person or a signal. `unread`: those that were left out, and why.
    """

    rolled: Sequence[Rolled]
    was_interrupted: bool = False
    unread: Sequence[Failed] = ()

    @property
    def has_work(self) -> bool:
        """Whether any instance was to change."""
        return any(one.state is not State.IN_SYNC for one in self.rolled)

    @property
    def has_changed(self) -> bool:
        """Whether any instance was, or may have been, changed."""
        unchanged = (State.IN_SYNC, State.NOT_TOUCHED)
        return any(one.state not in unchanged for one in self.rolled)

    @property
    def exit_code(self) -> ExitCode:
        """The worst of all: 4 as soon as one is applied and another one is not."""
        if self.was_interrupted:
            return ExitCode.INTERRUPTED
        codes = [one.exit_code for one in self.rolled]
        codes += [one.error.exit_code for one in self.unread]
        states = {one.state for one in self.rolled}
        if State.APPLIED in states and (self.unread or states & {State.NOT_TOUCHED, State.FAILED}):
            codes.append(ExitCode.INCOMPLETE)
        return worst(codes)


_WORST_FIRST = (
    ExitCode.INTERRUPTED,
    ExitCode.INCOMPLETE,
    ExitCode.REFUSED,
    ExitCode.USAGE,
    ExitCode.ERROR,
    ExitCode.DIFFERENCES,
    ExitCode.DONE,
)


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the code of a command over several instances."""
    return min(codes, key=_WORST_FIRST.index, default=ExitCode.DONE)
