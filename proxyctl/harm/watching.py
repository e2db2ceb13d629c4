"""Take samples before and after a change, until the time is over or harm is seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from proxyctl.harm.bounds import HarmBound, bounds_of
from proxyctl.harm.judgement import RECENT, HarmJudge, HarmJudgement
from proxyctl.harm.sample import CounterSample

BEFORE_S = 30.0
"""The longest time before the change that is waited for."""
_EVERY_S, _SLOWEST_S, _REST = 1.0, 3.0, 4
"""Seconds between samples; more if taking one takes more than a quarter of it, up to a limit."""

_DECIDING_S = 20.0
"""The longest time after the watch in which further samples decide: times take three readings."""
LEAST_FOR_TIMES_S = 10.0
"""A shorter watch does not compare times: they have to be read twice before the change."""


@dataclass(frozen=True)
class HarmWatch:
    """How long to watch, and what is harm."""

    seconds: float
    """How long to watch after the change."""
    bounds: Mapping[str, HarmBound] = field(default_factory=partial(bounds_of, ()))
    """The bound of each counter."""

    @property
    def before_s(self) -> float:
        """How long to watch before the change, at least."""
        return min(self.seconds, BEFORE_S)


@dataclass(frozen=True)
class Pace:
    """A clock, and a way to let time pass."""

    now: Callable[[], float] = time.monotonic
    """Returns seconds; moves only forwards."""
    sleep: Callable[[float], object] = time.sleep
    """Waits for so many seconds."""
    is_over: Callable[[], bool] = lambda: False
    """Whether to stop early."""


REAL_TIME = Pace()


def samples_before(
    first: CounterSample,
    take: Callable[[], CounterSample],
    watch: HarmWatch,
    pace: Pace = REAL_TIME,
) -> list[CounterSample]:
    """Return samples until the time before the change is long enough: `first`, and at least one.

    `take`: returns a sample. Raises: as `take`.
    """
    samples = [first]
    while len(samples) == 1 or samples[-1].at - first.at < watch.before_s:
        started = pace.now()
        samples.append(take())
        left = first.at + watch.before_s - pace.now()
        if left > 0:
            pace.sleep(min(_pause(started, pace.now()), left))
    return samples


def watch_for_harm(
    take: Callable[[], CounterSample],
    judge: HarmJudge,
    watch: HarmWatch,
    show: Callable[[HarmJudgement, float], None] = lambda _judgement, _seconds: None,
    pace: Pace = REAL_TIME,
) -> HarmJudgement:
    """Return the judgement at the end: of the time, or as soon as there is harm.

    If the last sample is beyond a bound, a few more decide. `take`: returns a sample. `show`:
    receives each judgement and the seconds so far. Raises: as `take`.
    """
    begin, late = pace.now(), 0
    while True:
        started = pace.now()
        judgement = judge.add(take())
        passed = pace.now() - begin
        show(judgement, passed)
        late += passed >= watch.seconds
        is_over = late > RECENT and passed >= watch.seconds + _DECIDING_S
        is_decided = bool(late) and (not judgement.beyond or is_over)
        if judgement.is_harm or is_decided or pace.is_over():
            return judgement
        pause = _pause(started, pace.now())
        pace.sleep(pause if late else min(pause, watch.seconds - passed))


def _pause(started: float, ended: float) -> float:
    """Return the seconds to the next sample after one that was taken between these moments."""
    took = ended - started
    return max(min(max(_EVERY_S, took * _REST), _SLOWEST_S) - took, 0.0)
