"""Apply to many instances, batch after batch; the next one only when the last one does well."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

from proxyctl import rolling_back
from proxyctl.admin.cluster import read_peers
from proxyctl.admin.health import read_health
from proxyctl.admin.interrupts import interruptible, uninterrupted
from proxyctl.applying import ApplyRequest, apply_files, apply_planned
from proxyctl.errors import ProxyctlError, RefusedError
from proxyctl.fleet.health import Look, Span, worsened
from proxyctl.fleet.outcome import Fleet, Planned
from proxyctl.fleet.rollout import Rolled, Rollout, State, Strategy, batches
from proxyctl.fleet_planning import Target
from proxyctl.plan import Plan
from proxyctl.snapshot import ROLLBACK


@dataclass(frozen=True)
class RolloutRequest:
    """How a fleet changes.

    `apply`: what holds for each instance. `settle_s`: how long an instance is looked at before the
    first batch and after its own; 0 looks at none. `rolls_back`: whether instances that are done
    go back to where they were when one fails. `say` is told what is under way.
    """

    apply: ApplyRequest
    strategy: Strategy
    max_unavailable: int
    workers: int
    settle_s: float
    rolls_back: bool
    say: Callable[[str], None]


def apply_fleet(targets: Sequence[Target], fleet: Fleet, request: RolloutRequest) -> Rollout:
    """Apply what was approved to the instances that differ, and return what became of all.

    An instance whose plan is another one by now fails, unless nothing is left to do there. Those
    without a plan are no part of it.

    Raises: RefusedError for members of a cluster at the same time; nothing is changed then.
    """
    return _Rollout(targets, fleet, request).run()


LEAST_SETTLE_S = 2.0
"""Between two members of a cluster: two LOADs within one second split it for ever."""


def refuse_clusters(targets: Sequence[Target], request: RolloutRequest) -> None:
    """Refuse to change members of a native ProxySQL Cluster at the same time.

    Raises: RefusedError; InstanceError when one cannot be asked.
    """
    is_safe = (
        request.strategy is Strategy.ROLLING
        and request.max_unavailable == 1
        and request.settle_s >= LEAST_SETTLE_S
    )
    if is_safe or len(targets) < 2:
        return

    def is_member(target: Target) -> bool:
        with target.connect() as client:
            return bool(read_peers(client))

    with ThreadPoolExecutor(request.workers) as pool:
        found = zip(targets, pool.map(is_member, targets), strict=True)
        members = [target.name for target, is_one in found if is_one]
    if members:
        raise RefusedError(
            f"{', '.join(members)}: members of a ProxySQL Cluster, where a LOAD travels: two at the"
            " same time would split it",
            hint=f"--strategy rolling --max-unavailable 1 --settle {LEAST_SETTLE_S:.0f} changes one"
            " and lets the others follow",
        )


class _Rollout:
    def __init__(self, targets: Sequence[Target], fleet: Fleet, request: RolloutRequest) -> None:
        self._request = request
        by_name = {one.name: one for one in targets}
        self._approved: Mapping[Target, Planned] = {by_name[one.name]: one for one in fleet.planned}
        self._found: dict[Target, Rolled] = {
            target: _rolled(target, State.IN_SYNC if one.is_in_sync else State.NOT_TOUCHED)
            for target, one in self._approved.items()
        }
        self._was_interrupted = False

    def run(self) -> Rollout:
        """Change one batch after the other, until one goes wrong."""
        changing = [target for target, one in self._found.items() if one.state is State.NOT_TOUCHED]
        with interruptible():
            try:
                self._change(changing)
            except KeyboardInterrupt:
                self._was_interrupted = True
        went_wrong = self._was_interrupted or any(
            self._found[one].state in (State.FAILED, State.UNHEALTHY) for one in changing
        )
        if went_wrong and self._request.rolls_back:
            with uninterrupted():
                self._roll_back()
        return Rollout([*self._found.values()], self._was_interrupted)

    def _change(self, changing: Sequence[Target]) -> None:
        request = self._request
        refuse_clusters(changing, request)
        before = self._spans(changing)
        found = [*batches(changing, request.strategy, max_unavailable=request.max_unavailable)]
        for number, batch in enumerate(found, 1):
            named = ", ".join(target.name for target in batch)
            request.say(f"batch {number} of {len(found)}: {named}")
            self._apply(batch)
            done = [one for one in batch if self._found[one].state is State.APPLIED]
            self._judge(before, self._spans(done))
            states = {self._found[one].state for one in batch}
            if states & {State.FAILED, State.UNHEALTHY} or self._was_interrupted:
                return

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
        def look(target: Target) -> Look | ProxyctlError:
            try:
                with target.connect() as client:
                    return read_health(client)
            except ProxyctlError as error:
                return error

        with ThreadPoolExecutor(self._request.workers) as pool:
            return dict(zip(targets, pool.map(look, targets), strict=True))

    def _judge(
        self,
        before: Mapping[Target, Span | ProxyctlError],
        after: Mapping[Target, Span | ProxyctlError],
    ) -> None:
        for target, now in after.items():
            then = before[target]
            if isinstance(now, ProxyctlError):
                reasons: tuple[str, ...] = (now.message,)
            elif isinstance(then, ProxyctlError):
                reasons = ()  # nothing to compare with
            else:
                reasons = tuple(worsened(then, now))
            if reasons:
                self._found[target] = replace(
                    self._found[target], state=State.UNHEALTHY, reasons=reasons
                )

    def _apply(self, batch: Sequence[Target]) -> None:
        """Apply to these at the same time. An interrupt waits for those that have begun."""
        with ThreadPoolExecutor(self._request.workers) as pool:
            futures = {pool.submit(self._applied, target): target for target in batch}
            try:
                wait(futures)
            except KeyboardInterrupt:
                self._was_interrupted = True
                self._request.say("interrupted: those that have begun are finished")
                for future in futures:
                    future.cancel()
                with uninterrupted():
                    wait(futures)
        for future, target in futures.items():
            if not future.cancelled():
                self._found[target] = _outcome(target, future)

    def _applied(self, target: Target) -> Rolled:
        approved, request = self._approved[target], self._request

        def is_approved(plan: Plan) -> bool:
            # A peer of a cluster may have brought it here already.
            return plan.is_in_sync or plan.fingerprint == approved.fingerprint

        own = replace(
            request.apply,
            is_approved=is_approved,
            progress=lambda text: request.say(f"{target.name}: {text}"),
        )
        with target.connect() as client:
            _, result = apply_files(client, target.files, own)
        if result is None:
            return _rolled(target, State.IN_SYNC)
        return replace(_rolled(target, State.APPLIED), snapshot=result.snapshot)

    def _roll_back(self) -> None:
        """Bring those that are applied back to where they were, one after the other."""
        for target, one in self._found.items():
            if one.state in (State.APPLIED, State.UNHEALTHY) and one.snapshot:
                self._request.say(f"{target.name}: rollback")
                self._found[target] = self._rolled_back(target, one)

    def _rolled_back(self, target: Target, one: Rolled) -> Rolled:
        request = self._request
        try:
            with target.connect() as client:
                back_to = rolling_back.target(client.address, one.snapshot)
                apply_planned(
                    client,
                    lambda at, options, reader: rolling_back.rollback_plan(
                        at, back_to, options, reader=reader
                    ),
                    replace(
                        request.apply,
                        options=replace(request.apply.options, force=True),
                        progress=lambda text: request.say(f"{target.name}: {text}"),
                        purpose=ROLLBACK,
                        sources=(back_to.snapshot.name,),
                    ),
                )
        except ProxyctlError as error:
            return replace(one, state=State.NOT_ROLLED_BACK, error=error)
        return replace(one, state=State.ROLLED_BACK)


def _rolled(target: Target, state: State) -> Rolled:
    return Rolled(target.name, target.login.address, state)


def _outcome(target: Target, future: Future[Rolled]) -> Rolled:
    error = future.exception()
    if error is None:
        return future.result()
    if not isinstance(error, ProxyctlError):
        raise error
    return replace(_rolled(target, State.FAILED), error=error)
