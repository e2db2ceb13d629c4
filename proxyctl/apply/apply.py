"""Apply to one instance: lock, plan again, and go on only if the plan is the approved one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from proxyctl.apply.execute import apply_plan
from proxyctl.apply.result import ApplyResult
from proxyctl.apply.run import ApplyOptions
from proxyctl.catalog import ADMIN_MODULES
from proxyctl.config.project import ParsedFiles
from proxyctl.errors import (
    ApplyError,
    ConnectionLostError,
    InterruptedApplyError,
    RefusedError,
    error_texts,
)
from proxyctl.instance.client import AdminClient
from proxyctl.instance.cluster import wait_for_members
from proxyctl.instance.interrupts import uninterrupted
from proxyctl.instance.lock import Lock
from proxyctl.plan.current import Current
from proxyctl.plan.files import plan_and_current
from proxyctl.plan.make import PlanOptions
from proxyctl.plan.plan import Plan, raise_refusals
from proxyctl.snapshots.folder import keep
from proxyctl.snapshots.snapshot import APPLY, header_of
from proxyctl.state.sql import Statement

PEER_TIMEOUT_S = 30.0
"""Seconds until the members of a ProxySQL Cluster have to follow, unless told."""


@dataclass(frozen=True)
class ApplyRequest:
    """One apply: what is allowed, what was approved, and who receives progress.

    `is_approved` tells whether the plan made under the lock is the one that a person saw;
    `of_saved`: that one is a saved plan. `before` is called with the plan before anything changes.
    `purpose` and `sources` (files or a snapshot) stand in the lock and in the snapshot. Units:
    seconds; `peer_timeout_s` 0 does not wait for the members of a ProxySQL Cluster.
    """

    options: PlanOptions
    is_approved: Callable[[Plan], bool] = lambda _plan: True
    of_saved: bool = False
    lock_timeout_s: float = 30.0
    before: Callable[[Plan], None] = lambda _plan: None
    progress: Callable[[str], None] = lambda _text: None
    purpose: str = APPLY
    sources: tuple[str, ...] = ()
    peer_timeout_s: float = PEER_TIMEOUT_S


Planner = Callable[[AdminClient, PlanOptions, Mapping[str, bool]], tuple[Plan, Current]]
"""Makes a plan of an instance and returns what it was made from, too.

The modules are those that an apply staged whose lock was taken over.
"""


def apply_files(
    client: AdminClient, files: ParsedFiles, request: ApplyRequest
) -> tuple[Plan, ApplyResult | None]:
    """Apply what the files say. Returns and raises like `apply_planned`; also ConfigError."""
    return apply_planned(
        client, lambda at, options, staged: plan_and_current(at, files, options, staged), request
    )


def apply_planned(
    client: AdminClient, planner: Planner, request: ApplyRequest
) -> tuple[Plan, ApplyResult | None]:
    """Return the plan that was applied, and what became of it; None where nothing differed.

    Raises: RefusedError when the lock is held, the plan is stale or a guard refuses; InstanceError
    when nothing was loaded; ApplyError when layers may have changed.
    """
    lock = Lock(client, request.purpose)
    try:
        lock.take(timeout_s=request.lock_timeout_s, waiting=request.progress)
        _put_memory_back(client, lock, request.progress)
        try:
            found, current = planner(client, request.options, lock.leftovers)
        except ConnectionLostError as error:
            raise ConnectionLostError(
                error.message, then=[*error.then, "nothing was changed"], fix=error.fix
            ) from error
        if not request.is_approved(found):
            raise RefusedError(
                f"{found.name}: the plan is stale: the instance, the files or a secret changed"
                " since it was made",
                fix="run plan again to see what differs now",
            )
        request.before(found)
        raise_refusals(found, of_saved=request.of_saved)
        if found.is_in_sync:
            lock.forget_leftovers({module.name for module in found.modules})
            return found, None
        kept = keep(header_of(found, request.purpose, request.sources), current.tables)
        how = ApplyOptions(request.options.saves, request.progress)
        result = apply_plan(client, found, lock, how)
        with applied(result):
            result.snapshot = str(kept)
            lock.forget_leftovers({module.name for module in found.modules})
            if request.peer_timeout_s and found.members:
                loaded = [module.name for module in found.modules if module.images]
                result.peers = wait_for_members(
                    client, loaded, request.peer_timeout_s, request.progress, lock.renew
                )
        return found, result
    finally:
        with uninterrupted():
            lock.release_or_report(request.progress)


def _put_memory_back(client: AdminClient, lock: Lock, say: Callable[[str], None]) -> None:
    """Send LOAD ... FROM DISK for the modules that a dead apply had staged.

    Only where MEMORY equalled DISK before; elsewhere MEMORY also holds other people's edits.
    """
    for name in ADMIN_MODULES:
        if lock.leftovers.get(name):
            say(f"{name}: a command was killed while it wrote MEMORY; MEMORY is restored from DISK")
            client.execute(Statement.plain(f"LOAD {name} FROM DISK"))


@contextmanager
def applied(result: ApplyResult | None) -> Iterator[None]:
    """Turn any error after a finished apply into one that says that the apply is done."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        if result is None:
            raise
        kind = InterruptedApplyError if isinstance(error, KeyboardInterrupt) else ApplyError
        layers = [module.text() for module in result.modules]
        reason, *then = error_texts(error)
        failure = kind(f"applied and read back, but then: {reason}", then=then, layers=layers)
        failure.snapshot = result.snapshot
        raise failure from error
