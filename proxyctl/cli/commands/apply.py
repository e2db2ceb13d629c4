"""The commands apply and unlock, and the approval of plans."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from proxyctl.cli.connect import Selection, planned_fleet
from proxyctl.cli.options import (
    Allowances,
    ChangeOptions,
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
    place: Selection,
    allowances: Allowances,
    fleet: RolloutOptions,
    apply_options: ChangeOptions,
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
    options = replace(allowances.options(), saves=not apply_options.no_save, lints=True)
    targets = place.targets(fleet)
    is_all, is_text = fleet.all_instances, format == "text"
    # If nobody must see the plan first, a single instance is planned only once, under its lock.
    is_approved = not is_all and (apply_options.auto_approve or saved is not None)
    approved = None
    request = ApplyRequest(
        options,
        lock_timeout_s=apply_options.lock_timeout,
        before=show if is_text and is_approved else lambda _plan: None,
        progress=say,
        sources=(*([plan_file] if plan_file else []), *place.files.paths()),
        peer_timeout_s=apply_options.peer_timeout,
    )
    if saved is not None:
        saved.check_address(targets[0].login.address)
        request = replace(request, is_approved=saved.matches, of_saved=True)
    elif not is_approved:
        approved = as_applied(planned_fleet(targets, options, fleet))
        write_plans = write if is_text else write_to_stderr
        approve(
            approved, write_plans, fleet if is_all else None, asks=not apply_options.auto_approve
        )
    rollout_request = RolloutRequest(
        request,
        fleet.max_unavailable,
        has_canary=fleet.strategy == "canary",
        workers=fleet.parallel,
        skips=fleet.skip_unreachable,
        say=say,
    )
    rollout = roll_out(targets, approved, rollout_request)
    if is_all:
        _report_all(rollout, is_text=is_text)
    else:
        _report_one(rollout, approved, is_text=is_text)
    return rollout.exit_code


def _saved(
    path: Path, place: Selection, allowances: Allowances, fleet: FleetOptions
) -> tuple[SavedPlan, Selection, Allowances]:
    """Return a saved plan, with the files and options that it was made with.

    Raises: UsageError for other options; ProxyctlError for a file that is no saved plan.
    """
    from proxyctl.plan.saved import SavedPlan

    if fleet.is_for_all():
        raise UsageError("a saved plan belongs to one instance: leave out --all")
    saved = SavedPlan.read(path)
    if extra := allowances.names():
        again = shlex.join([*saved.options, *extra])
        raise UsageError(
            "leave out " + ", ".join(extra),
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


def show(plan: Plan) -> None:
    """Write a plan just before it is applied."""
    from proxyctl.fleet.outcome import Planned
    from proxyctl.render.plan import plan_text

    write(plan_text(Planned.of(plan), style(), is_done=True, with_refusals=False))


def approve(
    fleet: Fleet,
    write_plans: Callable[[str], None],
    rollout: RolloutOptions | None = None,
    *,
    asks: bool = True,
    verb: str = "apply",
) -> None:
    """Show the plans and ask once for each distinct plan.

    `rollout`: how to change many instances; None for a single instance.

    Raises: RefusedError when a plan is refused or not approved; InstanceError or ProxyctlError when
    an instance has no plan; UsageError.
    """
    from proxyctl.plan.plan import raise_refusals
    from proxyctl.render.fleet import instance_names
    from proxyctl.render.plan import plans_text

    fix = "run it on a terminal"
    write_plans(plans_text(fleet, style(), is_all=rollout is not None, with_refusals=False))
    if rollout is None:
        raise_refusals(fleet.only().plan)
        if verb == "apply":
            fix += ", or make a plan with --out and apply that file after a review"
    else:
        _refuse_fleet(fleet, skips=rollout.skip_unreachable)
    if fleet.alike and asks:
        questions = [f"Apply this to {instance_names(group)}?" for group in fleet.alike]
        fix += "; --auto-approve applies without asking"
        confirm(verb, *questions, fix=fix, refusal="not applied")


def _refuse_fleet(fleet: Fleet, *, skips: bool) -> None:
    """Refuse to change any instance if one plan is refused or one instance has no plan.

    `skips`: leave out instances that cannot be read. Raises: RefusedError; InstanceError if every
    instance without a plan could not be read, otherwise ProxyctlError.
    """
    from proxyctl.render.fleet import instance_names

    reasons = [
        line
        for group in fleet.alike
        for refusal in group[0].refusals
        for line in (
            f"{instance_names(group)}: {refusal.message}",
            *(f"  {line}" for line in refusal.below()),
        )
    ]
    if reasons:
        raise RefusedError("no instance was changed", reasons=reasons)
    unplanned = [
        instance for instance in fleet.failed if not isinstance(instance.error, InstanceError)
    ]
    if unplanned:
        raise ProxyctlError(
            f"no instance was changed: there is no plan for {instance_names(unplanned)}"
        )
    if fleet.failed and not skips:
        raise InstanceError(
            f"no instance was changed: {instance_names(fleet.failed)} could not be read",
            fix="correct what their errors say, and run it again; --skip-unreachable changes the"
            " others and exits with 4",
        )


def _report_one(rollout: Rollout, approved: Fleet | None, *, is_text: bool) -> None:
    """Write the result of an apply to one instance. Raises: the error that stopped it."""
    from proxyctl.apply.apply import applied
    from proxyctl.fleet.outcome import State
    from proxyctl.render.apply import apply_json, apply_text

    (rolled,) = rollout.rolled
    if rolled.error is not None:
        raise rolled.error
    if rollout.was_interrupted and rolled.state is State.NOT_TOUCHED:
        raise KeyboardInterrupt
    plan = approved.only().plan if rolled.plan is None and approved is not None else rolled.plan
    if plan is None:
        raise InternalError("an apply without a plan")
    result = rolled.result
    with applied(result):
        write(apply_text(plan, result, style()) if is_text else apply_json(plan, result))


def _report_all(rollout: Rollout, *, is_text: bool) -> None:
    """Write the result of each instance; if writing fails, the error lists the results."""
    from proxyctl.render.apply import ROLLOUT, rollout_text

    try:
        if not is_text:
            write(ROLLOUT.document(rollout))
        elif rollout.has_work:
            write(rollout_text(rollout, style()))
    except (Exception, KeyboardInterrupt) as error:
        if not rollout.has_changed:
            raise
        kind = InterruptedApplyError if isinstance(error, KeyboardInterrupt) else ApplyError
        layers = rollout_text(rollout).splitlines()
        raise kind(f"changed, but then: {error_texts(error)[0]}", layers=layers) from error


def unlock(place: Selection) -> int:
    """Remove the lock of another apply, whoever holds it."""
    from proxyctl.instance.interrupts import uninterrupted
    from proxyctl.instance.lock import break_lock

    with place.connect() as client, uninterrupted():
        holder = break_lock(client)
    say(f"removed the lock of {holder.text()}" if holder else "there is no lock")
    for name, was_saved in holder.modules.items() if holder else ():
        if was_saved:
            say(f"its MEMORY may be half written; the next apply sends: LOAD {name} FROM DISK;")
        else:
            say(f"{name}: MEMORY held edits that are not on DISK; plan lists them as pending edits")
    return ExitCode.DONE
