"""Apply to one instance: lock, plan again, and go on only if the plan is the approved one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from proxyctl.apply.execute import apply_plan
from proxyctl.apply.result import ApplyResult
from proxyctl.apply.run import ApplyOptions
from proxyctl.catalog import ADMIN_MODULES
from proxyctl.config.project import ConfigFiles
from proxyctl.errors import (
    ApplyError,
    ConnectionLostError,
    InterruptedApplyError,
    RefusedError,
    error_texts,
)
from proxyctl.instance.client import AdminClient
from proxyctl.instance.cluster import wait_for_members
from proxyctl.instance.interrupts import interruptible, uninterrupted
from proxyctl.instance.lock import Lock
from proxyctl.plan.current import InstanceState
from proxyctl.plan.files import plan_and_current
from proxyctl.plan.make import PlanOptions
from proxyctl.plan.plan import Plan, raise_refusals
from proxyctl.snapshots.folder import keep
from proxyctl.snapshots.snapshot import APPLY, header_of
from proxyctl.state.sql import Statement

PEER_TIMEOUT_S = 30.0
"""The default time for the members of a ProxySQL Cluster to follow. Units: seconds."""


@dataclass(frozen=True)
class ApplyRequest:
    """One apply: its options, its approval, and who receives progress.

    `is_approved` tells whether the plan made under the lock is the approved plan; `of_saved`: the
    approved plan is a saved plan. `before` receives the plan before anything changes. The lock and
    the snapshot record `purpose` and `sources` (files or a snapshot). Units: seconds;
    `peer_timeout_s` 0 does not wait for the members of a ProxySQL Cluster.
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


Planner = Callable[[AdminClient, PlanOptions, Mapping[str, bool]], tuple[Plan, InstanceState]]
"""Returns the plan of an instance and the state that it was made from.

The mapping has the modules that a dead apply, whose lock was taken over, had staged.
"""


def apply_files(
    client: AdminClient, files: ConfigFiles, request: ApplyRequest
) -> tuple[Plan, ApplyResult | None]:
    """Apply the files. Returns and raises as `apply_planned`; also raises ConfigError."""
    return apply_planned(
        client, lambda at, options, staged: plan_and_current(at, files, options, staged), request
    )


@interruptible()
def apply_planned(
    client: AdminClient, planner: Planner, request: ApplyRequest
) -> tuple[Plan, ApplyResult | None]:
    """Apply a plan; return the plan and the result. The result is None if nothing differed.

    Raises: RefusedError when the lock is held, the plan is stale or a guard refuses; InstanceError
    when nothing was loaded; ApplyError when layers may have changed.
    """
    lock = Lock(client, request.purpose)
    try:
        lock.take(timeout_s=request.lock_timeout_s, waiting=request.progress)
        staged = lock.leftovers
        restored = _put_memory_back(client, lock, request.progress)
        with _unchanged_but(restored):
            plan, current = planner(client, request.options, staged)
            if not request.is_approved(plan):
                raise RefusedError(
                    f"{plan.name}: the plan is stale: the instance, the files or a secret changed"
                    " since it was made",
                    fix="run plan again to see what differs now",
                )
            request.before(plan)
            raise_refusals(plan, of_saved=request.of_saved)
            if plan.is_in_sync:
                lock.forget_leftovers({module.name for module in plan.modules})
                return plan, None
            kept = keep(header_of(plan, request.purpose, request.sources), current.tables)
        apply_options = ApplyOptions(request.options.saves, request.progress)
        result = apply_plan(client, plan, lock, apply_options)
        with applied(result):
            result.snapshot = str(kept)
            lock.forget_leftovers({module.name for module in plan.modules})
            if request.peer_timeout_s and plan.members:
                loaded = [module.name for module in plan.modules if module.images]
                result.peers = wait_for_members(
                    client, loaded, request.peer_timeout_s, request.progress, lock.renew
                )
        return plan, result
    finally:
        with uninterrupted():
            lock.release_or_report(request.progress)


def _put_memory_back(client: AdminClient, lock: Lock, progress: Callable[[str], None]) -> list[str]:
    """Send LOAD ... FROM DISK for the modules that a dead apply had staged, and return them.

    Only if MEMORY equalled DISK before: otherwise MEMORY also holds edits of others. It is sent
    once: what MEMORY holds later is somebody's edit, whether or not this apply writes the module.
    """
    names = [name for name in ADMIN_MODULES if lock.leftovers.get(name)]
    for name in names:
        progress(
            f"{name}: a command was killed while it wrote MEMORY; MEMORY is restored from DISK"
        )
        command = f"LOAD {name} FROM DISK"
        with lock.renewed_for(command, {}):
            client.execute(Statement.plain(command))
        lock.forget_leftovers([name])
        lock.mark("", {})
    return names


@contextmanager
def _unchanged_but(restored: Sequence[str]) -> Iterator[None]:
    """Say in an error of the block what was changed: MEMORY of the restored modules at most."""
    state = "nothing was changed"
    if restored:
        state += f" but MEMORY of {' and '.join(restored)}, restored from DISK"
    try:
        yield
    except ConnectionLostError as error:
        raise ConnectionLostError(
            error.message, then=[*error.then, state], fix=error.fix
        ) from error
    except KeyboardInterrupt as error:
        if not restored:
            raise
        raise InterruptedApplyError(f"interrupted; {state}") from error


@contextmanager
def applied(result: ApplyResult | None) -> Iterator[None]:
    """Turn any error after a finished apply into an error that says that the apply is done."""
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
