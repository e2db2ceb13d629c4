"""Commands that compare files with an instance: plan and drift."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.allowances import Allowances, tables
from proxyctl.cli.options import (
    ConnectionOptions,
    FileOptions,
    PlanFormat,
    TextFormat,
    command,
)
from proxyctl.cli.output import say, style, write, write_file
from proxyctl.errors import ExitCode

if TYPE_CHECKING:
    from proxyctl.plan import Plan


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
    format: Annotated[PlanFormat, typer.Option("--format", help="How to write.")] = PlanFormat.TEXT,
) -> int:
    """Show what apply would change. Sends nothing but SELECTs."""
    from proxyctl.cli.connection import opened
    from proxyctl.saved_plan import check_target, save
    from proxyctl.workflow import plan_files

    if out:
        check_target(Path(out))
    with opened(files, connection) as (client, parsed):
        found = plan_files(client, parsed, allowances.options())
    write(_plan_output(found, format))
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
    format: Annotated[TextFormat, typer.Option("--format", help="How to write.")] = TextFormat.TEXT,
) -> int:
    """Say what differs from the files, in which layer, and who could have moved it (exit 2)."""
    from proxyctl.cli.connection import opened
    from proxyctl.render.drift_text import drift_text
    from proxyctl.render.plan_machine import plan_json
    from proxyctl.workflow import PlanOptions, plan_files

    with opened(files, connection) as (client, parsed):
        found = plan_files(client, parsed, PlanOptions(only=tuple(only or ())))
    write(plan_json([found]) if format is TextFormat.JSON else drift_text(found, style()))
    return ExitCode.DONE if found.is_in_sync else ExitCode.DIFFERENCES


def _plan_output(found: Plan, format: PlanFormat) -> str:
    from proxyctl.render.plan_machine import plan_json
    from proxyctl.render.plan_markdown import plan_markdown
    from proxyctl.render.plan_sql import plan_sql
    from proxyctl.render.plan_text import plan_text

    match format:
        case PlanFormat.TEXT:
            return plan_text(found, style())
        case PlanFormat.JSON:
            return plan_json([found])
        case PlanFormat.MARKDOWN:
            return plan_markdown([found])
        case PlanFormat.SQL:
            return plan_sql([found])
