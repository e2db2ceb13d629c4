"""Apply to instances in batches. A batch starts only if all earlier batches went well."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from proxyctl.apply.apply import apply_files
from proxyctl.apply.request import PEER_TIMEOUT_S, ApplyRequest, Approval
from proxyctl.apply.result import ApplyResult
from proxyctl.errors import ApplyError, InstanceError, ProxyctlError
from proxyctl.fleet.failed import Failed
from proxyctl.fleet.members import units
from proxyctl.fleet.outcome import Fleet, Rolled, Rollout, State
from proxyctl.fleet.targets import Target, at_all
from proxyctl.instance.client import AdminClient
from proxyctl.instance.cluster import PeerResult
from proxyctl.instance.facts import read_pool, shunned_servers
from proxyctl.instance.interrupts import interruptible, uninterrupted
from proxyctl.plan.plan import Plan

SETTLE_S = 2.0
"""Seconds until the servers of a batch are read: failing clients have them shunned by then."""

T = TypeVar("T")

Applier = Callable[[AdminClient, Target, ApplyRequest], tuple[Plan, ApplyResult | None]]
"""Changes one instance; returns and raises as `apply_planned`."""


def _apply_own_files(
    client: AdminClient, target: Target, request: ApplyRequest
) -> tuple[Plan, ApplyResult | None]:
    return apply_files(client, target.files, request)


class RolloutWatch(Protocol):
    """Watches the instances of each batch, and may roll them back."""

    def before(self, targets: Sequence[Target]) -> Mapping[Target, ProxyctlError]:
        """Get ready before a batch; return the instances that cannot be watched, with errors."""

    def after(
        self, units: Sequence[Mapping[Target, Rolled]], rollout: str, earlier: Sequence[str]
    ) -> Mapping[Target, Rolled]:
        """Watch a batch, given the results of its units; return the results that change.

        `rollout`: its id. `earlier`: the names of the instances that earlier batches changed.
        """


@dataclass(frozen=True)
class RolloutRequest:
    """How a fleet changes."""

    apply: ApplyRequest
    """The request for each instance, which gets the approval of its own plan."""
    batch_size: int = 1
    """The number of units that change at the same time."""
    has_canary: bool = False
    """Whether one unit changes first, then all others at once."""
    workers: int = 1
    """The number of instances that are read or changed at the same time."""
    skips: bool = False
    """Whether to skip instances that cannot be reached."""
    applier: Applier = _apply_own_files
    """The change of one instance: by default to its files."""
    watch: RolloutWatch | None = None
    """What watches each batch."""
    went_well: Callable[[Rolled], None] = lambda _rolled: None
    """Receives the results of each batch that went well, before the next batch."""


def batches(
    units: Sequence[T], batch_size: int, *, has_canary: bool = False
) -> Iterator[Sequence[T]]:
    """Yield the units in batches."""
    if has_canary and units:
        yield units[:1]
        units, batch_size = units[1:], len(units)
    for start in range(0, len(units), batch_size):
        yield units[start : start + batch_size]


@interruptible()
def apply_to(target: Target, request: ApplyRequest) -> tuple[Plan, ApplyResult | None]:
    """Apply to one instance. Returns and raises as `apply_files`.

    Also raises ApplyError for an unexpected exception.
    """
    try:
        with target.connect() as client:
            return apply_files(client, target.files, request)
    except ProxyctlError:
        raise
    except Exception as error:
        raise _error_of(target, error) from error


def roll_out(targets: Sequence[Target], approved: Fleet, request: RolloutRequest) -> Rollout:
    """Apply to the instances that differ, and return the results of all instances.

    `approved`: the plans that were shown; an instance whose plan has changed since fails. The
    members of a cluster are one unit.
    """
    return _Rollout(targets, approved, request).run()


def _read_shunned(client: AdminClient) -> frozenset[str]:
    """Return the servers that are SHUNNED and nowhere ONLINE, as host:port.

    Raises: InstanceError.
    """
    shunned = shunned_servers(read_pool(client))
    return frozenset(f"{server.host}:{server.port}" for server in shunned)


class _Rollout:
    """A rollout in progress. `_results`: the result of each instance so far."""

    def __init__(self, targets: Sequence[Target], approved: Fleet, request: RolloutRequest) -> None:
        self._id = secrets.token_hex(4)
        self._request = request
        self._say = request.apply.reporter.progress
        self._targets = targets
        by_name = {target.name: target for target in targets}
        self._approved = {by_name[planned.name]: planned for planned in approved.planned}
        self._units = [[by_name[planned.name] for planned in unit] for unit in units(approved)]
        self._unread = [*approved.failed]
        self._shunned_before: dict[Target, frozenset[str]] = {}
        self._was_interrupted = False
        self._results = {
            target: _rolled(target, State.IN_SYNC if planned.is_in_sync else State.NOT_TOUCHED)
            for target, planned in self._approved.items()
        }

    def run(self) -> Rollout:
        """Apply batch after batch until a batch fails."""
        with interruptible():
            try:
                self._change()
            except KeyboardInterrupt:
                self._was_interrupted = True
        return Rollout(self._id, [*self._results.values()], self._was_interrupted, self._unread)

    def _change(self) -> None:
        request = self._request
        all_batches = [*batches(self._units, request.batch_size, has_canary=request.has_canary)]
        for number, batch in enumerate(all_batches, 1):
            if len(self._targets) > 1:
                named = ", ".join(map(_names, batch))
                self._say(f"batch {number} of {len(all_batches)}: {named}")
            is_last = number == len(all_batches)
            if not self._is_ready(batch):
                return
            earlier = self._changed_names()
            self._apply(batch, is_watched=not is_last)
            targets = [target for unit in batch for target in unit if target in self._results]
            self._watch(batch, earlier)
            if not is_last and self._are_well(targets):
                self._look_at_servers(targets)
            if self._was_interrupted or not self._are_well(targets):
                return
            for target in targets:
                self._request.went_well(self._results[target])

    def _are_well(self, targets: Sequence[Target]) -> bool:
        return all(self._results[target].is_well for target in targets)

    def _changed_names(self) -> list[str]:
        changed = (State.APPLIED, State.FOLLOWED)
        return [rolled.name for rolled in self._results.values() if rolled.state in changed]

    def _is_ready(self, batch: Sequence[list[Target]]) -> bool:
        """Return whether a batch may start. Changes: `_results`."""
        if self._request.watch is None:
            return True
        targets = [target for unit in batch for target in unit if not self._is_in_sync(target)]
        failed = self._request.watch.before(targets)
        is_ready = True
        for target, error in failed.items():
            if not self._skip(target, error):
                self._results[target] = replace(_rolled(target, State.FAILED), error=error)
                is_ready = False
        return is_ready

    def _skip(self, target: Target, error: ProxyctlError | None) -> bool:
        """Leave out an instance that cannot be reached, if asked to. Changes: `_results`."""
        if not (self._request.skips and isinstance(error, InstanceError)):
            return False
        self._unread.append(Failed(target.name, target.login.address, error))
        del self._results[target]
        return True

    def _is_in_sync(self, target: Target) -> bool:
        return self._approved[target].is_in_sync

    def _watch(self, batch: Sequence[list[Target]], earlier: Sequence[str]) -> None:
        """Watch the instances of a batch that were changed. Changes: `_results`."""
        if self._request.watch is None or self._was_interrupted:
            return
        units = [
            {target: self._results[target] for target in unit if target in self._results}
            for unit in batch
        ]
        self._results |= self._request.watch.after(units, self._id, earlier)

    def _apply(self, batch: Sequence[list[Target]], *, is_watched: bool) -> None:
        """Apply to the units of a batch at the same time.

        An interrupt ends a single apply. If several run, those that have started are finished.
        """
        if len(batch) == 1:
            self._apply_unit(batch[0], is_watched)
            return
        with ThreadPoolExecutor(self._request.workers) as pool:
            futures = [pool.submit(self._apply_unit, unit, is_watched) for unit in batch]
            try:
                wait(futures)
            except KeyboardInterrupt:
                self._was_interrupted = True
                self._say("interrupted: finishing the instances already in progress")
                for future in futures:
                    future.cancel()
                with uninterrupted():
                    wait(futures)
        for future in futures:
            if not future.cancelled():
                future.result()

    def _apply_unit(self, unit: list[Target], is_watched: bool) -> None:
        """Apply to the members of a unit in turn until one fails. Changes: `_results`."""
        for target in [target for target in unit if target in self._results]:
            result = self._applied(target, unit, is_watched)
            if self._skip(target, result.error):
                continue
            self._results[target] = result
            if result.error is not None:
                self._note_followers(unit)
                return

    def _applied(self, target: Target, unit: list[Target], is_watched: bool) -> Rolled:
        try:
            with target.connect() as client:
                if is_watched:
                    self._shunned_before[target] = _read_shunned(client)
                request = self._request_of(target, unit)
                _, result = self._request.applier(client, target, request)
        except Exception as error:
            return replace(_rolled(target, State.FAILED), error=_error_of(target, error))
        if result is None:
            follows = target is not unit[0] and not self._approved[target].is_in_sync
            return _rolled(target, State.FOLLOWED if follows else State.IN_SYNC)
        return replace(
            _rolled(target, State.APPLIED),
            result=result,
            behind=self._behind(result),
            notes=result.notes,
        )

    def _request_of(self, target: Target, unit: list[Target]) -> ApplyRequest:
        """Return the request for one instance, with the approval of its plan."""
        request = replace(self._request.apply, rollout=self._id)
        if len(self._targets) > 1:
            request = replace(request, reporter=request.reporter.named(target.name))
        if len(unit) > 1 and not request.peer_timeout_s:
            # Without a wait, the next member would be behind this member, and its apply refused.
            request = replace(request, peer_timeout_s=PEER_TIMEOUT_S)
        approved = self._approved[target].own_plan
        return replace(request, approval=Approval(approved, is_of_follower=target is not unit[0]))

    def _behind(self, result: ApplyResult) -> list[PeerResult]:
        """Return the peers outside this fleet that do not follow."""
        ours = {f"{target.login.host}:{target.login.port}" for target in self._targets}
        return [peer for peer in result.not_following if peer.name not in ours]

    def _note_followers(self, unit: list[Target]) -> None:
        """Add a note to the other members of a cluster: the change may have reached them."""
        results = [self._results[target] for target in unit if target in self._results]
        if not any(result.result or isinstance(result.error, ApplyError) for result in results):
            return
        note = "it may have synchronised with a changed member of its cluster; run plan"
        for target in unit:
            if target in self._results and self._results[target].state is State.NOT_TOUCHED:
                self._results[target] = replace(self._results[target], notes=[note])

    def _look_at_servers(self, targets: Sequence[Target]) -> None:
        """Find the servers that were shunned since the apply. Changes: `_results`."""
        changed = (State.APPLIED, State.FOLLOWED)
        targets = [target for target in targets if self._results[target].state in changed]
        if not targets:
            return
        time.sleep(SETTLE_S)

        def look(target: Target) -> tuple[Target, frozenset[str]]:
            with target.connect() as client:
                return target, _read_shunned(client)

        shunned_by_target, failed = at_all(targets, look, workers=self._request.workers)
        for target, shunned in shunned_by_target:
            newly_shunned = sorted(shunned - self._shunned_before[target])
            self._results[target] = replace(self._results[target], shunned=newly_shunned)
        messages = {failure.name: failure.error.message for failure in failed}
        for target in targets:
            if message := messages.get(target.name):
                error = ApplyError(f"applied, but could not be read afterwards: {message}")
                self._results[target] = replace(self._results[target], error=error)


def _rolled(target: Target, state: State) -> Rolled:
    """Return a result without details."""
    return Rolled(target.name, target.login.address, state)


def _names(unit: Sequence[Target]) -> str:
    listed = " + ".join(target.name for target in unit)
    return f"{listed} (one ProxySQL Cluster)" if len(unit) > 1 else listed


def _error_of(target: Target, error: Exception) -> ProxyctlError:
    """Return the error to report; after an unexpected exception the layers are not known."""
    expected = target.expected_error(error)
    if isinstance(error, ProxyctlError):
        return expected
    unknown = "it is not known what changed there; plan shows what differs from the files"
    return ApplyError(expected.message, then=[unknown], fix=expected.fix)
