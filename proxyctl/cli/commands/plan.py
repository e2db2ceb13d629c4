"""Commands that compare files with an instance: plan and drift."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from proxyctl.cli.connect import SelectionOptions, planned_fleet
from proxyctl.cli.option_kinds import choice, flag, out_option
from proxyctl.cli.options import Allowances, FleetOptions, FormatOption, OnlyOption
from proxyctl.cli.output import check_writable, emit, progress, say, style, write, write_file
from proxyctl.errors import ExitCode, UsageError
from proxyctl.text import printable

if TYPE_CHECKING:
    from proxyctl.fleet.outcome import Fleet, Planned
    from proxyctl.fleet.targets import Target
    from proxyctl.plan.make import PlanOptions
    from proxyctl.render.style import Style
    from proxyctl.stats.replay.result import Replay


PlanFormat = Literal["text", "json", "markdown", "sql"]
DriftFormat = Literal["text", "json", "prometheus"]


def plan(
    selection: SelectionOptions,
    allowances: Allowances,
    fleet: FleetOptions,
    out: Annotated[
        str | None, out_option(help="Save the plan for `apply FILE`, replacing an older one.")
    ] = None,
    detailed_exitcode: bool = flag(
        "--detailed-exitcode", "Exit 2 if anything differs, 3 if an apply would be refused."
    ),
    with_replay: bool = flag(
        "--replay", "Also show how the digests that the instance has seen would be routed."
    ),
    verbose: bool = flag("--verbose", "Show long values, such as patterns, in full."),
    format: Annotated[PlanFormat, choice(PlanFormat)] = "text",
) -> int:
    """Show what apply would change. Sends nothing but SELECTs."""
    from proxyctl.fleet.members import as_applied
    from proxyctl.plan.saved import check_target

    if with_replay and format == "sql":
        raise UsageError("--replay cannot be used with --format sql")
    if fleet.is_for_all() and (with_replay or out or format == "sql"):
        raise UsageError(
            "--replay, --out and --format sql need a single instance",
            fix="choose it with --instance",
        )
    if out:
        check_writable(Path(out))
        check_target(Path(out))
    options = allowances.options()
    targets = selection.targets(fleet)
    report = None
    if with_replay:
        planned, report = _replayed(targets[0], options)
    else:
        planned = as_applied(planned_fleet(targets, options, fleet))
    text_style = style(is_verbose=verbose)
    write(_plan_output(planned, format, report, text_style, is_all=fleet.all_instances))
    if out:
        _save(Path(out), planned.only(), selection, allowances, text_style)
    return planned.exit_code(differences=detailed_exitcode, refusals=detailed_exitcode)


def _save(
    out: Path, planned: Planned, selection: SelectionOptions, allowances: Allowances, style: Style
) -> None:
    from proxyctl.plan.saved import save
    from proxyctl.render.plan import PLAN, plan_text

    text = save(
        planned.plan,
        PLAN.encode(planned.plan),
        plan_text(planned, replace(style, is_coloured=False, width=None)),
        paths=selection.files.paths(),
        variables=sorted(selection.files.variables()),
        options=allowances.names(),
    )
    write_file(out, text, mode=0o600)
    say(f"saved to {out}; apply it with: proxyctl apply {out}")


def show(
    plan_file: str = typer.Argument(..., metavar="PLANFILE", help="A plan saved with plan --out."),
    format: FormatOption = "text",
) -> int:
    """Show a saved plan. Needs neither the files nor the instance."""
    from proxyctl.plan.saved import SavedPlan

    saved = SavedPlan.read(Path(plan_file))
    emit(
        format,
        text=lambda: style().text("\n".join(map(printable, saved.text.splitlines()))),
        json=lambda: json.dumps(saved.shown, indent=2) + "\n",
    )
    return ExitCode.DONE


def drift(
    selection: SelectionOptions,
    fleet: FleetOptions,
    only: OnlyOption = None,
    quiet: bool = flag("--quiet", "Print nothing if nothing differs."),
    format: Annotated[DriftFormat, choice(DriftFormat)] = "text",
) -> int:
    """Report what differs from the files, and in which layer (exit 2)."""
    from proxyctl.plan.make import PlanOptions
    from proxyctl.render.drift import drifts_json, drifts_text
    from proxyctl.render.prometheus import drift_prometheus

    if quiet and format == "prometheus":
        raise UsageError(
            "--quiet cannot be used with --format prometheus: a missing gauge says nothing"
        )
    options = PlanOptions(only=tuple(only or ()))
    planned = planned_fleet(selection.targets(fleet), options, fleet)
    code = planned.exit_code(differences=True)
    if not quiet or code != ExitCode.DONE:
        is_all = fleet.all_instances
        emit(
            format,
            text=lambda: drifts_text(planned, style(), is_all=is_all),
            json=lambda: drifts_json(planned, is_all=is_all),
            prometheus=lambda: drift_prometheus(planned, is_all=is_all),
        )
    return code


def _replayed(target: Target, options: PlanOptions) -> tuple[Fleet, Replay]:
    """Return the plan of an instance, and a replay of the digests that it has seen."""
    from proxyctl.fleet.outcome import Fleet
    from proxyctl.plan.files import plan_and_before_after
    from proxyctl.stats.read import read_digests
    from proxyctl.stats.replay.result import replay

    with target.connect() as client:
        plan, change = plan_and_before_after(client, target.files, options)
        table = read_digests(client)
    with progress("replaying digests", len(table.rows)) as advance:
        return Fleet.of(plan), replay(table, change, limit=_LISTED, progress=advance)


_LISTED = 5
"""How many digests of each kind a plan lists."""


def _plan_output(
    fleet: Fleet, format: PlanFormat, report: Replay | None, style: Style, *, is_all: bool
) -> str:
    """Return the plans, and for a single instance the report of its replayed digests."""
    match format:  # each imports what it needs: a replay takes a while to import
        case "text":
            from proxyctl.render.plan import plans_text

            below = f"\n{_replay_text(report, style)}" if report else ""
            return plans_text(fleet, style, is_all=is_all) + below
        case "json":
            from proxyctl.render.plan import PLAN, plans_json

            replay = {"replay": _replay_json(report)} if report else {}
            return plans_json(
                fleet, is_all=is_all, instance=lambda plan: PLAN.encode(plan, **replay)
            )
        case "markdown":
            from proxyctl.render.comment import LONGEST, plans_markdown, replay_markdown

            below = f"\n{replay_markdown(report)}" if report else ""
            limit = LONGEST - len(below)
            return plans_markdown(fleet, is_all=is_all, limit=limit) + below
        case "sql":
            from proxyctl.render.script import plan_sql

            return plan_sql(fleet.only().plan)


def _replay_text(report: Replay, style: Style) -> str:
    from proxyctl.render.replay import TITLE, replay_text

    return replay_text(report, style, title=TITLE)


def _replay_json(report: Replay) -> dict[str, object]:
    from proxyctl.render.replay import REPLAYED

    return REPLAYED.encode(report)
