"""The apply command, and unlock for the lock that a dead one left."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.allowances import Allowances
from proxyctl.cli.approval import approve_all, approve_one, show
from proxyctl.cli.fleet import FleetOptions, RolloutOptions, Strategy, planned_fleet, targets_of
from proxyctl.cli.options import (
    ConnectionOptions,
    FileOptions,
    PeerOptions,
    TextFormat,
    command,
)
from proxyctl.cli.output import say, style, write, write_beside
from proxyctl.errors import (
    ApplyError,
    ExitCode,
    InternalError,
    InterruptedApplyError,
    ProxyctlError,
    UsageError,
    error_texts,
)

if TYPE_CHECKING:
    from proxyctl.fleet.outcome import Fleet, Rollout
    from proxyctl.plan.saved import SavedPlan


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    command(app, "apply")(apply)
    command(app, "unlock")(unlock)


def apply(
    files: FileOptions,
    connection: ConnectionOptions,
    allowances: Allowances,
    peers: PeerOptions,
    fleet: FleetOptions,
    rollout: RolloutOptions,
    plan_file: Annotated[
        str | None, typer.Argument(metavar="PLANFILE", help="A plan saved with plan --out.")
    ] = None,
    auto_approve: Annotated[bool, typer.Option("--auto-approve", help="Do not ask.")] = False,
    no_save: Annotated[
        bool, typer.Option("--no-save", help="Leave DISK alone: a restart takes it back.")
    ] = False,
    lock_timeout: Annotated[
        float,
        typer.Option(min=0, metavar="SECONDS", help="Wait this long for another apply."),
    ] = 30.0,
    format: Annotated[TextFormat, typer.Option("--format", help="How to write.")] = TextFormat.TEXT,
) -> int:
    """Make the instance hold what the files say, and read it back."""
    from proxyctl.apply.apply import ApplyRequest
    from proxyctl.fleet.cluster import as_applied
    from proxyctl.fleet.rollout import RolloutRequest, roll_out
    from proxyctl.plan.saved import SavedPlan

    rollout.check(fleet)
    if plan_file and fleet.is_meant():
        raise UsageError("a saved plan is of one instance; leave out --all")
    saved = SavedPlan.read(Path(plan_file)) if plan_file else None
    if saved is not None:
        files, allowances = _as_saved(saved, files, allowances)
    targets = targets_of(files, connection, fleet)
    if saved is not None:
        saved.check_address(targets[0].login.address)
    is_text = format is TextFormat.TEXT
    # One instance is planned under its lock alone, where nobody has to see that plan before.
    is_approved = not fleet.all_instances and (auto_approve or saved is not None)
    request = ApplyRequest(
        replace(allowances.options(), saves=not no_save),
        saved.is_of if saved is not None else lambda _plan: True,
        lock_timeout_s=lock_timeout,
        before=show if is_text and is_approved else lambda _plan: None,
        progress=say,
        sources=(*([plan_file] if plan_file else []), *files.paths()),
        peer_timeout_s=peers.peer_timeout,
    )
    approved = None
    if not is_approved:
        approved = planned_fleet(targets, request.options, fleet)
        tell = write if is_text else write_beside
        if fleet.all_instances:
            approved = as_applied(approved)
            skips = rollout.skip_unreachable
            approve_all(approved, tell, is_automatic=auto_approve, skips=skips)
        else:
            approve_one(approved.only_plan(), tell)
    how = RolloutRequest(
        request,
        rollout.max_unavailable,
        has_canary=rollout.strategy is Strategy.CANARY,
        workers=fleet.parallel,
        skips=rollout.skip_unreachable,
        say=say,
    )
    done = roll_out(targets, approved, how)
    if fleet.all_instances:
        _report_all(done, is_text=is_text)
    else:
        _report_one(done, approved, is_text=is_text)
    return done.exit_code


def _report_one(done: Rollout, approved: Fleet | None, *, is_text: bool) -> None:
    """Write what became of a fleet of one. Raises: what hindered its apply."""
    from proxyctl.apply.apply import applied
    from proxyctl.fleet.outcome import State
    from proxyctl.render.apply_text import apply_json, apply_text

    (one,) = done.rolled
    if one.error is not None:
        raise one.error
    if done.was_interrupted and one.state is State.NOT_TOUCHED:
        raise KeyboardInterrupt
    plan = approved.only_plan() if one.plan is None and approved is not None else one.plan
    if plan is None:
        raise InternalError("an apply without a plan")
    text = apply_text(plan, one.result) if is_text else apply_json(plan, one.result)
    with applied(one.result):
        write(text)


def _report_all(done: Rollout, *, is_text: bool) -> None:
    """Write what became of each instance; where that is hindered, the error says it."""
    from proxyctl.render.rollout_text import rollout_json, rollout_text

    try:
        if not is_text:
            write(rollout_json(done))
        elif done.has_work:
            write(rollout_text(done, style()))
    except (Exception, KeyboardInterrupt) as error:
        if not done.has_changed:
            raise
        kind = InterruptedApplyError if isinstance(error, KeyboardInterrupt) else ApplyError
        layers = rollout_text(done).splitlines()
        raise kind(f"changed, but then: {error_texts(error)[0]}", layers=layers) from error


def _as_saved(
    saved: SavedPlan, files: FileOptions, allowances: Allowances
) -> tuple[FileOptions, Allowances]:
    """Return the options that the plan was made with; other ones than those are refused."""
    if allowances.names():
        raise UsageError("a saved plan carries its own options: " + " ".join(allowances.names()))
    missing = sorted(set(saved.variables) - set(files.variable_names()))
    if missing:
        raise UsageError(
            f"the plan was made with --var {', '.join(missing)}",
            hint="give the same variables again: their values are not saved",
        )
    own = Allowances.of_names(saved.options)
    if own is None:
        raise ProxyctlError(
            "the saved plan is damaged: it names an option that plan does not have",
            hint="make one with: proxyctl plan --out FILE",
        )
    return replace(files, file=files.file or list(saved.paths)), own


def unlock(files: FileOptions, connection: ConnectionOptions) -> int:
    """Remove the lock of another apply, whoever holds it."""
    from proxyctl.cli.connection import connected
    from proxyctl.instance.lock import break_lock

    with connected(files, connection) as client:
        holder = break_lock(client)
    say(f"removed the lock of {holder.text()}" if holder else "there is no lock")
    for name, was_saved in holder.modules.items() if holder else ():
        if was_saved:
            say(f"to put its MEMORY back, as the next apply does: LOAD {name} FROM DISK;")
        else:
            say(f"{name}: MEMORY had edits before that DISK lacks; plan lists what is pending")
    return ExitCode.DONE
