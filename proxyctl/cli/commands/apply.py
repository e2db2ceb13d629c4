"""The commands apply and unlock, and the approval of what is about to be applied."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from proxyctl.cli.connect import Place, planned_fleet
from proxyctl.cli.options import (
    Allowances,
    ApplyOptions,
    FleetOptions,
    FormatOption,
    RolloutOptions,
)
from proxyctl.cli.output import confirm, say, style, write, write_to_stderr
from proxyctl.errors import (
    ApplyError,
    ExitCode,
    InstanceError,
    InternalError,
    InterruptedApplyError,
    ProxyctlError,
    RefusedError,
    UsageError,
    error_texts,
)

if TYPE_CHECKING:
    from proxyctl.fleet.outcome import Fleet, Rollout
    from proxyctl.plan.plan import Plan
    from proxyctl.plan.saved import SavedPlan


def apply(
    place: Place,
    allowances: Allowances,
    fleet: RolloutOptions,
    how: ApplyOptions,
    plan_file: str | None = typer.Argument(
        None, metavar="PLANFILE", help="A plan saved with plan --out."
    ),
    format: FormatOption = "text",
) -> int:
    """Change the instance to what the files say, and read it back."""
    from proxyctl.apply.apply import ApplyRequest
    from proxyctl.fleet.members import as_applied
    from proxyctl.fleet.rollout import RolloutRequest, roll_out

    saved = None
    if plan_file:
        saved, place, allowances = _saved(Path(plan_file), place, allowances, fleet)
    options = replace(allowances.options(), saves=not how.no_save, lints=True)
    targets = place.targets(fleet)
    is_all, is_text = fleet.all_instances, format == "text"
    # One instance is planned under its lock alone, where nobody has to see that plan before.
    is_approved = not is_all and (how.auto_approve or saved is not None)
    approved = None
    request = ApplyRequest(
        options,
        lock_timeout_s=how.lock_timeout,
        before=show if is_text and is_approved else lambda _plan: None,
        progress=say,
        sources=(*([plan_file] if plan_file else []), *place.files.paths()),
        peer_timeout_s=how.peer_timeout,
    )
    if saved is not None:
        saved.check_address(targets[0].login.address)
        request = replace(request, is_approved=saved.matches, of_saved=True)
    elif not is_approved:
        approved = as_applied(planned_fleet(targets, options, fleet))
        tell = write if is_text else write_to_stderr
        approve(approved, tell, fleet if is_all else None, asks=not how.auto_approve)
    rollout_request = RolloutRequest(
        request,
        fleet.max_unavailable,
        has_canary=fleet.strategy == "canary",
        workers=fleet.parallel,
        skips=fleet.skip_unreachable,
        say=say,
    )
    done = roll_out(targets, approved, rollout_request)
    if is_all:
        _report_all(done, is_text=is_text)
    else:
        _report_one(done, approved, is_text=is_text)
    return done.exit_code


def _saved(
    path: Path, place: Place, allowances: Allowances, fleet: FleetOptions
) -> tuple[SavedPlan, Place, Allowances]:
    """Return a saved plan and the options that it was made with.

    Raises: UsageError for other options; ProxyctlError for a file that is no saved plan.
    """
    from proxyctl.plan.saved import SavedPlan

    if fleet.is_meant():
        raise UsageError("a saved plan belongs to one instance: leave out --all")
    saved = SavedPlan.read(path)
    if given := allowances.names():
        again = shlex.join([*saved.options, *given])
        raise UsageError(
            "leave out " + ", ".join(given),
            fix="a saved plan keeps the options that it was made with; make another: proxyctl plan"
            f" {again} --out {path}",
        )
    missing = sorted(set(saved.variables) - place.files.variables().keys())
    if missing:
        raise UsageError(
            f"the plan was made with --var {', '.join(missing)}",
            fix="give the same --var again: a saved plan holds no values of variables",
        )
    files = replace(place.files, file=place.files.file or list(saved.paths))
    return saved, replace(place, files=files), Allowances.of_names(saved.options)


def show(found: Plan) -> None:
    """Write a plan just before it is applied."""
    from proxyctl.render.plan import plan_text

    write(plan_text(found, style(), is_done=True, with_refusals=False))


def approve(
    found: Fleet,
    tell: Callable[[str], None],
    rollout: RolloutOptions | None = None,
    *,
    asks: bool = True,
    verb: str = "apply",
) -> None:
    """Show the plans and ask once for each distinct one.

    `rollout`: how to change many instances; None for a single one.

    Raises: RefusedError when a plan is refused or not approved; InstanceError or ProxyctlError when
    an instance has no plan; UsageError.
    """
    from proxyctl.plan.plan import raise_refusals
    from proxyctl.render.fleet import instance_names
    from proxyctl.render.plan import plans_text

    fix = "--auto-approve applies without asking"
    tell(plans_text(found, style(), is_all=rollout is not None, with_refusals=False))
    if rollout is None:
        raise_refusals(found.only_plan())
        if verb == "apply":
            fix += "; plan --out and apply PLANFILE apply what was reviewed"
    else:
        _refuse_fleet(found, skips=rollout.skip_unreachable)
    if found.alike and asks:
        questions = [f"Apply this to {instance_names(alike)}?" for alike in found.alike]
        confirm(verb, *questions, fix=fix, refusal="not applied")


def _refuse_fleet(found: Fleet, *, skips: bool) -> None:
    """Refuse to change any instance if one plan is refused or one instance has no plan.

    `skips`: an instance that cannot be read is left out. Raises: RefusedError; InstanceError if
    every missing plan is of an instance that cannot be read, otherwise ProxyctlError.
    """
    from proxyctl.render.fleet import instance_names

    reasons = [
        line
        for alike in found.alike
        for refusal in alike[0].plan.refusals
        for line in (
            f"{instance_names(alike)}: {refusal.message}",
            *(f"  {line}" for line in refusal.below()),
        )
    ]
    if reasons:
        raise RefusedError("no instance was changed", reasons=reasons)
    wrong = [one for one in found.failed if not isinstance(one.error, InstanceError)]
    if wrong:
        raise ProxyctlError(
            f"no instance was changed: there is no plan for {instance_names(wrong)}"
        )
    if found.failed and not skips:
        raise InstanceError(
            f"no instance was changed: {instance_names(found.failed)} could not be read",
            fix="--skip-unreachable changes the others and exits with 4",
        )


def _report_one(done: Rollout, approved: Fleet | None, *, is_text: bool) -> None:
    """Write the result of an apply to one instance. Raises: the error that stopped it."""
    from proxyctl.apply.apply import applied
    from proxyctl.fleet.outcome import State
    from proxyctl.render.apply import apply_json, apply_text

    (one,) = done.rolled
    if one.error is not None:
        raise one.error
    if done.was_interrupted and one.state is State.NOT_TOUCHED:
        raise KeyboardInterrupt
    plan = approved.only_plan() if one.plan is None and approved is not None else one.plan
    if plan is None:
        raise InternalError("an apply without a plan")
    text = apply_text(plan, one.result, style()) if is_text else apply_json(plan, one.result)
    with applied(one.result):
        write(text)


def _report_all(done: Rollout, *, is_text: bool) -> None:
    """Write the result of each instance; if that fails, the error carries the results."""
    from proxyctl.render.apply import ROLLOUT, rollout_text

    try:
        if not is_text:
            write(ROLLOUT.document(done))
        elif done.has_work:
            write(rollout_text(done, style()))
    except (Exception, KeyboardInterrupt) as error:
        if not done.has_changed:
            raise
        kind = InterruptedApplyError if isinstance(error, KeyboardInterrupt) else ApplyError
        layers = rollout_text(done).splitlines()
        raise kind(f"changed, but then: {error_texts(error)[0]}", layers=layers) from error


def unlock(place: Place) -> int:
    """Remove the lock of another apply, whoever holds it."""
    from proxyctl.instance.lock import break_lock

    with place.connect() as client:
        holder = break_lock(client)
    say(f"removed the lock of {holder.text()}" if holder else "there is no lock")
    for name, was_saved in holder.modules.items() if holder else ():
        if was_saved:
            say(f"its MEMORY may be half written; the next apply sends: LOAD {name} FROM DISK;")
        else:
            say(f"{name}: MEMORY held edits that are not on DISK; plan lists them as pending edits")
    return ExitCode.DONE
