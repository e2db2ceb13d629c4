"""What to do next about one instance: from what a round has seen to a decision. Pure.

Nothing is kept but what a watch has seen itself, so a watch that begins anew decides as carefully
as one that knows nothing: a difference of unknown origin waits as a hand edit does.

Units: moments are seconds of a clock that moves only forwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from proxyctl.plan.plan import Refusal

GRACE_S, EVERY_S = 300.0, 60.0
"""The defaults: how long a hand edit may stay, and the time between rounds. Units: seconds."""
LONGEST_BACKOFF_S = 300.0
"""The longest time until an instance that does not answer is asked again. Units: seconds."""
ASKED_EACH_ROUND = 3
"""How often an instance that does not answer is asked in each round, before it is asked less."""
JITTER_S = 2.0
"""A start that is later by more than this plus the time of the answer is a restart. An uptime is
in whole seconds. Units: seconds."""


class Action(StrEnum):
    """What the watch does about an instance in this round."""

    NOTHING = "nothing"
    REPORT = "report"
    APPLY = "apply"
    WAIT = "wait"


class Situation(StrEnum):
    """The situation of an instance, as log lines and metrics name it."""

    IN_SYNC = "in_sync"
    DIFFERS = "differs"
    EDITED = "edited"
    REFUSED = "refused"
    FAILED = "failed"
    PAUSED = "paused"
    LOCKED = "locked"
    UNREACHABLE = "unreachable"
    UNPLANNED = "unplanned"


class Origin(StrEnum):
    """Why an instance differs, in words."""

    FILES = "the files changed"
    EMPTY = "the instance has none of the managed rows"
    RESTARTED = "ProxySQL was restarted"
    STARTED = "ProxySQL has just started"
    INTERRUPTED = "an apply was killed"
    EDIT = "someone else changed the instance"
    UNKNOWN = "the instance differed when the watch first saw it"


_WITH_GRACE = (Origin.EDIT, Origin.UNKNOWN)


@dataclass(frozen=True)
class WatchRules:
    """How a watch decides."""

    applies: bool = False
    """Whether it applies; if not, it only reports."""
    grace_s: float = GRACE_S
    """How long a hand edit, or a difference of unknown origin, may stay. Units: seconds."""
    every_s: float = EVERY_S
    """The time between rounds. Units: seconds."""


@dataclass(frozen=True)
class InstanceReading:
    """What a round has seen at an instance."""

    is_in_sync: bool
    """Whether all layers match the files."""
    desired: int
    """A hash of the rows that the files want, with secrets: for comparison in this process only."""
    change: int
    """A hash of what an apply would change, in the same way."""
    is_empty: bool = False
    """Whether no layer has any row of the managed tables."""
    started_at: float | None = None
    """When ProxySQL started, at the latest; None if unknown."""
    answer_s: float = 0.0
    """How much earlier that may be: the time until the uptime was answered. Units: seconds."""
    holder: str = ""
    """The command that holds the lock, in words; '' without a lock."""
    was_interrupted: bool = False
    """Whether a command that held the lock was killed."""
    refusals: Sequence[Refusal] = ()
    """The reasons why an apply would be refused."""


@dataclass(frozen=True)
class InstanceMemory:
    """What a watch remembers of an instance."""

    in_sync_with: int | None = None
    """The desired rows that the instance last matched; None if it never did."""
    started_at: float | None = None
    """When ProxySQL started; None if unknown."""
    origin: Origin | None = None
    """Why it differs; None while it does not."""
    differs_since: float = 0.0
    """When the difference was first seen."""
    failed: frozenset[int] = frozenset()
    """The changes whose apply failed since the instance last matched the files."""
    misses: int = 0
    """How often it did not answer, without an answer in between."""
    ask_again_at: float = 0.0
    """When it is asked again, after it did not answer."""


@dataclass(frozen=True)
class Decision:
    """What to do about an instance, and why."""

    action: Action
    """The action."""
    situation: Situation
    """The situation of the instance."""
    reason: str
    """The reason, for people."""
    mark: object = None
    """What tells the situation from another one of the same name: a new mark is a new line."""

    def is_new(self, last: Decision | None) -> bool:
        """Return whether a reader of the log does not know this situation yet."""
        return last is None or (self.situation, self.mark) != (last.situation, last.mark)


def judge(
    memory: InstanceMemory,
    reading: InstanceReading,
    rules: WatchRules,
    now: float,
    *,
    is_paused: bool = False,
) -> tuple[InstanceMemory, Decision]:
    """Return what to remember of an instance that answered, and what to do about it."""
    memory = _awake(memory, reading, now)
    if reading.holder:
        reason = f"another command holds the lock: {reading.holder}"
        return memory, Decision(Action.WAIT, Situation.LOCKED, reason, reading.holder)
    if reading.is_in_sync:
        return (
            InstanceMemory(reading.desired, reading.started_at),
            Decision(Action.NOTHING, Situation.IN_SYNC, "the instance matches the files"),
        )
    if memory.origin is None:
        origin = _origin(memory, reading, rules, now)
        memory = replace(memory, origin=origin, differs_since=now)
    return memory, _decision(memory, reading, rules, now, is_paused=is_paused)


def _awake(memory: InstanceMemory, reading: InstanceReading, now: float) -> InstanceMemory:
    """Return the memory of an instance that answers; a restart makes it a new instance."""
    started, before = reading.started_at, memory.started_at
    latest = None if before is None else before + reading.answer_s + JITTER_S
    if started is not None and latest is not None and started > latest:
        return InstanceMemory(None, started, Origin.RESTARTED, now)
    return replace(memory, started_at=started or before, misses=0, ask_again_at=0.0)


def _origin(
    memory: InstanceMemory, reading: InstanceReading, rules: WatchRules, now: float
) -> Origin:
    if reading.is_empty:
        return Origin.EMPTY
    if memory.in_sync_with is not None:
        return Origin.EDIT if memory.in_sync_with == reading.desired else Origin.FILES
    if reading.was_interrupted:
        return Origin.INTERRUPTED
    # One that has just started has to be filled soon, and a hand edit by then is unlikely.
    is_young = reading.started_at is not None and now - reading.started_at < rules.grace_s
    return Origin.STARTED if is_young else Origin.UNKNOWN


def _decision(
    memory: InstanceMemory,
    reading: InstanceReading,
    rules: WatchRules,
    now: float,
    *,
    is_paused: bool,
) -> Decision:
    """Return the decision about an instance that differs."""
    origin, change = memory.origin or Origin.UNKNOWN, reading.change
    if reading.refusals:
        reason = "; ".join(refusal.message for refusal in reading.refusals)
        codes = tuple(refusal.code for refusal in reading.refusals)
        return Decision(Action.REPORT, Situation.REFUSED, reason, (codes, change))
    if not rules.applies:
        return Decision(Action.REPORT, Situation.DIFFERS, origin, change)
    if change in memory.failed:
        reason = "its apply failed: the watch tries again when the files or the instance change"
        return Decision(Action.WAIT, Situation.FAILED, reason, change)
    if origin in _WITH_GRACE and now < memory.differs_since + rules.grace_s:
        reason = f"{origin}; it will be reverted {rules.grace_s:g} s after it was first seen"
        return Decision(Action.WAIT, Situation.EDITED, reason, change)
    if is_paused:
        return Decision(Action.WAIT, Situation.PAUSED, f"{origin}; applies are paused", change)
    return Decision(Action.APPLY, Situation.DIFFERS, origin, change)


def is_asked(memory: InstanceMemory, now: float) -> bool:
    """Return whether a round asks the instance: one that does not answer is asked less often."""
    return now >= memory.ask_again_at


def missed(
    memory: InstanceMemory, message: str, rules: WatchRules, now: float
) -> tuple[InstanceMemory, Decision]:
    """Return what to remember of an instance that did not answer, and what to do about it.

    `message`: the reason.
    """
    misses = memory.misses + 1
    again = 0.0
    if misses >= ASKED_EACH_ROUND:
        doublings = min(misses - ASKED_EACH_ROUND + 1, 10)
        again = min(rules.every_s * 2**doublings, max(LONGEST_BACKOFF_S, rules.every_s))
        again = now + again - rules.every_s / 2  # rounds do not begin to the second
    memory = replace(memory, misses=misses, ask_again_at=again)
    return memory, Decision(Action.WAIT, Situation.UNREACHABLE, message, message)


def applied(memory: InstanceMemory, reading: InstanceReading) -> tuple[InstanceMemory, Decision]:
    """Return what to remember after an apply, and the situation that it leaves."""
    return (
        InstanceMemory(reading.desired, memory.started_at),
        Decision(Action.NOTHING, Situation.IN_SYNC, "the instance matches the files"),
    )


def failed(
    memory: InstanceMemory, reading: InstanceReading, message: str
) -> tuple[InstanceMemory, Decision]:
    """Return what to remember after an apply that failed, and the situation that it leaves."""
    memory = replace(memory, failed=memory.failed | {reading.change})
    return memory, Decision(Action.WAIT, Situation.FAILED, message, reading.change)
