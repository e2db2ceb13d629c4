"""The commands snapshot, history and rollback."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from proxyctl.cli.commands.apply import approve, report, request_of
from proxyctl.cli.completion import completion, typed
from proxyctl.cli.connect import SelectionOptions
from proxyctl.cli.file_options import FileOptions
from proxyctl.cli.option import flag
from proxyctl.cli.options import (
    Allowances,
    ChangeOptions,
    ConnectionOptions,
    FleetOptions,
    FormatOption,
)
from proxyctl.cli.output import emit, progress, say, style, write
from proxyctl.errors import ExitCode

if TYPE_CHECKING:
    from proxyctl.fleet.targets import Target


@completion
def snapshot_names(context: typer.Context) -> Iterator[str]:
    """Yield the snapshots of the instance, newest first."""
    from proxyctl.snapshots.folder import history

    selection = SelectionOptions(typed(FileOptions, context), typed(ConnectionOptions, context))
    yield from (snapshot.name for snapshot in history(selection.address()))


def rollback(
    selection: SelectionOptions,
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
    from proxyctl.apply.apply import apply_planned
    from proxyctl.fleet.outcome import Fleet
    from proxyctl.render.history import snapshot_time
    from proxyctl.render.plan import plans_json, plans_text
    from proxyctl.snapshots import folder
    from proxyctl.snapshots.rollback import check_fit, rollback_plan
    from proxyctl.snapshots.snapshot import ROLLBACK

    request = replace(request_of(allowances.options(), apply_options, format), purpose=ROLLBACK)
    options = request.options
    with selection.connect() as client:
        snapshot = folder.read(folder.find(client.address, which))
        check_fit(client, snapshot)
        where = f"back to {snapshot.name}, {snapshot_time(snapshot.header)}"
        say(*style(sys.stderr).lines(where, then="  "))
        if dry_run or not apply_options.auto_approve:
            reviewed, _ = rollback_plan(client, snapshot, options)
            if dry_run:
                fleet = Fleet.of(reviewed)
                write(
                    plans_text(fleet, style(), is_all=False)
                    if format == "text"
                    else plans_json(fleet, is_all=False)
                )
                return ExitCode.DONE
            request = replace(request, approval=approve(reviewed, format, verb="rollback"))
        plan, result = apply_planned(
            client,
            lambda staged: rollback_plan(client, snapshot, options, staged),
            replace(request, sources=(snapshot.name,)),
        )
    return report(plan, result, format)


def history(selection: SelectionOptions, format: FormatOption = "text") -> int:
    """List the snapshots of an instance, newest first. Needs no ProxySQL."""
    from proxyctl.render.history import HISTORY, history_text
    from proxyctl.snapshots import folder

    address = selection.address()
    kept = folder.history(address)
    if format == "json":
        write(HISTORY.document(kept, address=address))
    elif kept:
        write(history_text(kept, style()))
    else:
        say(f"there is no snapshot of {address} in {folder.folder_of(address)}")
    return ExitCode.DONE


def snapshot(
    selection: SelectionOptions, fleet: FleetOptions, format: FormatOption = "text"
) -> int:
    """Save what the instance holds now, in all three layers."""
    from proxyctl.render.history import TAKEN
    from proxyctl.snapshots.folder import take_by_hand

    if fleet.is_for_all():
        return _snapshot_all(selection.targets(fleet, files_are_optional=True), fleet, format)
    with selection.connect() as client:
        taken = take_by_hand(client)
    emit(format, text=lambda: f"{taken.path}\n", json=lambda: TAKEN.document(taken))
    return ExitCode.DONE


def _snapshot_all(targets: Sequence[Target], fleet: FleetOptions, format: str) -> int:
    """Save what each instance holds; name those that cannot be read."""
    from proxyctl.fleet.outcome import worst
    from proxyctl.fleet.targets import at_all
    from proxyctl.render.fleet import failures
    from proxyctl.render.history import snapshots_json
    from proxyctl.snapshots.folder import Taken, take_by_hand

    def work(target: Target) -> Taken:
        with target.connect() as client:
            return take_by_hand(client)

    with progress("saving", len(targets)) as advance:
        taken, failed = at_all(targets, work, workers=fleet.parallel, done=advance)
    emit(
        format,
        text=lambda: "".join(f"{each.path}\n" for each in taken),
        json=lambda: snapshots_json(taken, failed),
    )
    say(*failures(failed, style(sys.stderr)))
    return worst([failure.error.exit_code for failure in failed])
