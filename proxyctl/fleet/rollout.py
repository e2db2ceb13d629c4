"""What became of each instance of a fleet that was changed. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from proxyctl.errors import ExitCode, ProxyctlError
from proxyctl.fleet.outcome import Failed, worst


class State(StrEnum):
    """What became of one instance."""

    APPLIED = "applied"
    FOLLOWED = "followed"
    IN_SYNC = "in sync"
    PEERS_BEHIND = "applied, and peers do not follow"
    FAILED = "failed"
    UNHEALTHY = "unhealthy"
    ROLLED_BACK = "rolled back"
    NOT_ROLLED_BACK = "not rolled back"
    NOT_TOUCHED = "not touched"


WELL = frozenset({State.APPLIED, State.FOLLOWED, State.IN_SYNC})
"""What is as it should be."""


@dataclass(frozen=True)
class Rolled:
    """One instance after a rollout.

    `error`: why it failed, or why it was not rolled back. `reasons`: what got worse there, and who
    of its cluster does not hold the same. `snapshot`: the state before. `loaded`: the admin modules
    that were loaded at the instance itself. `notes`: what is to be known of its apply besides.
    """

    name: str
    address: str
    state: State
    error: ProxyctlError | None = None
    reasons: tuple[str, ...] = ()
    snapshot: str | None = None
    loaded: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> ExitCode:
        """What this instance alone would end a command with."""
        if self.state is State.NOT_ROLLED_BACK:
            # Whatever hindered that: what was applied is still there.
            return ExitCode.INCOMPLETE
        if self.error is not None:
            return self.error.exit_code
        if self.state in WELL:
            return ExitCode.DONE
        # What was not touched is as it was; another instance says why.
        return ExitCode.DONE if self.state is State.NOT_TOUCHED else ExitCode.INCOMPLETE


@dataclass(frozen=True)
class Rollout:
    """What became of all instances, in their order.

    `was_interrupted`: by a person or a signal. `unread`: those that had no plan, and were left out.
    """

    rolled: Sequence[Rolled]
    was_interrupted: bool = False
    unread: Sequence[Failed] = ()

    @property
    def has_changed(self) -> bool:
        """Whether any instance was, or may have been, changed: also one that is back by now."""
        return any(one.state not in (State.IN_SYNC, State.NOT_TOUCHED) for one in self.rolled)

    @property
    def exit_code(self) -> ExitCode:
        """The worst of all: 4 as soon as one is applied and another one is not."""
        of_unread = [one.error.exit_code for one in self.unread]
        code = worst([*(one.exit_code for one in self.rolled), *of_unread])
        states = {one.state for one in self.rolled}
        is_partial = self.unread or states & {State.NOT_TOUCHED, State.FAILED}
        if State.APPLIED in states and is_partial:
            code = worst([code, ExitCode.INCOMPLETE])
        return ExitCode.INTERRUPTED if self.was_interrupted else code
