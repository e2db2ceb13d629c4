"""What became of the instances of one command, and which of them would change alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from proxyctl.errors import ExitCode, ProxyctlError
from proxyctl.plan import Plan


@dataclass(frozen=True)
class Planned:
    """The plan of one instance. Instances with the same plan share one `plan`.

    `plan` is that of the first of them: its name and address are those of another instance. A plan
    keeps the rows of all tables, so that of a fleet only different ones are kept. `members`:
    those of its cluster, each in the same spelling for all instances. `is_first`: of the members of
    one cluster it is changed before the others.
    """

    name: str
    address: str
    version: str
    fingerprint: str
    plan: Plan
    members: Sequence[str] = ()
    is_first: bool = False

    @classmethod
    def of(cls, plan: Plan) -> Planned:
        """Return a plan as that of its own instance."""
        return cls(plan.name, plan.address, plan.version, plan.fingerprint, plan, plan.members)

    @property
    def is_in_sync(self) -> bool:
        """Whether nothing differs there."""
        return self.plan.is_in_sync


@dataclass(frozen=True)
class Failed:
    """An instance of which there is no plan, and why."""

    name: str
    address: str
    error: ProxyctlError


@dataclass(frozen=True)
class Fleet:
    """What became of all instances, in the order of the files."""

    planned: Sequence[Planned]
    failed: Sequence[Failed]

    @property
    def count(self) -> int:
        """How many instances there are."""
        return len(self.planned) + len(self.failed)

    @property
    def in_sync(self) -> list[Planned]:
        """Those where nothing differs."""
        return [one for one in self.planned if one.is_in_sync]

    @property
    def alike(self) -> list[list[Planned]]:
        """The others, those with the same plan together."""
        found: dict[int, list[Planned]] = {}
        for one in self.planned:
            if not one.is_in_sync:
                found.setdefault(id(one.plan), []).append(one)
        return [*found.values()]

    def exit_code(self, code: ExitCode = ExitCode.DONE) -> ExitCode:
        """Return the worst of `code` and those of the instances without a plan."""
        return worst([code, *(one.error.exit_code for one in self.failed)])


@dataclass(frozen=True)
class DriftingFleet:
    """How far all instances are from the files, in their order."""

    found: Sequence[Plan]
    failed: Sequence[Failed]

    @property
    def drifted(self) -> list[Plan]:
        """Those where something differs."""
        return [one for one in self.found if not one.is_in_sync]

    def exit_code(self) -> ExitCode:
        """Return the worst code: 2 where something differs, and those of what failed."""
        code = ExitCode.DIFFERENCES if self.drifted else ExitCode.DONE
        return worst([code, *(one.error.exit_code for one in self.failed)])


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
