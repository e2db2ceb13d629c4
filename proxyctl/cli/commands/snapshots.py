"""The commands snapshot, history and rollback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

import typer

from proxyctl.cli.commands.apply import approve, show
from proxyctl.cli.completion import completion, typed
from proxyctl.cli.connect import Selection
from proxyctl.cli.file_options import FileOptions
from proxyctl.cli.option import flag
from proxyctl.cli.options import Allowances, ChangeOptions, ConnectionOptions, FormatOption
from proxyctl.cli.output import say, style, write, write_to_stderr
from proxyctl.errors import ExitCode


@completion
def snapshot_names(context: typer.Context) -> Iterator[str]:
    """Yield the snapshots of the instance, newest first."""
    from proxyctl.snapshots.folder import history

    place = Selection(typed(FileOptions, context), typed(ConnectionOptions, context))
    yield from (snapshot.name for snapshot in history(place.address()))


def rollback(
    place: Selection,
    allowances: Allowances,
    apply_options: ChangeOptions,
    which: str | None = typer.Argument(
        None,
        metavar="SNAPSHOT",
        help="A number or name from `history`, or a file. Default: the newest.",
        autocompletion=snapshot_names,
    ),
    dry_run: bool = flag("--dry-run", "Show the plan and change nothing."),
    format: FormatOption = "text",
) -> int:
    """Restore the configuration from a snapshot."""
    from proxyctl.apply.apply import ApplyRequest, applied, apply_planned
    from proxyctl.fleet.outcome import Fleet
    from proxyctl.render.apply import apply_json, apply_text
    from proxyctl.render.history import snapshot_time
    from proxyctl.render.plan import plans_json, plans_text
    from proxyctl.snapshots import folder
    from proxyctl.snapshots.rollback import check_fit, rollback_plan
    from proxyctl.snapshots.snapshot import ROLLBACK

    is_text = format == "text"
    options = replace(allowances.options(), saves=not apply_options.no_save)
    with place.connect() as client:
        snapshot = folder.read(folder.find(client.address, which))
        check_fit(client, snapshot)
        where = f"back to {snapshot.name}, {snapshot_time(snapshot.header)}"
        say(*style(sys.stderr).lines(where, then="  "))
        reviewed = None
        if dry_run or not apply_options.auto_approve:
            reviewed, _ = rollback_plan(client, snapshot, options)
            fleet = Fleet.of(reviewed)
            if dry_run:
                if is_text:
                    write(plans_text(fleet, style(), is_all=False))
                else:
                    write(plans_json(fleet, is_all=False))
                return ExitCode.DONE
            approve(fleet, write if is_text else write_to_stderr, verb="rollback")
        request = ApplyRequest(
            options,
            lambda plan: reviewed is None or plan.fingerprint == reviewed.fingerprint,
            lock_timeout_s=apply_options.lock_timeout,
            before=show if is_text and apply_options.auto_approve else lambda _plan: None,
            progress=say,
            purpose=ROLLBACK,
            sources=(snapshot.name,),
            peer_timeout_s=apply_options.peer_timeout,
        )
        plan, result = apply_planned(
            client, lambda admin, own, staged: rollback_plan(admin, snapshot, own, staged), request
        )
    with applied(result):
        write(apply_text(plan, result, style()) if is_text else apply_json(plan, result))
    follows = result is None or not result.not_following
    return ExitCode.DONE if follows else ExitCode.INCOMPLETE


def history(place: Selection, format: FormatOption = "text") -> int:
    """List the snapshots of an instance, newest first. Needs no ProxySQL."""
    from proxyctl.render.history import HISTORY, history_text
    from proxyctl.snapshots import folder

    address = place.address()
    kept = folder.history(address)
    if format == "json":
        write(HISTORY.document(kept, address=address))
    elif kept:
        write(history_text(kept, style()))
    else:
        say(f"there is no snapshot of {address} in {folder.folder_of(address)}")
    return ExitCode.DONE


def snapshot(place: Selection, format: FormatOption = "text") -> int:
    """Save what the instance holds now, in all three layers."""
    from proxyctl.render.history import TAKEN
    from proxyctl.snapshots.folder import take_by_hand

    with place.connect() as client:
        taken = take_by_hand(client)
        address = client.address
    if format == "json":
        write(TAKEN.document(taken, address=address))
    else:
        write(f"{taken.path}\n")
    return ExitCode.DONE
