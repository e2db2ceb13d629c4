"""Snapshots: taking one, listing them, and going back to one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.allowances import Allowances
from proxyctl.cli.approval import approval, show
from proxyctl.cli.options import (
    ConnectionOptions,
    FileOptions,
    PeerOptions,
    TextFormat,
    command,
)
from proxyctl.cli.output import say, style, write, write_beside
from proxyctl.errors import ExitCode

if TYPE_CHECKING:
    from proxyctl.instance.client import AdminClient
    from proxyctl.plan.current import Current
    from proxyctl.plan.make import PlanOptions
    from proxyctl.plan.plan import Plan


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    command(app, "rollback")(rollback)
    command(app, "history")(history)
    command(app, "snapshot")(snapshot)


def rollback(
    files: FileOptions,
    connection: ConnectionOptions,
    allowances: Allowances,
    peers: PeerOptions,
    which: Annotated[
        str | None,
        typer.Argument(
            metavar="SNAPSHOT",
            help="A number or a name of `history`, or a file. Default: the newest.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan, and change nothing.")
    ] = False,
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
    """Restore the configuration from a snapshot."""
    from dataclasses import replace

    from proxyctl.apply.apply import ApplyRequest, applied, apply_planned
    from proxyctl.cli.connection import connected_beside
    from proxyctl.render.apply_text import apply_json, apply_text
    from proxyctl.render.history_text import taken_when
    from proxyctl.snapshots import folder
    from proxyctl.snapshots.rollback import check_fit, rollback_plan
    from proxyctl.snapshots.snapshot import ROLLBACK

    is_text = format is TextFormat.TEXT
    options = replace(allowances.options(), saves=not no_save)
    with connected_beside(files, connection) as (client, _):
        back_to = folder.read(folder.find(client.address, which))
        check_fit(client, back_to)
        say(f"back to {back_to.name}, {taken_when(back_to.header)}")

        def planner(
            at: AdminClient, options: PlanOptions, taken_over: Mapping[str, bool]
        ) -> tuple[Plan, Current]:
            return rollback_plan(at, back_to, options, taken_over)

        if dry_run:
            write(_plan_output(rollback_plan(client, back_to, options)[0], is_text=is_text))
            return ExitCode.DONE
        tell = write if is_text else write_beside
        request = ApplyRequest(
            options,
            approval(
                auto_approve,
                lambda: rollback_plan(client, back_to, options)[0],
                tell,
                "rollback",
            ),
            lock_timeout_s=lock_timeout,
            before=show if is_text and auto_approve else lambda _plan: None,
            progress=say,
            purpose=ROLLBACK,
            sources=(back_to.name,),
            peer_timeout_s=peers.peer_timeout,
        )
        found, result = apply_planned(client, planner, request)
    with applied(result):
        write(apply_text(found, result) if is_text else apply_json(found, result))
    follows = result is None or not result.not_following
    return ExitCode.DONE if follows else ExitCode.INCOMPLETE


def _plan_output(found: Plan, *, is_text: bool) -> str:
    from proxyctl.render.plan_machine import plan_json
    from proxyctl.render.plan_text import plan_text

    return plan_text(found, style()) if is_text else plan_json([found])


def history(
    files: FileOptions,
    connection: ConnectionOptions,
    format: Annotated[TextFormat, typer.Option("--format", help="How to write.")] = TextFormat.TEXT,
) -> int:
    """List the snapshots of an instance, newest first. Needs no ProxySQL."""
    from proxyctl.cli.connection import address_meant
    from proxyctl.render.history_text import history_json, history_text
    from proxyctl.snapshots import folder

    address = address_meant(files, connection)
    found = folder.history(address)
    if format is TextFormat.JSON:
        write(history_json(address, found))
    elif found:
        write(history_text(found, style()))
    else:
        say(f"there is no snapshot of {address} in {folder.folder_of(address)}")
    return ExitCode.DONE


def snapshot(
    files: FileOptions,
    connection: ConnectionOptions,
    format: Annotated[TextFormat, typer.Option("--format", help="How to write.")] = TextFormat.TEXT,
) -> int:
    """Keep what the instance holds now, in all three layers."""
    from proxyctl.cli.connection import connected
    from proxyctl.render.history_text import taken_json
    from proxyctl.snapshots.taking import take_by_hand

    with connected(files, connection) as client:
        taken = take_by_hand(client)
        address = client.address
    if format is TextFormat.JSON:
        write(taken_json(address, taken.path, taken.tables, taken.rows))
    else:
        write(f"{taken.path}\n")
    return ExitCode.DONE
