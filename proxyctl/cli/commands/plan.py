"""Commands that compare files with an instance: plan and drift."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.connect import planned_fleet, targets_of
from proxyctl.cli.options import (
    FORMAT,
    Allowances,
    ConnectionOptions,
    FileOptions,
    FleetOptions,
    TextFormat,
    tables,
)
from proxyctl.cli.output import progress, say, style, write, write_file
from proxyctl.errors import ExitCode, UsageError
from proxyctl.text import printable

if TYPE_CHECKING:
    from proxyctl.fleet.outcome import Fleet
    from proxyctl.fleet.targets import Target
    from proxyctl.plan.make import PlanOptions
    from proxyctl.stats.replay.result import Replay


class PlanFormat(StrEnum):
    """How a plan is written."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    SQL = "sql"


class DriftFormat(StrEnum):
    """How drift is written."""

    TEXT = "text"
    JSON = "json"
    PROMETHEUS = "prometheus"


def plan(
    files: FileOptions,
    connection: ConnectionOptions,
    allowances: Allowances,
    fleet: FleetOptions,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE", help="Save the plan for `apply FILE`."),
    ] = None,
    detailed_exitcode: Annotated[
        bool,
        typer.Option(
            "--detailed-exitcode",
            help="Exit 2 if anything differs, 3 if an apply would be refused.",
        ),
    ] = False,
    with_replay: Annotated[
        bool,
        typer.Option(
            "--replay", help="Add what becomes of the digests that the instance has seen."
        ),
    ] = False,
    format: Annotated[PlanFormat, FORMAT] = PlanFormat.TEXT,
) -> int:
    """Show what apply would change. Sends nothing but SELECTs."""
    from proxyctl.fleet.cluster import as_applied
    from proxyctl.plan.saved import check_target, save
    from proxyctl.render.plan_machine import plan_object
    from proxyctl.render.plan_text import plan_text

    if with_replay and format is PlanFormat.SQL:
        raise UsageError("--replay has no place in a plan as SQL")
    if fleet.is_meant():
        _refuse_for_all(format, with_replay=with_replay, out=out)
    if out:
        check_target(Path(out))
    targets, options = targets_of(files, connection, fleet), allowances.options()
    report = None
    if with_replay:
        found, report = _replayed(targets[0], options)
    else:
        found = as_applied(planned_fleet(targets, options, fleet))
    write(_plan_output(found, format, report, is_fleet=fleet.all_instances))
    if out:
        write_file(
            Path(out),
            save(
                found.only_plan(),
                plan_object(found.only_plan()),
                plan_text(found.only_plan()),
                paths=files.paths(),
                variables=files.variable_names(),
                options=allowances.names(),
            ),
            mode=0o600,
        )
        say(f"saved to {out}; apply it with: proxyctl apply {out}")
    return found.exit_code(differences=detailed_exitcode, refusals=detailed_exitcode)


def show(
    plan_file: Annotated[
        str, typer.Argument(metavar="PLANFILE", help="A plan saved with plan --out.")
    ],
    format: Annotated[TextFormat, FORMAT] = TextFormat.TEXT,
) -> int:
    """Show a saved plan. Needs neither the files nor the instance."""
    from proxyctl.plan.saved import SavedPlan

    saved = SavedPlan.read(Path(plan_file))
    if format is TextFormat.JSON:
        write(json.dumps(saved.shown, indent=2) + "\n")
    else:
        write("".join(f"{printable(line)}\n" for line in saved.text.splitlines()))
    return ExitCode.DONE


def _refuse_for_all(format: PlanFormat, *, with_replay: bool, out: str | None) -> None:
    if with_replay or out:
        raise UsageError("--replay and --out are about one instance: --instance NAME")
    if format is PlanFormat.SQL:
        raise UsageError("--format sql is about one instance: --instance NAME")


