"""Guards: dangerous transitions, which an apply refuses unless they are allowed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from proxyctl.plan.plan import Refusal
from proxyctl.rows.desired import GuardAction, GuardLimits

FORCE = "--force"


@dataclass(frozen=True, slots=True)
class Danger:
    """A transition that a guard refuses, or warns of, unless it is allowed."""

    guard: str
    """The name of the guard; where an option or `guards` can allow the danger, its key there."""
    message: str
    """The transition, in one sentence."""
    fix: str
    """The safe way, which a refusal names before the option that allows the transition."""
    can_force: bool = True
    """False: no option allows the transition, because the apply could not finish."""


def refusals(dangers: Iterable[Danger], limits: GuardLimits, *, force: bool) -> Iterator[Refusal]:
    """Yield the dangers that stop an apply."""
    for danger in dangers:
        if not danger.can_force:
            yield Refusal(danger.guard, danger.message, fix=danger.fix)
        elif limits.action(danger.guard) is GuardAction.REFUSE and not force:
            message = f"{danger.message} (guards.{danger.guard})"
            yield Refusal(danger.guard, message, FORCE, fix=danger.fix)


def warnings(dangers: Iterable[Danger], limits: GuardLimits, *, force: bool) -> Iterator[str]:
    """Yield the dangers that the files or the command line allow."""
    for danger in dangers:
        action = limits.action(danger.guard)
        if not danger.can_force or action is GuardAction.OFF:
            continue
        if action is GuardAction.WARN:
            yield f"{danger.message}; {danger.fix} (guards.{danger.guard}: warn)"
        elif force:
            yield f"{danger.message} ({FORCE})"
