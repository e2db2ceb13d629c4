"""Apply to one instance: lock, plan again, and go on only if the plan is the approved one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from proxyctl.apply.execute import apply_plan
from proxyctl.apply.request import ApplyRequest, Reporter
from proxyctl.apply.result import ApplyResult
from proxyctl.catalog import ADMIN_MODULES
from proxyctl.config.files import ConfigFiles
from proxyctl.errors import (
    ApplyError,
    ConnectionLostError,
    InterruptedApplyError,
    error_texts,
)
from proxyctl.instance.client import AdminClient
from proxyctl.instance.cluster import wait_for_members
from proxyctl.instance.interrupts import interruptible, uninterrupted
from proxyctl.instance.lock import Lock
from proxyctl.plan.files import plan_and_current
from proxyctl.plan.instance_state import InstanceState
from proxyctl.plan.plan import Plan, raise_refusals
from proxyctl.rows.sql import Statement
from proxyctl.snapshots.folder import keep
from proxyctl.snapshots.snapshot import header_of

Planner = Callable[[Mapping[str, bool]], tuple[Plan, InstanceState]]
"""Returns the plan of the instance and the state that it was made from.

The mapping has the modules that an interrupted apply, whose lock was taken over, had staged.
"""


def apply_files(
    client: AdminClient, files: ConfigFiles, request: ApplyRequest
) -> tuple[Plan, ApplyResult | None]:
    """Apply the files. Returns and raises as `apply_planned`; also raises ConfigError."""
    options = request.options
    return apply_planned(
        client, lambda staged: plan_and_current(client, files, options, staged), request
    )


@interruptible()
def apply_planned(
    client: AdminClient, planner: Planner, request: ApplyRequest
) -> tuple[Plan, ApplyResult | None]:
    """Apply a plan; return the plan and the result. The result is None if nothing differed.

    Raises: RefusedError when the lock is held, the plan is stale or a guard refuses; InstanceError
    when nothing was loaded; ApplyError when layers may have changed.
    """
    lock, approval, reporter = Lock(client, request.purpose), request.approval, request.reporter
    try:
        lock.take(timeout_s=request.lock_timeout_s, waiting=reporter.progress)
        staged = lock.leftovers
        restored = _put_memory_back(client, lock, reporter)
        with _unchanged_but(restored):
            plan, current = planner(staged)
            approval.check(plan)
            if not approval.is_shown:
                reporter.before(plan)
            raise_refusals(plan, of_saved=approval.is_saved)
            if plan.is_in_sync:
                lock.forget_leftovers({module.name for module in plan.modules})
                return plan, None
            header = header_of(plan, request.purpose, request.sources, request.rollout)
            kept = keep(header, current.tables)
        try:
            result = apply_plan(client, plan, lock, reporter)
        except ApplyError as error:
            error.snapshot = str(kept)
            raise
        with applied(result):
            result.snapshot = str(kept)
            lock.forget_leftovers({module.name for module in plan.modules})
            if request.peer_timeout_s and plan.members:
                loaded = [module.name for module in plan.modules if module.images]
                result.peers = wait_for_members(
                    client, loaded, request.peer_timeout_s, reporter.progress, lock.renew
                )
        return plan, result
    finally:
        with uninterrupted():
            lock.release_or_report(reporter.warning)


def _put_memory_back(client: AdminClient, lock: Lock, reporter: Reporter) -> list[str]:
    """Send LOAD ... FROM DISK for the modules that an interrupted apply staged, and return them.

    Only if MEMORY equalled DISK before: otherwise MEMORY also holds edits of others. It is sent
    once: what MEMORY holds later is somebody's edit, whether or not this apply writes the module.
    """
    names = [name for name in ADMIN_MODULES if lock.leftovers.get(name)]
    for name in names:
        reporter.warning(
            f"{name}: a command was killed while it wrote MEMORY; MEMORY is being restored from"
            " DISK"
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
