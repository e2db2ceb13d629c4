"""What a watch knows after a round, as numbers for metrics, and what it writes to its log. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from proxyctl.fleet.outcome import Planned
from proxyctl.plan.plan import LintErrors, Plan
from proxyctl.rows.row import Layer
from proxyctl.watch.decision import Situation


class Level(StrEnum):
    """How much a log line matters."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


LEVELS = {
    Situation.IN_SYNC: Level.INFO,
    Situation.DIFFERS: Level.WARNING,
    Situation.EDITED: Level.WARNING,
    Situation.PAUSED: Level.WARNING,
    Situation.LOCKED: Level.WARNING,
    Situation.REFUSED: Level.ERROR,
    Situation.FAILED: Level.ERROR,
    Situation.UNREACHABLE: Level.ERROR,
    Situation.UNPLANNED: Level.ERROR,
}
"""The level of the line that says that an instance came into a situation."""


@dataclass(frozen=True)
class WatchEvent:
    """A change of state."""

    level: Level
    """How much it matters."""
    event: str
    """Its name for programs: a situation, or one such as `applied`."""
    message: str
    """What happened, for people."""
    name: str = ""
    """The instance; '' for the files and the watch itself."""
    address: str = ""
    """Its address."""
    details: Sequence[str] = ()
    """Further lines, for people."""
    plan: Plan | None = None
    """The plan whose changes the line lists."""


@dataclass(frozen=True)
class PlanFigures:
    """The numbers of a plan."""

    modules: Mapping[str, bool]
    """Whether each admin module matches the files."""
    rows: Mapping[Layer, int]
    """The number of rows and variables that differ, by layer."""
    refusals: Mapping[str, int]
    """The number of refusals, by code."""
    lint_errors: LintErrors | None
    """The errors that lint finds in the instance; None if the guard of lint is off."""

    @classmethod
    def of(cls, planned: Planned) -> PlanFigures:
        """Return the numbers of a plan."""
        rows = dict.fromkeys(Layer, 0)
        for module in planned.plan.modules:
            for (_, _, layers), count in module.tallies.items():
                for layer in layers:
                    rows[layer] += count
        codes = [refusal.code for refusal in planned.refusals]
        return cls(
            {module.name: module.is_in_sync for module in planned.plan.modules},
            rows,
            {code: codes.count(code) for code in codes},
            planned.plan.lint_errors,
        )

    def after_apply(self) -> PlanFigures:
        """Return the numbers once the plan is applied."""
        errors = self.lint_errors and self.lint_errors._replace(before=self.lint_errors.after)
        rows = dict.fromkeys(self.rows, 0)
        return PlanFigures(dict.fromkeys(self.modules, True), rows, {}, errors)


@dataclass
class InstanceStatus:
    """An instance after a round. Units: moments in unix seconds."""

    name: str
    """The name in the files, or the address."""
    address: str
    """The address of the admin interface."""
    situation: Situation = Situation.UNPLANNED
    """The situation."""
    is_up: bool | None = None
    """Whether it answered when it was last asked; None before that."""
    plan: PlanFigures | None = None
    """The numbers of the last plan, if the last attempt at one succeeded."""
    planned_at: float | None = None
    """When a plan was last made; None before the first one."""
    has_planned: bool = False
    """Whether the last attempt at a plan succeeded."""
    applied_at: float | None = None
    """When an apply last ended; None before the first one."""
    has_applied: bool = False
    """Whether the last apply succeeded."""
    applies: int = 0
    """The applies that succeeded since the watch began."""
    failed_applies: int = 0
    """The applies that failed since the watch began."""


@dataclass(frozen=True)
class WatchStatus:
    """The watch after a round. Units: moments in unix seconds."""

    instances: Sequence[InstanceStatus] = ()
    """The instances."""
    rounds: int = 0
    """The rounds that have ended."""
    round_s: float = 0.0
    """How long the last round took. Units: seconds."""
    ended_at: float | None = None
    """When the last round ended; None before the first one."""
    mistakes: int = 0
    """The number of mistakes in the files."""
    are_known: bool = True
    """Whether the instances are known: DNS names have addresses."""
    files_changed_at: float | None = None
    """When the newest of the files was changed; None if unknown."""
    is_paused: bool = False
    """Whether the pause file exists."""
