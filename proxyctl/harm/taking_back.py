"""Roll one instance back after its change did harm; the errors of a watch that ends early."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from proxyctl.apply.apply import apply_planned
from proxyctl.apply.request import NOT_NEEDED, ApplyRequest, Reporter
from proxyctl.apply.result import AS_BEFORE, ApplyResult
from proxyctl.config.sources import Sources
from proxyctl.errors import (
    ApplyError,
    InterruptedApplyError,
    ProxyctlError,
    RefusedError,
    error_texts,
)
from proxyctl.fleet.targets import Target
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.plan.change import ADD, CHANGE, DELETE
from proxyctl.plan.files import plan_files
from proxyctl.plan.instance_state import InstanceState
from proxyctl.plan.plan import Plan
from proxyctl.rows.row import Layer
from proxyctl.snapshots.folder import history, read
from proxyctl.snapshots.rollback import CORRECT_FILES, check_fit, rollback_plan
from proxyctl.snapshots.snapshot import BY_HAND, ROLLBACK, SUFFIX, Kept


@dataclass(frozen=True)
class WatchedApply:
    """An apply that is watched: what it was asked, and what it did."""

    target: Target
    """The instance."""
    request: ApplyRequest
    """The request of the apply; its rollback has the same options."""
    result: ApplyResult
    """The result of the apply."""

    @property
    def layers(self) -> list[str]:
        """The layers after the apply, a line for each admin module."""
        return [module.text() for module in self.result.modules]

    @property
    def snapshot(self) -> Path:
        """The snapshot of the state before the apply."""
        return Path(str(self.result.snapshot))

    @property
    def rollback_command(self) -> str:
        """The command that takes the apply back."""
        login, paths = self.target.login, self.target.files.paths
        words = ["proxyctl", "rollback", self.snapshot.name.removesuffix(SUFFIX)]
        if login.name:
            words += ["--instance", login.name]
            if paths != Sources().paths:
                words += [word for path in paths for word in ("-f", path)]
        elif login.socket:
            words += ["--socket", login.socket]
        else:
            words += ["--host", login.host, "--port", str(login.port)]
        if not login.name and login.user != Login.user:
            words += ["--user", login.user]
        return shlex.join(words)


def not_judged(apply: WatchedApply, error: BaseException) -> ApplyError:
    """Return the error for a watch that ended before its time: nothing is decided."""
    is_interrupt = isinstance(error, KeyboardInterrupt)
    kind = InterruptedApplyError if is_interrupt else ApplyError
    first, *then = error_texts(error)
    reason = "interrupted while watching" if is_interrupt else f"the watch failed: {first}"
    return _error(
        kind(
            f"{apply.target.name}: applied, but {reason}: no verdict, so the change stays in place",
            then=then,
            fix=f"roll it back: {apply.rollback_command}",
            layers=apply.layers,
        ),
        apply,
    )


def take_back(
    client: AdminClient, apply: WatchedApply, message: str, seen: Sequence[str]
) -> tuple[ApplyError, bool]:
    """Roll the instance back; return the error to report, and whether it is as before.

    `message`: why. `seen`: what was seen, a line each.
    """
    say = apply.request.reporter.progress
    say(f"rolling back to {apply.snapshot.name.removesuffix(SUFFIX)}: {'; '.join(seen)}")
    try:
        plan, result = _roll_back(client, apply)
    except (ProxyctlError, KeyboardInterrupt) as error:
        return not_taken_back(apply, error, message, seen), False
    restored = "nothing had to be restored: another session has already reverted the change"
    layers = apply.layers
    if result is not None:
        restored, layers = _restored(plan), [module.text() for module in result.modules]
    behind = [peer.name for peer in result.not_following] if result else []
    if behind:
        restored += f"; members that have not copied it: {', '.join(behind)}"
    failure = ApplyError(
        f"{message}, and was rolled back",
        then=[*(f"seen: {line}" for line in seen), restored],
        fix=CORRECT_FILES,
        layers=layers,
    )
    return _error(failure, apply), True


def _roll_back(client: AdminClient, apply: WatchedApply) -> tuple[Plan, ApplyResult | None]:
    """Carry out the ordinary rollback to the snapshot of the apply.

    Raises: as `apply_planned`; RefusedError if somebody applied, or edited rows, since.
    """
    newest = next((kept for kept in history(client.address) if not _is_by_hand(kept)), None)
    if newest is not None and newest.path.name != apply.snapshot.name:
        raise RefusedError(
            "another change has been applied since, and may be the one that does harm",
            fix="look at it with proxyctl history; to roll this change back anyway",
        )
    snapshot = read(apply.snapshot)
    check_fit(client, snapshot)
    # The plan was approved with the apply; edits that somebody made in MEMORY since were not.
    options = replace(apply.request.options, discard_pending=False)
    request = replace(
        apply.request,
        options=options,
        approval=NOT_NEEDED,
        reporter=replace(apply.request.reporter, before=Reporter.before),
        purpose=ROLLBACK,
        sources=(snapshot.name,),
    )

    def planner(staged: Mapping[str, bool]) -> tuple[Plan, InstanceState]:
        plan, current = rollback_plan(client, snapshot, options, staged)
        if not plan.is_in_sync and not _is_as_applied(client, apply):
            raise RefusedError(
                "the configuration has been changed since, which may be what does harm",
                fix="look at it with proxyctl plan; to roll this change back anyway",
            )
        return plan, current

    return apply_planned(client, planner, request)


def _is_as_applied(client: AdminClient, apply: WatchedApply) -> bool:
    """Return whether the instance holds what the apply left: nobody has edited it by hand.

    DISK does not count: an apply with --no-save leaves it.
    """
    plan = plan_files(client, apply.target.files, apply.request.options)
    return not any(sum(plan.counts(layer).values()) for layer in (Layer.MEMORY, Layer.RUNTIME))


def _is_by_hand(kept: Kept) -> bool:
    return kept.header is not None and kept.header.before == BY_HAND


def _restored(plan: Plan) -> str:
    counts = plan.counts()
    return (
        f"restored: {counts[ADD]} added, {counts[CHANGE]} changed, {counts[DELETE]} deleted at"
        " RUNTIME; every layer was read back"
    )


def not_taken_back(
    apply: WatchedApply,
    error: ProxyctlError | KeyboardInterrupt,
    message: str,
    seen: Sequence[str],
) -> ApplyError:
    """Return the error for a rollback that was refused or failed."""
    kind = InterruptedApplyError if _is_interrupt(error) else ApplyError
    layers = apply.layers
    first, *then = error_texts(error)
    outcome, fix = f"failed: {first}", "roll it back"
    if isinstance(error, ApplyError):
        # Restored means here: with the change that does harm.
        then = [f"the rollback: {line}" for line in then]
        layers = [line.replace(AS_BEFORE, f"{AS_BEFORE} the rollback") for line in error.layers]
    if isinstance(error, RefusedError):
        outcome = "was refused" if error.reasons else f"was refused: {first}"
        then = [*then, *error.reasons]
        fix = error.fix or f"{fix}, with the option that the reason names"
    return _error(
        kind(
            f"{message}, but the rollback {outcome}",
            then=[*(f"seen: {line}" for line in seen), *then],
            fix=f"{fix}: {apply.rollback_command}",
            layers=layers,
        ),
        apply,
    )


def _is_interrupt(error: BaseException) -> bool:
    return isinstance(error, (KeyboardInterrupt, InterruptedApplyError))


def _error(error: ApplyError, apply: WatchedApply) -> ApplyError:
    error.snapshot = apply.result.snapshot
    return error
