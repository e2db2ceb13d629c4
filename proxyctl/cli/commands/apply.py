"""The commands apply and unlock, and the approval of plans."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from proxyctl.cli.connect import SelectionOptions, planned_fleet
from proxyctl.cli.harm_options import WatchOptions, watched_lines
from proxyctl.cli.options import (
    Allowances,
    ChangeOptions,
    FleetOptions,
    FormatOption,
    RolloutOptions,
)
from proxyctl.cli.output import confirm, emit, say, style, write, write_to_stderr
from proxyctl.errors import (
    ApplyError,
    ExitCode,
    InstanceError,
    InterruptedApplyError,
    ProxyctlError,
    RefusedError,
    UsageError,
    error_texts,
)

if TYPE_CHECKING:
    from proxyctl.apply.request import ApplyRequest, Approval, Reporter
    from proxyctl.apply.result import ApplyResult
    from proxyctl.fleet.outcome import Fleet, Rollout
    from proxyctl.fleet.rollout import RolloutRequest
    from proxyctl.fleet.targets import Target
    from proxyctl.harm.judgement import HarmJudgement
    from proxyctl.harm.watching import HarmWatch
    from proxyctl.plan.make import PlanOptions
    from proxyctl.plan.plan import Plan
    from proxyctl.plan.saved import SavedPlan


def apply(
    selection: SelectionOptions,
    allowances: Allowances,
    fleet: RolloutOptions,
    apply_options: ChangeOptions,
    watch_options: WatchOptions,
    plan_file: str | None = typer.Argument(
        None, metavar="PLANFILE", help="A plan saved with plan --out."
    ),
    format: FormatOption = "text",
) -> int:
    """Change the instance to what the files say, and read it back."""
    from proxyctl.apply.request import Approval
    from proxyctl.fleet.rollout import apply_to

    watch = watch_options.harm_watch()
    saved = None
    if plan_file:
        saved, selection, allowances = _saved(Path(plan_file), selection, allowances, fleet)
    options = allowances.options()
    sources = (*([plan_file] if plan_file else []), *selection.files.paths())
    request = replace(request_of(options, apply_options, format), sources=sources)
    targets = selection.targets(fleet)
    asks = not apply_options.auto_approve
    if fleet.all_instances:
        return _apply_to_all(targets, request, fleet, format, watch, asks=asks)
    if watch is not None:
        return _apply_watched(targets[0], request, fleet, format, watch, asks=asks, saved=saved)
    if saved is not None:
        saved.check_address(targets[0].login.address)
        request = replace(request, approval=Approval(saved))
    elif asks:
        plan = planned_fleet(targets, request.options, fleet).only().plan
        request = replace(request, approval=_approved(plan, format))
        if plan.is_in_sync:
            return report(plan, None, format)
    return report(*apply_to(targets[0], request), format)


def _approved(plan: Plan, format: str) -> Approval:
    review = ", or make a plan with --out and apply that file after a review"
    return approve(plan, format, verb="apply", instead=review)


def _apply_watched(
    target: Target,
    request: ApplyRequest,
    fleet: FleetOptions,
    format: str,
    watch: HarmWatch,
    *,
    asks: bool,
    saved: SavedPlan | None,
) -> int:
    """Apply to one instance, watch it, and roll back if the change does harm."""
    from proxyctl.apply.request import Approval
    from proxyctl.harm.instance import InstanceWatch, apply_watched, check_watchable
    from proxyctl.plan.plan import raise_refusals

    with watched_lines(watch) as show:
        instance = InstanceWatch(target, watch, show)
        instance.begin()
        # Planned also without a question: before a plan that changes nothing, no time is waited.
        plan = planned_fleet([target], request.options, fleet).only().plan
        check_watchable(plan)
        if saved is not None:
            saved.check_address(target.login.address)
            request = replace(request, approval=Approval(saved))
        elif asks:
            request = replace(request, approval=_approved(plan, format))
        request.approval.check(plan)
        raise_refusals(plan, of_saved=saved is not None)
        if plan.is_in_sync:
            return report(plan, None, format)
        instance.announce(say)
        codes: list[int] = []

        def report_early(plan: Plan, result: ApplyResult | None) -> None:
            if format == "text" or result is None:
                codes.append(report(plan, result, format))

        plan, result, judgement = apply_watched(instance, request, report_early)
    if result is None or judgement is None:
        return max(codes)
    return report_watched(plan, result, judgement, watch, format)


def reporter() -> Reporter:
    """Return the reporter that writes to stderr."""
    from proxyctl.apply.request import Reporter

    return Reporter(progress=say, warning=say)


def request_of(options: PlanOptions, change: ChangeOptions, format: str) -> ApplyRequest:
    """Return the request for an apply of any plan."""
    from proxyctl.apply.request import ApplyRequest

    return ApplyRequest(
        replace(options, saves=not change.no_save),
        reporter=replace(reporter(), before=_show) if format == "text" else reporter(),
        lock_timeout_s=change.lock_timeout,
        peer_timeout_s=change.peer_timeout,
    )


def _apply_to_all(
    targets: list[Target],
    request: ApplyRequest,
    rollout: RolloutOptions,
    format: str,
    watch: HarmWatch | None,
    *,
    asks: bool,
) -> int:
    """Plan all instances, ask once for each distinct plan, and roll out."""
    from proxyctl.fleet.members import as_applied
    from proxyctl.harm.batches import BatchWatch
    from proxyctl.harm.instance import check_watchable

    with watched_lines(watch) as show:
        batches = BatchWatch(watch, request, show) if watch else None
        if batches is not None:
            batches.begin(targets, workers=rollout.parallel)
        fleet = as_applied(planned_fleet(targets, request.options, rollout))
        for planned in fleet.planned if watch else ():
            check_watchable(planned.own_plan)
        rolling = replace(rollout_request(request, rollout), watch=batches)
        result = roll_out_approved(targets, fleet, rolling, format, verb="apply", asks=asks)
    judgements = batches.judgements if batches else {}
    if watch is not None and format == "text":
        _write_watched(judgements, watch)
    report_all(result, format, lambda rollout: _rollout_json(rollout, watch, judgements))
    return result.exit_code


def _write_watched(judgements: Mapping[str, HarmJudgement], watch: HarmWatch) -> None:
    """Write what was seen at each instance without harm; of harm its error speaks."""
    from proxyctl.render.harm import watched_text

    for name, judgement in judgements.items():
        if not judgement.is_harm:
            write(watched_text(name, judgement, watch.seconds, style()))


def _rollout_json(
    rollout: Rollout, watch: HarmWatch | None, judgements: Mapping[str, HarmJudgement]
) -> str:
    from proxyctl.render.apply import ROLLOUT
    from proxyctl.render.harm import watch_json

    if watch is None:
        return ROLLOUT.document(rollout)
    watched = [
        watch_json(judgement, watch.bounds, name=name) for name, judgement in judgements.items()
    ]
    return ROLLOUT.document(rollout, watch=watched)


def rollout_request(request: ApplyRequest, rollout: RolloutOptions) -> RolloutRequest:
    """Return how the options let a fleet change."""
    from proxyctl.fleet.rollout import RolloutRequest

    return RolloutRequest(
        request,
        rollout.max_unavailable,
        has_canary=rollout.strategy == "canary",
        workers=rollout.parallel,
        skips=rollout.skip_unreachable,
    )


def roll_out_approved(
    targets: Sequence[Target],
    fleet: Fleet,
    request: RolloutRequest,
    format: str,
    *,
    verb: str,
    asks: bool,
) -> Rollout:
    """Show the plans of all instances, ask once for each distinct plan, and roll out.

    Raises: as `_refuse_fleet` and `_ask`.
    """
    from proxyctl.fleet.rollout import roll_out
    from proxyctl.render.plans_of_fleet import instance_names

    _show_plans(fleet, format, is_all=True)
    _refuse_fleet(fleet, skips=request.skips)
    if fleet.alike and asks:
        _ask(verb, map(instance_names, fleet.alike))
    return roll_out(targets, fleet, request)


def _saved(
    path: Path, selection: SelectionOptions, allowances: Allowances, fleet: FleetOptions
) -> tuple[SavedPlan, SelectionOptions, Allowances]:
    """Return a saved plan, with the files and options that it was made with.

    Raises: UsageError for other options; ProxyctlError for a file that is no saved plan.
    """
    from proxyctl.plan.saved import SavedPlan

    if fleet.is_for_all():
        raise UsageError("a saved plan belongs to one instance: leave out --all")
    saved = SavedPlan.read(path)
    if extra := allowances.names():
        given, again = " and ".join(extra), shlex.join([*saved.options, *extra])
        raise UsageError(
            f"{given} cannot be used with a saved plan, which keeps its own options",
            fix=f"leave out {given}, or make a new plan: proxyctl plan {again} --out {path}",
        )
    missing = sorted(set(saved.variables) - selection.files.variables().keys())
    if missing:
        raise UsageError(
            f"the plan was made with --var {', '.join(missing)}",
            fix="give the same --var again: a saved plan holds no values of variables",
        )
    if not selection.files.file:
        saved.check_files()
    files = replace(selection.files, file=selection.files.file or list(saved.paths))
    return saved, replace(selection, files=files), Allowances.of_names(saved.options)


def _show(plan: Plan) -> None:
    """Write a plan just before it is applied."""
    from proxyctl.fleet.outcome import Planned
    from proxyctl.render.plan import plan_text

    write(plan_text(Planned.of(plan), style(), is_done=True, with_refusals=False))


def _show_plans(fleet: Fleet, format: str, *, is_all: bool) -> None:
    """Write the plans to approve; with JSON to stderr, since stdout gets the result."""
    from proxyctl.render.plan import plans_text

    show = write if format == "text" else write_to_stderr
    show(plans_text(fleet, style(), is_all=is_all, with_refusals=False))


def approve(plan: Plan, format: str, *, verb: str, instead: str = "") -> Approval:
    """Show the plan of one instance, ask, and return the approval.

    `instead`: another way than a terminal. Raises: RefusedError when the plan is refused or not
    approved; UsageError.
    """
    from proxyctl.apply.request import Approval
    from proxyctl.fleet.outcome import Fleet
    from proxyctl.plan.plan import raise_refusals

    _show_plans(Fleet.of(plan), format, is_all=False)
    raise_refusals(plan)
    if not plan.is_in_sync:
        _ask(verb, [plan.name], instead)
    return Approval(plan)


def _ask(verb: str, names: Iterable[str], instead: str = "") -> None:
    """Ask about the plan of each of the named instances. Raises: as `confirm`."""
    fix = f"run it on a terminal{instead}; --auto-approve applies without asking"
    questions = [f"Apply this to {name}?" for name in names]
    confirm(verb, *questions, fix=fix, refusal="not applied")


def _refuse_fleet(fleet: Fleet, *, skips: bool) -> None:
    """Refuse to change any instance if one plan is refused or one instance has no plan.

    `skips`: leave out instances that cannot be read. Raises: RefusedError; InstanceError if every
    instance without a plan could not be read, otherwise ProxyctlError.
    """
    from proxyctl.render.plans_of_fleet import instance_names

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


def report(plan: Plan, result: ApplyResult | None, format: str) -> int:
    """Write the result of an apply to one instance, and return its exit code."""
    from proxyctl.apply.apply import applied
    from proxyctl.render.apply import apply_json, apply_text

    with applied(result):
        emit(
            format,
            text=lambda: apply_text(plan, result, style()),
            json=lambda: apply_json(plan, result),
        )
    return _code(plan, result)


def _code(plan: Plan, result: ApplyResult | None) -> ExitCode:
    # The instance itself may be on its list of members.
    behind = {peer.name for peer in result.not_following} - {plan.address} if result else ()
    return ExitCode.INCOMPLETE if behind else ExitCode.DONE


def report_watched(
    plan: Plan, result: ApplyResult, judgement: HarmJudgement, watch: HarmWatch, format: str
) -> int:
    """Write the judgement after an apply whose text was written before; return the exit code."""
    from proxyctl.apply.apply import applied
    from proxyctl.render.apply import apply_json
    from proxyctl.render.harm import watch_json, watched_text

    with applied(result):
        emit(
            format,
            text=lambda: watched_text(plan.name, judgement, watch.seconds, style()),
            json=lambda: apply_json(plan, result, watch=watch_json(judgement, watch.bounds)),
        )
    return _code(plan, result)


def report_all(rollout: Rollout, format: str, document: Callable[[Rollout], str]) -> None:
    """Write the result of each instance; if writing fails, the error lists the results.

    `document`: returns the JSON.
    """
    from proxyctl.render.apply import rollout_text

    try:
        if format != "text":
            write(document(rollout))
        elif rollout.has_work:
            write(rollout_text(rollout, style()))
    except (Exception, KeyboardInterrupt) as error:
        if not rollout.has_changed:
            raise
        kind = InterruptedApplyError if isinstance(error, KeyboardInterrupt) else ApplyError
        layers = rollout_text(rollout).splitlines()
        raise kind(f"changed, but then: {error_texts(error)[0]}", layers=layers) from error


def unlock(selection: SelectionOptions) -> int:
    """Remove the lock of another apply, whoever holds it."""
    from proxyctl.instance.interrupts import uninterrupted
    from proxyctl.instance.lock import break_lock

    with selection.connect() as client, uninterrupted():
        holder = break_lock(client)
    say(f"removed the lock of {holder.text()}" if holder else "there is no lock")
    for name, was_saved in holder.modules.items() if holder else ():
        if was_saved:
            say(f"its MEMORY may be half written; the next apply sends: LOAD {name} FROM DISK;")
        else:
            say(f"{name}: MEMORY held edits that are not on DISK; plan lists them as pending edits")
    return ExitCode.DONE
