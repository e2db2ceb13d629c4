"""Apply to many instances, batch after batch; the next one only when the last one does well."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

from proxyctl.admin.health import read_health
from proxyctl.admin.interrupts import interruptible, uninterrupted
from proxyctl.applying import ApplyRequest
from proxyctl.at_once import at_once
from proxyctl.errors import InstanceError, ProxyctlError
from proxyctl.fleet.health import Look, Span, worsened
from proxyctl.fleet.outcome import Failed, Fleet, Planned
from proxyctl.fleet.rollout import Rolled, Rollout, State
from proxyctl.fleet.strategy import Strategy, batches
from proxyctl.fleet_planning import Target
from proxyctl.fleet_rolling_back import brought_back
from proxyctl.fleet_units import Unit, UnitApply, rolled, units_of


@dataclass(frozen=True)
class RolloutRequest:
    """How a fleet changes.

    `apply`: what holds for each instance. `settle_s`: how long an instance is looked at before the
    first batch and after its own; 0 looks at none. `rolls_back`: whether instances that are done
    go back to where they were when one fails. `skips`: whether the others are changed where one
    cannot be looked at before the first batch. `say` is told what is under way.
    """

    apply: ApplyRequest
    strategy: Strategy
    max_unavailable: int
    workers: int
    settle_s: float
    rolls_back: bool
    skips: bool
    say: Callable[[str], None]


def apply_fleet(targets: Sequence[Target], fleet: Fleet, request: RolloutRequest) -> Rollout:
    """Apply what was approved to the instances that differ, and return what became of all.

    An instance whose plan is another one by now fails, unless nothing is left to do there. Those
    without a plan are left out. Members of one cluster count as one instance: one is changed,
    and the others follow.
    """
    return _Rollout(targets, fleet, request).run()


_WENT_WRONG = (State.FAILED, State.UNHEALTHY, State.PEERS_BEHIND)
_CHANGED = (State.APPLIED, State.FOLLOWED)


class _Rollout:
    def __init__(self, targets: Sequence[Target], fleet: Fleet, request: RolloutRequest) -> None:
        self._request = request
        by_name = {one.name: one for one in targets}
        self._approved: Mapping[Target, Planned] = {by_name[one.name]: one for one in fleet.planned}
        self._found: dict[Target, Rolled] = {
            target: rolled(target, State.IN_SYNC if one.is_in_sync else State.NOT_TOUCHED)
            for target, one in self._approved.items()
        }
        self._left_out = [one for one in targets if one not in self._approved]
        self._applied_to: list[tuple[Target, Unit]] = []
        self._unread = [*fleet.failed]
        self._was_interrupted = False

    def run(self) -> Rollout:
        """Change one batch after the other, until one goes wrong."""
        with interruptible():
            try:
                self._change(units_of(self._approved, self._left_out))
            except KeyboardInterrupt:
                self._was_interrupted = True
                self._request.say("interrupted: nothing more is begun")
        went_wrong = self._was_interrupted or any(
            one.state in _WENT_WRONG for one in self._found.values()
        )
        if went_wrong and self._request.rolls_back:
            with uninterrupted():
                self._roll_back()
        return Rollout([*self._found.values()], self._was_interrupted, self._unread)

    def _change(self, units: Sequence[Unit]) -> None:
        request = self._request
        before, units = self._looked_at(units)
        found = [*batches(units, request.strategy, max_unavailable=request.max_unavailable)]
        for number, batch in enumerate(found, 1):
            named = ", ".join(unit.names for unit in batch)
            request.say(f"batch {number} of {len(found)}: {named}")
            targets = [target for unit in batch for target in unit.targets]
            self._apply(batch)
            done = [one for one in targets if self._found[one].state in _CHANGED]
            self._judge(before, self._spans(done))
            went_wrong = any(self._found[one].state in _WENT_WRONG for one in targets)
            if went_wrong or self._was_interrupted:
                return

    def _looked_at(self, units: Sequence[Unit]) -> tuple[dict[Target, Span], Sequence[Unit]]:
        """Return how instances do before anything changes, and what is to be changed.

        Without that nobody could tell whether one does worse. So where one cannot be looked at,
        nothing is changed; or, where it may be skipped, nothing of its unit.
        """
        found = self._spans([target for unit in units for target in unit.targets])
        unread = {one: error for one, error in found.items() if isinstance(error, ProxyctlError)}
        spans = {one: span for one, span in found.items() if isinstance(span, Span)}
        for target, error in unread.items():
            if self._request.skips and isinstance(error, InstanceError):
                self._request.say(f"{target.name}: left out: {error.message}")
                self._unread.append(Failed(target.name, target.login.address, error))
                del self._found[target]
            else:
                self._found[target] = replace(rolled(target, State.FAILED), error=error)
        if any(target in self._found for target in unread):
            return spans, []
        return spans, [unit for unit in units if not unread.keys() & {*unit.targets}]

    def _spans(self, targets: Sequence[Target]) -> dict[Target, Span | ProxyctlError]:
        """Look at instances twice, with the time to settle between."""
        if not self._request.settle_s or not targets:
            return {}
        first = self._looks(targets)
        time.sleep(self._request.settle_s)
        last = self._looks(targets)
        spans: dict[Target, Span | ProxyctlError] = {}
        for target in targets:
            begin, end = first[target], last[target]
            failed = next((one for one in (begin, end) if isinstance(one, ProxyctlError)), None)
            if failed is not None:
                spans[target] = failed
            elif isinstance(begin, Look) and isinstance(end, Look):
                spans[target] = Span(begin, end)
        return spans

    def _looks(self, targets: Sequence[Target]) -> dict[Target, Look | ProxyctlError]:
        def look(target: Target) -> Look:
            with target.connect() as client:
                return read_health(client)

        found: dict[Target, Look | ProxyctlError] = {}
        for target, result in at_once(targets, look, workers=self._request.workers):
            if isinstance(result, Exception):
                found[target] = target.told(result)
            elif isinstance(result, BaseException):
                raise result
            else:
                found[target] = result
        return found

    def _judge(
        self,
        before: Mapping[Target, Span],
        after: Mapping[Target, Span | ProxyctlError],
    ) -> None:
        for target, now in after.items():
            if isinstance(now, ProxyctlError):
                reasons: tuple[str, ...] = (now.message,)
            else:
                reasons = tuple(worsened(before[target], now))
            if reasons:
                self._found[target] = replace(
                    self._found[target], state=State.UNHEALTHY, reasons=reasons
                )

    def _apply(self, batch: Sequence[Unit]) -> None:
        """Apply to these at the same time. An interrupt waits for those that have begun."""
        request = self._request
        under_way = [UnitApply(unit, self._approved, request.apply, request.say) for unit in batch]
        with ThreadPoolExecutor(request.workers) as pool:
            futures = [pool.submit(one.run) for one in under_way]
            try:
                wait(futures)
            except KeyboardInterrupt:
                self._was_interrupted = True
                request.say("interrupted: those that have begun are finished")
                for future in futures:
                    future.cancel()
                with uninterrupted():
                    wait(futures)
        for unit, future in zip(batch, futures, strict=True):
            if not future.cancelled():
                found = future.result()
                self._found |= found
                self._applied_to += [(target, unit) for target in found]

    def _roll_back(self) -> None:
        """Bring those that are applied back to where they were, one after the other.

        The last one first: a member of a cluster that was changed later has a snapshot with what it
        took over from the first one.
        """
        request = self._request
        for target, unit in reversed(self._applied_to):
            one = self._found[target]
            if one.state in (*_WENT_WRONG, *_CHANGED) and one.snapshot:
                request.say(f"{target.name}: rollback")
                self._found |= brought_back(target, unit, self._found, request.apply, request.say)
