"""Commands that compare files with an instance: plan and drift."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.allowances import Allowances, tables
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
    from proxyctl.drift import Drift
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


def drift(
    files: FileOptions,
    connection: ConnectionOptions,
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
    """Say what differs from the files, in which layer, and who could have moved it (exit 2)."""
    from proxyctl.cli.connection import opened
    from proxyctl.workflow import PlanOptions, drift_of

    if quiet and format is DriftFormat.PROMETHEUS:
        raise UsageError("--quiet has no place in metrics: a gauge that is not there says nothing")
    with opened(files, connection) as (client, parsed):
        found = drift_of(client, parsed, PlanOptions(only=tuple(only or ())))
    if found.plan.is_in_sync and quiet:
        return ExitCode.DONE
    write(_drift_output(found, format))
    return ExitCode.DONE if found.plan.is_in_sync else ExitCode.DIFFERENCES


def _drift_output(found: Drift, format: DriftFormat) -> str:
    from proxyctl.render.drift_machine import drift_json
    from proxyctl.render.drift_text import drift_text
    from proxyctl.render.prometheus import drift_prometheus

    match format:
        case DriftFormat.TEXT:
            return drift_text(found, style())
        case DriftFormat.JSON:
            return drift_json(found)
        case DriftFormat.PROMETHEUS:
            return drift_prometheus(found)


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
