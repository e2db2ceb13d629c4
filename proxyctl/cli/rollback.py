"""Snapshots: taking one, listing them, and going back to one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.allowances import Allowances
from proxyctl.cli.apply import approval, exit_code, show
from proxyctl.cli.options import (
    ConnectionOptions,
    FileOptions,
    PeerOptions,
    SnapshotOptions,
    TextFormat,
    command,
)
from proxyctl.cli.output import say, style, write, write_beside
from proxyctl.errors import ExitCode, RefusedError

if TYPE_CHECKING:
    from proxyctl.admin.client import AdminClient
    from proxyctl.admin.read import TableReader
    from proxyctl.plan import Plan
    from proxyctl.workflow import PlanOptions


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    command(app, "rollback")(rollback)
    command(app, "history")(history)
    command(app, "snapshot")(snapshot)


def rollback(
    files: FileOptions,
    connection: ConnectionOptions,
    allowances: Allowances,
    snapshots: SnapshotOptions,
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
    other_instance: Annotated[
        bool, typer.Option("--other-instance", help="Take a snapshot of another instance.")
    ] = False,
    other_version: Annotated[
        bool, typer.Option("--other-version", help="Take a snapshot of another ProxySQL version.")
    ] = False,
    lock_timeout: Annotated[
        float,
        typer.Option(min=0, metavar="SECONDS", help="Wait this long for another apply."),
    ] = 30.0,
    format: Annotated[TextFormat, typer.Option("--format", help="How to write.")] = TextFormat.TEXT,
) -> int:
    """Make the instance hold what served traffic when a snapshot was taken."""
    from dataclasses import replace

    from proxyctl.applying import ApplyRequest, applied, apply_planned
    from proxyctl.cli.connection import connected_beside, instances_beside, peer_rules
    from proxyctl.render.apply_text import apply_json, apply_text
    from proxyctl.render.history_text import taken_when
    from proxyctl.rolling_back import check_fit, rollback_plan, target
    from proxyctl.snapshot import ROLLBACK

    is_text = format is TextFormat.TEXT
    options = replace(allowances.options(), saves=not no_save)
    with connected_beside(files, connection) as (client, parsed):
        back_to = target(client.address, which)
        check_fit(
            client,
            back_to.snapshot,
            other_instance=other_instance,
            other_version=other_version,
        )
        say(f"back to {back_to.snapshot.name}, {taken_when(back_to.snapshot)}")

        def planner(at: AdminClient, options: PlanOptions, reader: TableReader | None) -> Plan:
            return rollback_plan(at, back_to, options, reader=reader)

        if dry_run:
            write(_plan_output(planner(client, options, None), is_text=is_text))
            return ExitCode.DONE
        tell = write if is_text else write_beside
        request = ApplyRequest(
            options,
            approval(auto_approve, lambda: planner(client, options, None), tell, "rollback"),
            lock_timeout_s=lock_timeout,
            before=show if is_text and auto_approve else lambda _plan: None,
            progress=say,
            purpose=ROLLBACK,
            sources=(back_to.snapshot.name,),
            snapshots=snapshots.rules(),
            peers=peer_rules(connection, instances_beside(parsed), peers.peer_timeout),
        )
        found, result = apply_planned(client, planner, request)
    with applied(result):
        write(apply_text(found, result) if is_text else apply_json(found, result))
    return exit_code(result)


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
    from proxyctl.admin.snapshot_folder import folder_of, kept
    from proxyctl.cli.connection import address_meant
    from proxyctl.render.history_text import history_json, history_text

    address = address_meant(files, connection)
    found = kept(address)
    if format is TextFormat.JSON:
        write(history_json(address, found))
    elif found:
        write(history_text(found, style()))
    else:
        say(f"there is no snapshot of {address} in {folder_of(address)}")
    return ExitCode.DONE


def snapshot(
    files: FileOptions,
    connection: ConnectionOptions,
    snapshots: SnapshotOptions,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Write to this file, which is not pruned."
        ),
    ] = None,
    format: Annotated[TextFormat, typer.Option("--format", help="How to write.")] = TextFormat.TEXT,
) -> int:
    """Keep what the instance holds now, in all three layers."""
    from proxyctl.cli.connection import connected_beside
    from proxyctl.render.history_text import taken_json
    from proxyctl.rolling_back import take_snapshot

    target = Path(out) if out else None
    if target is not None:
        _check_target(target)
    with connected_beside(files, connection) as (client, parsed):
        taken = take_snapshot(client, snapshots.rules(), target, parsed)
        address = client.address
    if taken.holder:
        say(f"warning: taken in the middle of a change: {taken.holder}")
    if not taken.has_all_references:
        say(
            "warning: the files have mistakes: the snapshot does not know what they take from"
            " {env:} and {file:}, and a rollback to it may show that"
        )
    if format is TextFormat.JSON:
        write(taken_json(address, taken.path, taken.tables, taken.rows))
    else:
        write(f"{taken.path}\n")
    return ExitCode.DONE


def _check_target(path: Path) -> None:
    """Refuse to replace a file that is no snapshot.

    Raises: RefusedError.
    """
    from proxyctl.admin.snapshot_file import is_snapshot

    if not path.exists():
        return
    begin = b""
    if path.is_file() and os.access(path, os.R_OK):
        with path.open("rb") as found:
            begin = found.read(1000)
    if (begin and not is_snapshot(begin)) or not path.is_file():
        raise RefusedError(
            f"{path}: the file is there, and is no snapshot", hint="choose another name for it"
        )
