"""Apply to one instance: lock, read everything again, and act if it is what was approved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from proxyctl.admin.apply import ApplyOptions, apply_plan
from proxyctl.admin.client import AdminClient
from proxyctl.admin.lock import Lock
from proxyctl.admin.read import TableReader
from proxyctl.admin.snapshot import DEFAULT_RULES, SnapshotRules, SnapshotWriter
from proxyctl.admin.snapshot_folder import outcome_kept
from proxyctl.config.load import ParsedFiles
from proxyctl.errors import ConnectionLostError, InstanceError, RefusedError
from proxyctl.plan import Plan, raise_refusals
from proxyctl.result import ApplyResult
from proxyctl.snapshot import APPLY, occasion_of
from proxyctl.workflow import PlanOptions, plan_files


@dataclass(frozen=True)
class ApplyRequest:
    """One apply: what is allowed, what was approved, and who is told about it.

    `is_approved`: whether a plan, read again under the lock, is the one that a person saw.
    `before`: called with the plan before anything is changed. `purpose` and `sources` tell others
    what is under way: the files, or the snapshot. Units: `lock_timeout_s` seconds.
    """

    options: PlanOptions
    is_approved: Callable[[Plan], bool] = lambda _plan: True
    lock_timeout_s: float = 30.0
    before: Callable[[Plan], None] = lambda _plan: None
    progress: Callable[[str], None] = lambda _text: None
    purpose: str = APPLY
    sources: tuple[str, ...] = ()
    snapshots: SnapshotRules = DEFAULT_RULES


Planner = Callable[[PlanOptions, TableReader | None], Plan]
"""Makes a plan, reading the instance with the reader or one of its own."""


def apply_files(
    client: AdminClient, files: ParsedFiles, request: ApplyRequest
) -> tuple[Plan, ApplyResult | None]:
    """Apply what the files say. Returns and raises like `apply_planned`; also ConfigError."""

    def planner(options: PlanOptions, reader: TableReader | None) -> Plan:
        return plan_files(client, files, options, reader=reader)

    return apply_planned(client, planner, request)


def apply_planned(
    client: AdminClient, planner: Planner, request: ApplyRequest
) -> tuple[Plan, ApplyResult | None]:
    """Return the plan that was applied, and what became of it; None where nothing differed.

    Raises: RefusedError when the lock is held, the plan is stale or a guard refuses; InstanceError
    when nothing was loaded; ApplyError when layers may have changed.
    """
    lock = Lock(client, request.purpose)
    snapshot = SnapshotWriter(client, request.snapshots)
    try:
        lock.take(timeout_s=request.lock_timeout_s, waiting=request.progress)
        reader = TableReader(client, tee=snapshot.add)
        options = replace(request.options, leftovers=lock.leftovers)
        found = _planned(planner, options, reader)
        if not request.is_approved(found):
            raise RefusedError(
                f"{found.name}: the plan is stale: the instance, the files or a secret changed"
                " since it was made",
                hint="run plan again and look at what is different now",
            )
        request.before(found)
        raise_refusals(found)
        result = None
        if not found.is_in_sync:
            occasion = occasion_of(
                found, request.purpose, sources=request.sources, leftovers=lock.leftovers
            )
            kept = snapshot.keep(occasion)
            how = ApplyOptions(options.saves, request.progress, options.drain_timeout_s)
            with outcome_kept(kept):
                result = apply_plan(client, found, lock, how)
            result.snapshot = str(kept)
            result.omits_secrets = request.snapshots.omits_secrets
        lock.finished({module.name for module in found.modules})
        return found, result
    finally:
        snapshot.discard()
        _release(lock, request.progress)


def _planned(planner: Planner, options: PlanOptions, reader: TableReader) -> Plan:
    try:
        return planner(options, reader)
    except ConnectionLostError as error:
        raise ConnectionLostError(
            f"{error.message}\nnothing was changed", hint=error.hint
        ) from error


def _release(lock: Lock, progress: Callable[[str], None]) -> None:
    """Give the lock back, over a new connection if ours broke."""
    try:
        lock.release()
    except InstanceError:
        try:
            lock.client.connect()
            lock.release()
        except InstanceError as error:
            progress(
                f"the lock could not be given back ({error.message}); it is gone with ProxySQL, or"
                " expires by itself"
            )
