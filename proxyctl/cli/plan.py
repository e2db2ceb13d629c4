"""Commands that compare files with an instance: plan and drift."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.allowances import Allowances, tables
from proxyctl.cli.fleet import FleetOptions
from proxyctl.cli.options import (
    ConnectionOptions,
    FileOptions,
    PlanFormat,
    command,
)
from proxyctl.cli.output import say, style, write, write_file
from proxyctl.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from proxyctl.admin.client import AdminClient
    from proxyctl.config.load import ParsedFiles
    from proxyctl.fleet.outcome import Fleet
    from proxyctl.plan import Plan
    from proxyctl.replay.report import Report
    from proxyctl.workflow import PlanOptions


class DriftFormat(StrEnum):
    """How drift is written."""

    TEXT = "text"
    JSON = "json"
    PROMETHEUS = "prometheus"


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    command(app, "plan")(plan)
    command(app, "drift")(drift)


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
        bool, typer.Option("--detailed-exitcode", help="Exit 2 when there are differences.")
    ] = False,
    with_replay: Annotated[
        bool,
        typer.Option(
            "--replay", help="Add what becomes of the digests that the instance has seen."
        ),
    ] = False,
    format: Annotated[PlanFormat, typer.Option("--format", help="How to write.")] = PlanFormat.TEXT,
) -> int:
    """Show what apply would change. Sends nothing but SELECTs."""
    from proxyctl.cli.connection import opened
    from proxyctl.saved_plan import check_target, save
    from proxyctl.workflow import plan_files

    if with_replay and format is PlanFormat.SQL:
        raise UsageError("--replay has no place in a plan as SQL")

    if fleet.is_meant():
        if with_replay or out:
            raise UsageError("--replay and --out are about one instance: --instance NAME")
        if format is PlanFormat.SQL:
            raise UsageError("--format sql is about one instance: --instance NAME")
        return _plan_all(files, connection, allowances, fleet, format, detailed_exitcode)
    if out:
        check_target(Path(out))
    with opened(files, connection) as (client, parsed):
        options = allowances.options()
        if with_replay:
            found, report = _replayed(client, parsed, options)
        else:
            found, report = plan_files(client, parsed, options), None
    write(_plan_output(found, format, report))
    if out:
        write_file(
            Path(out),
            save(
                found,
                paths=files.paths(),
                variables=files.variable_names(),
                options=allowances.names(),
            ),
            mode=0o600,
        )
        say(f"saved to {out}; apply it with: proxyctl apply {out}")
    if detailed_exitcode and not found.is_in_sync:
        return ExitCode.DIFFERENCES
    return ExitCode.DONE


def _plan_all(
    files: FileOptions,
    connection: ConnectionOptions,
    allowances: Allowances,
    fleet: FleetOptions,
    format: PlanFormat,
    detailed_exitcode: bool,
) -> int:
    from proxyctl.cli.fleet import planned_fleet, targets_of

    targets = targets_of(files, connection, fleet)
    found = planned_fleet(targets, allowances.options(), fleet)
    write(_fleet_output(found, format))
    differs = detailed_exitcode and bool(found.alike)
    return found.exit_code(ExitCode.DIFFERENCES if differs else ExitCode.DONE)


def _fleet_output(found: Fleet, format: PlanFormat) -> str:
    from proxyctl.render.fleet_text import fleet_text
    from proxyctl.render.plan_machine import fleet_json
    from proxyctl.render.plan_markdown import fleet_markdown

    if format is PlanFormat.JSON:
        return fleet_json(found)
    if format is PlanFormat.MARKDOWN:
        return fleet_markdown(found)
    return fleet_text(found, style())


def drift(
    files: FileOptions,
    connection: ConnectionOptions,
    fleet: FleetOptions,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME", help="As for plan.", autocompletion=tables),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Write nothing when nothing differs.")
    ] = False,
    format: Annotated[
        DriftFormat, typer.Option("--format", help="How to write.")
    ] = DriftFormat.TEXT,
) -> int:
    """Say what differs from the files, and in which layer (exit 2)."""
    from proxyctl.cli.connection import opened
    from proxyctl.workflow import PlanOptions, plan_files

    if quiet and format is DriftFormat.PROMETHEUS:
        raise UsageError("--quiet has no place in metrics: a gauge that is not there says nothing")
    options = PlanOptions(only=tuple(only or ()))
    if fleet.is_meant():
        return _drift_all(files, connection, fleet, options, format, quiet=quiet)
    with opened(files, connection) as (client, parsed):
        found = plan_files(client, parsed, options)
    if found.is_in_sync and quiet:
        return ExitCode.DONE
    write(_drift_output(found, format))
    return ExitCode.DONE if found.is_in_sync else ExitCode.DIFFERENCES


def _drift_all(
    files: FileOptions,
    connection: ConnectionOptions,
    fleet: FleetOptions,
    options: PlanOptions,
    format: DriftFormat,
    *,
    quiet: bool,
) -> int:
    from proxyctl.cli.fleet import drift_of_fleet, targets_of
    from proxyctl.render.drift_machine import drifting_fleet_json
    from proxyctl.render.fleet_text import drifting_fleet_text
    from proxyctl.render.prometheus import drift_prometheus

    found = drift_of_fleet(targets_of(files, connection, fleet), options, fleet)
    code = found.exit_code()
    if quiet and code == ExitCode.DONE:
        return code
    match format:
        case DriftFormat.TEXT:
            write(drifting_fleet_text(found, style()))
        case DriftFormat.JSON:
            write(drifting_fleet_json(found))
        case DriftFormat.PROMETHEUS:
            write(drift_prometheus(found.found, found.failed))
    return code


def _drift_output(found: Plan, format: DriftFormat) -> str:
    from proxyctl.render.drift_machine import drift_json
    from proxyctl.render.drift_text import drift_text
    from proxyctl.render.prometheus import drift_prometheus

    match format:
        case DriftFormat.TEXT:
            return drift_text(found, style())
        case DriftFormat.JSON:
            return drift_json(found)
        case DriftFormat.PROMETHEUS:
            return drift_prometheus([found])


def _replayed(
    client: AdminClient, parsed: ParsedFiles, options: PlanOptions
) -> tuple[Plan, Report]:
    """Return the plan, and what becomes of the digests."""
    from proxyctl.admin.digests import read_digests
    from proxyctl.cli.progress import progress
    from proxyctl.replay.report import replay
    from proxyctl.workflow import plan_with_sides

    found, sides = plan_with_sides(client, parsed, options)
    table = read_digests(client)
    with progress("replaying digests", len(table.rows)) as tell:
        return found, replay(table, sides, limit=_LISTED, progress=tell)


_LISTED = 5
"""Digests of each kind that stand behind a plan."""


def _plan_output(found: Plan, format: PlanFormat, report: Report | None) -> str:
    from proxyctl.render.plan_machine import plan_json
    from proxyctl.render.plan_markdown import plan_markdown
    from proxyctl.render.plan_sql import plan_sql
    from proxyctl.render.plan_text import plan_text

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
            from proxyctl.render.plan_markdown import LONGEST
            from proxyctl.render.replay_markdown import replay_markdown

            text = replay_markdown(report)
            return f"{plan_markdown([found], limit=LONGEST - len(text))}\n{text}"
        case PlanFormat.SQL:
            return plan_sql([found])


def _appended(report: Report | None) -> str:
    if report is None:
        return ""
    from proxyctl.render.replay_text import appended_text

    return "\n" + appended_text(report, style())