def drift(
    files: FileOptions,
    connection: ConnectionOptions,
    fleet: FleetOptions,
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="As for plan.", autocompletion=tables)
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Write nothing when nothing differs.")
    ] = False,
    format: Annotated[DriftFormat, FORMAT] = DriftFormat.TEXT,
) -> int:
    """Say what differs from the files, and in which layer (exit 2)."""
    from proxyctl.plan.make import PlanOptions

    if quiet and format is DriftFormat.PROMETHEUS:
        raise UsageError("--quiet has no place in metrics: a gauge that is not there says nothing")
    targets = targets_of(files, connection, fleet)
    found = planned_fleet(targets, PlanOptions(only=tuple(only or ())), fleet)
    code = found.exit_code(differences=True)
    if not quiet or code != ExitCode.DONE:
        write(_drift_output(found, format, is_fleet=fleet.all_instances))
    return code


def _drift_output(found: Fleet, format: DriftFormat, *, is_fleet: bool) -> str:
    from proxyctl.render.drift_machine import drift_json, fleet_drift_json
    from proxyctl.render.drift_text import drift_text
    from proxyctl.render.fleet_text import fleet_drift_text
    from proxyctl.render.prometheus import drift_prometheus

    match format:
        case DriftFormat.TEXT if is_fleet:
            return fleet_drift_text(found, style())
        case DriftFormat.TEXT:
            return drift_text(found.only_plan(), style())
        case DriftFormat.JSON if is_fleet:
            return fleet_drift_json(found)
        case DriftFormat.JSON:
            return drift_json(found.only_plan())
        case DriftFormat.PROMETHEUS:
            plans = [one.own_plan for one in found.planned]
            return drift_prometheus(plans, found.failed if is_fleet else None)


def _replayed(target: Target, options: PlanOptions) -> tuple[Fleet, Replay]:
    """Return the plan of an instance, and a replay of the digests that it has seen."""
    from proxyctl.fleet.outcome import Fleet, Planned
    from proxyctl.plan.files import plan_with_sides
    from proxyctl.stats.read import read_digests
    from proxyctl.stats.replay.result import replay

    with target.connect() as client:
        plan, sides = plan_with_sides(client, target.files, options)
        table = read_digests(client)
    found = Fleet([Planned(plan.name, plan.address, plan)])
    with progress("replaying digests", len(table.rows)) as tell:
        return found, replay(table, sides, limit=_LISTED, progress=tell)


_LISTED = 5
"""Digests of each kind listed after a plan."""


def _plan_output(fleet: Fleet, format: PlanFormat, report: Replay | None, *, is_fleet: bool) -> str:
    from proxyctl.render.fleet_text import fleet_text
    from proxyctl.render.plan_machine import fleet_json, plan_json
    from proxyctl.render.plan_markdown import LONGEST, fleet_markdown, plan_markdown
    from proxyctl.render.plan_sql import plan_sql
    from proxyctl.render.plan_text import plan_text

    if is_fleet:
        match format:
            case PlanFormat.JSON:
                return fleet_json(fleet)
            case PlanFormat.MARKDOWN:
                return fleet_markdown(fleet)
            case _:
                return fleet_text(fleet, style())
    found = fleet.only_plan()
    match format:
        case PlanFormat.TEXT:
            return plan_text(found, style()) + _appended(report)
        case PlanFormat.JSON:
            if report is None:
                return plan_json([found])
            from proxyctl.render.replay_machine import plan_json_with

            return plan_json_with(found, report)
        case PlanFormat.MARKDOWN:
            if report is None:
                return plan_markdown([found])
            from proxyctl.render.replay_markdown import replay_markdown

            text = replay_markdown(report)
            return f"{plan_markdown([found], limit=LONGEST - len(text))}\n{text}"
        case PlanFormat.SQL:
            return plan_sql([found])


def _appended(report: Replay | None) -> str:
    if report is None:
        return ""
    from proxyctl.render.replay_text import appended_text

    return "\n" + appended_text(report, style())
