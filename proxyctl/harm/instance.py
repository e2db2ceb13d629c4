"""One instance: watch it before and after its apply, and roll the apply back if it does harm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from proxyctl.apply.apply import applied
from proxyctl.apply.request import ApplyRequest
from proxyctl.apply.result import ApplyResult
from proxyctl.errors import ApplyError, InstanceError, RefusedError
from proxyctl.fleet.rollout import apply_to
from proxyctl.fleet.targets import Target
from proxyctl.harm.counters import Sampler
from proxyctl.harm.judgement import HarmJudge, HarmJudgement
from proxyctl.harm.sample import CounterSample
from proxyctl.harm.taking_back import WatchedApply, not_judged, take_back
from proxyctl.harm.watching import (
    REAL_TIME,
    HarmWatch,
    Pace,
    samples_before,
    watch_for_harm,
)
from proxyctl.instance.client import AdminClient
from proxyctl.instance.interrupts import interruptible
from proxyctl.plan.plan import Plan


def check_watchable(plan: Plan) -> None:
    """Refuse a plan whose harm no counter would show. Raises: RefusedError."""
    changed = [module.name for module in plan.modules if module.does_something]
    if changed and all(name.startswith("PGSQL ") for name in changed):
        raise RefusedError(
            f"{plan.name}: --watch compares the traffic of MySQL clients, but the plan changes"
            f" only {' and '.join(changed)}",
            fix="leave out --watch",
        )


@dataclass
class InstanceWatch:
    """Watches one instance before and after its change. The connections are its own."""

    target: Target
    """The instance."""
    watch: HarmWatch
    """How long to watch, and what is harm."""
    show: Callable[[str, HarmJudgement, float], None]
    """Receives the name, each judgement after the change, and the seconds so far."""

    def __post_init__(self) -> None:
        self._sampler = Sampler()
        self._before: list[CounterSample] = []

    def begin(self) -> None:
        """Take the first sample before the change. Raises: InstanceError."""
        with self.target.connect() as client:
            self._before = [self._sampler.take(client)]

    def announce(self, say: Callable[[str], None], pace: Pace = REAL_TIME) -> bool:
        """Say that the apply waits for the time before it; return whether it does."""
        is_short = not self._before or pace.now() - self._before[0].at < self.watch.before_s
        if is_short:
            seconds = self.watch.before_s
            say(f"watching the traffic before the apply, for at least {seconds:g} s")
        return is_short

    def settle(self, pace: Pace = REAL_TIME) -> None:
        """Wait until the time before the change is long enough. Raises: InstanceError."""
        with self.target.connect() as client:
            first = self._before[0] if self._before else self._sampler.take(client)
            self._before = samples_before(
                first, lambda: self._sampler.take(client), self.watch, pace
            )

    def judge(self, client: AdminClient, pace: Pace = REAL_TIME) -> HarmJudgement:
        """Watch the instance after its change, and return the judgement.

        `pace`: the clock, and what may end the watch early. Raises: InstanceError.
        """
        return watch_for_harm(
            lambda: self._sampler.take(client),
            HarmJudge(self._before, self.watch.bounds),
            self.watch,
            lambda judgement, seconds: self.show(self.target.name, judgement, seconds),
            pace,
        )


@interruptible()
def apply_watched(
    instance: InstanceWatch,
    request: ApplyRequest,
    report: Callable[[Plan, ApplyResult | None], None],
) -> tuple[Plan, ApplyResult | None, HarmJudgement | None]:
    """Apply to one instance and watch it; return the plan, the result and the judgement.

    Result and judgement are None if nothing differed. `report`: receives the result before the
    watch begins. Raises: as `apply_to`; ApplyError after harm, or if the watch ended early.
    """
    instance.settle()
    plan, result = apply_to(instance.target, request)
    report(plan, result)
    if result is None:
        return plan, None, None
    with applied(result):
        ended = _watched(instance, WatchedApply(instance.target, request, result))
    if isinstance(ended, ApplyError):
        raise ended
    return plan, result, ended


def _watched(instance: InstanceWatch, apply: WatchedApply) -> HarmJudgement | ApplyError:
    """Watch an instance after its apply; return the judgement, or the error to raise."""
    try:
        with apply.target.connect() as client:
            judgement = instance.judge(client)
            if not judgement.is_harm:
                return judgement
            return take_back(client, apply, harm_message(apply, judgement), judgement.reasons)[0]
    except (InstanceError, KeyboardInterrupt) as error:
        return not_judged(apply, error)


def harm_message(apply: WatchedApply, judgement: HarmJudgement) -> str:
    """Return the beginning of the error after harm."""
    return f"{apply.target.name}: the apply did harm within {judgement.after.seconds:.0f} s"
