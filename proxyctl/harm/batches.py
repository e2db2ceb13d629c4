"""The batches of a rollout: watch their instances at the same time, and roll a batch back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from proxyctl.apply.request import ApplyRequest
from proxyctl.apply.result import ApplyResult
from proxyctl.errors import ApplyError, InstanceError, ProxyctlError
from proxyctl.fleet.failed import Failed
from proxyctl.fleet.outcome import Rolled, State
from proxyctl.fleet.targets import Target, at_all
from proxyctl.harm.instance import InstanceWatch, harm_message
from proxyctl.harm.judgement import HarmJudgement
from proxyctl.harm.taking_back import WatchedApply, not_judged, not_taken_back, take_back
from proxyctl.harm.watching import HarmWatch, Pace
from proxyctl.instance.interrupts import uninterrupted

R = TypeVar("R")

_CHANGED = (State.APPLIED, State.FOLLOWED)


class BatchWatch:
    """Watches each batch of one rollout. A `fleet.rollout.RolloutWatch`."""

    def __init__(
        self,
        watch: HarmWatch,
        request: ApplyRequest,
        show: Callable[[str, HarmJudgement, float], None],
    ) -> None:
        """`request`: of the applies; the rollbacks have the same options."""
        self._watch = watch
        self._request = request
        self._show = show
        self._instances: dict[Target, InstanceWatch] = {}
        self.judgements: dict[str, HarmJudgement] = {}
        """The last judgement of each instance that was watched, by name."""

    def begin(self, targets: Sequence[Target], *, workers: int) -> None:
        """Take the first sample of each instance, so many at the same time.

        An instance that fails is tried again at its batch.
        """
        self._instances = {
            target: InstanceWatch(target, self._watch, self._show) for target in targets
        }
        at_all(targets, lambda target: self._instances[target].begin(), workers=workers)

    def before(self, targets: Sequence[Target]) -> Mapping[Target, ProxyctlError]:
        """Wait until the time before the change is long enough, for a batch at the same time."""
        for target in targets:
            if self._instances[target].announce(self._request.reporter.progress):
                break
        _, failed = _at_once(targets, lambda target: self._instances[target].settle())
        return _by_target(targets, failed)

    def after(
        self, units: Sequence[Mapping[Target, Rolled]], rollout: str, earlier: Sequence[str]
    ) -> Mapping[Target, Rolled]:
        """Watch the changed instances of a batch; after harm, roll back all of them."""
        changed = {
            target: rolled
            for unit in units
            for target, rolled in unit.items()
            if rolled.state in _CHANGED and rolled.error is None
        }
        whole = f"proxyctl rollback --all {rollout} undoes the whole rollout"
        harmed, failed = self._judge([*changed], whole)
        results = {
            target: replace(changed[target], error=self._not_judged(changed[target], target, error))
            for target, error in _by_target([*changed], failed).items()
        }
        if not harmed:
            return results
        kept = f"the change stays in place at {', '.join(earlier)}; {whole}" if earlier else ""
        with uninterrupted():
            for unit in units:
                mine = {target: changed[target] for target in unit if target in changed}
                results |= dict(self._take_back(mine, harmed, rollout, kept))
        return results

    def _judge(
        self, targets: Sequence[Target], way_back: str
    ) -> tuple[dict[Target, HarmJudgement], Sequence[Failed]]:
        """Return the judgements of harm, and the instances that could not be watched.

        `way_back`: how to take the change back after an interrupt.
        """
        is_over = threading.Event()
        pace = Pace(time.monotonic, is_over.wait, is_over.is_set)

        def work(target: Target) -> tuple[Target, HarmJudgement]:
            with target.connect() as client:
                judgement = self._instances[target].judge(client, pace)
            if judgement.is_harm:
                is_over.set()
            return target, judgement

        try:
            judged, failed = _at_once(targets, work)
        except KeyboardInterrupt:
            is_over.set()
            names = ", ".join(target.name for target in targets)
            self._request.reporter.warning(
                f"interrupted while watching: no verdict, so the change stays in place at {names};"
                f" {way_back}"
            )
            raise
        self.judgements |= {target.name: judgement for target, judgement in judged}
        return {target: judgement for target, judgement in judged if judgement.is_harm}, failed

    def _not_judged(self, rolled: Rolled, target: Target, error: ProxyctlError) -> ProxyctlError:
        if rolled.result is not None:
            return not_judged(WatchedApply(target, self._request, rolled.result), error)
        return ApplyError(
            f"{rolled.name}: the watch failed: {error.message}: no verdict, so the change stays in"
            " place"
        )

    def _take_back(
        self,
        unit: Mapping[Target, Rolled],
        harmed: Mapping[Target, HarmJudgement],
        rollout: str,
        kept: str,
    ) -> Iterator[tuple[Target, Rolled]]:
        """Roll the members of a unit back; yield the new result of each."""
        applied = [target for target, rolled in unit.items() if rolled.result is not None]
        seen = [
            f"{target.name}: {reason}"
            for target, judgement in harmed.items()
            for reason in judgement.reasons
        ]
        names = ", ".join(target.name for target in harmed)
        if len(applied) > 1:
            for target in applied:
                yield target, replace(unit[target], error=_several(target, seen))
            return
        for target in applied:
            rolled = unit[target]
            request = replace(
                self._request, rollout=rollout, reporter=self._request.reporter.named(target.name)
            )
            apply = WatchedApply(target, request, rolled.result or ApplyResult())
            message = (
                harm_message(apply, harmed[target])
                if target in harmed
                else f"{target.name}: its batch did harm at {names}"
            )
            error, is_done = _taken_back(apply, message, seen)
            error.fix = "; ".join(filter(None, (error.fix, kept)))
            state = State.ROLLED_BACK if is_done else rolled.state
            yield target, replace(rolled, state=state, error=error)
            for other in unit:
                if other is not target and is_done:
                    note = f"it follows the rollback of {target.name}"
                    yield other, replace(unit[other], state=State.ROLLED_BACK, notes=[note])


def _taken_back(apply: WatchedApply, message: str, seen: Sequence[str]) -> tuple[ApplyError, bool]:
    """Roll one instance back over a new connection; see `take_back`."""
    try:
        with apply.target.connect() as client:
            return take_back(client, apply, message, seen)
    except InstanceError as error:
        return not_taken_back(apply, error, message, seen), False


def _several(target: Target, seen: Sequence[str]) -> ApplyError:
    return ApplyError(
        f"{target.name}: its batch did harm but was not rolled back: several members of one"
        " ProxySQL Cluster were changed, and each rollback would undo the others",
        then=[f"seen: {line}" for line in seen],
        fix="apply the files of that time with apply --all",
    )


def _at_once(
    targets: Sequence[Target], work: Callable[[Target], R]
) -> tuple[list[R], Sequence[Failed]]:
    """Run work on all instances at the same time: a watch that queued would begin late."""
    return at_all(targets, work, workers=len(targets))


def _by_target(targets: Sequence[Target], failed: Sequence[Failed]) -> dict[Target, ProxyctlError]:
    by_name = {target.name: target for target in targets}
    return {by_name[failure.name]: failure.error for failure in failed}
