"""The commands snapshot, history and rollback."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from proxyctl.cli.commands.apply import (
    approve,
    report,
    report_all,
    request_of,
    roll_out_approved,
    rollout_request,
)
from proxyctl.cli.completion import completion, typed
from proxyctl.cli.connect import SelectionOptions
from proxyctl.cli.file_options import FileOptions
from proxyctl.cli.option_kinds import flag
from proxyctl.cli.options import (
    AllInstancesOptions,
    Allowances,
    ChangeOptions,
    ConnectionOptions,
    FleetOptions,
    FormatOption,
    RolloutOptions,
)
from proxyctl.cli.output import emit, progress, say, style, write
from proxyctl.errors import ExitCode

if TYPE_CHECKING:
    from proxyctl.apply.request import ApplyRequest
    from proxyctl.fleet.outcome import Fleet
    from proxyctl.fleet.targets import Target


@completion
def snapshot_names(context: typer.Context) -> Iterator[str]:
    """Yield the snapshots of the instance, newest first; none with --all, which takes ids."""
    from proxyctl.snapshots.folder import history

    if context.params.get("all_instances"):
        return
    selection = SelectionOptions(typed(FileOptions, context), typed(ConnectionOptions, context))
    yield from (snapshot.name for snapshot in history(selection.address()))


def rollback(
    selection: SelectionOptions,
    allowances: Allowances,
    fleet: RolloutOptions,
    apply_options: ChangeOptions,
    which: str | None = typer.Argument(
        None,
        metavar="SNAPSHOT",
        help="A number or name from `history`, or a file; with --all the id of a rollout."
        " Default: the newest.",
        autocompletion=snapshot_names,
    ),
    dry_run: bool = flag("--dry-run", "Show the plan and change nothing."),
    format: FormatOption = "text",
) -> int:
    """Restore the configuration from a snapshot. With --all, from those of the last rollout."""
    from proxyctl.apply.apply import apply_planned
    from proxyctl.fleet.outcome import Fleet
    from proxyctl.render.history import snapshot_time
    from proxyctl.snapshots import folder
    from proxyctl.snapshots.rollback import CORRECT_FILES, check_fit, rollback_plan
    from proxyctl.snapshots.snapshot import ROLLBACK

    request = replace(request_of(allowances.options(), apply_options, format), purpose=ROLLBACK)
    options = request.options
    if fleet.is_for_all():
        targets = selection.targets(fleet, files_are_optional=True)
        asks = None if dry_run else not apply_options.auto_approve
        return _rollback_all(targets, request, fleet, which, format, asks=asks)
    with selection.connect() as client:
        snapshot = folder.read(folder.find(client.address, which))
        check_fit(client, snapshot)
        where = f"back to {snapshot.name}, {snapshot_time(snapshot.header)}"
        say(*style(sys.stderr).lines(where, then="  "))
        if dry_run or not apply_options.auto_approve:
            reviewed, _ = rollback_plan(client, snapshot, options)
            if dry_run:
                _write_plans(Fleet.of(reviewed), format, is_all=False)
                return ExitCode.DONE
            request = replace(request, approval=approve(reviewed, format, verb="rollback"))
        plan, result = apply_planned(
            client,
            lambda staged: rollback_plan(client, snapshot, options, staged),
            replace(request, sources=(snapshot.name,)),
        )
    code = report(plan, result, format)
    if result is not None:
        say(CORRECT_FILES)
    return code


def _rollback_all(
    targets: Sequence[Target],
    request: ApplyRequest,
    rollout: RolloutOptions,
    which: str | None,
    format: str,
    *,
    asks: bool | None,
) -> int:
    """Take back a rollout. `asks`: whether to ask for approval; None: only show the plans."""
    from proxyctl.fleet.rollback import applier_of, find_rollout, plan_rollback
    from proxyctl.render.apply import ROLLBACK_ALL
    from proxyctl.render.history import rollout_lines
    from proxyctl.snapshots.rollback import CORRECT_FILES

    found = find_rollout(targets, which)
    for line in rollout_lines(found):
        say(*style(sys.stderr).lines(line, then="  "))
    with progress("planning", len(found.kept)) as advance:
        fleet = plan_rollback(found, request.options, workers=rollout.parallel, done=advance)
    if asks is None:
        _write_plans(fleet, format, is_all=True)
        return fleet.exit_code(differences=False)
    result = roll_out_approved(
        [*found.kept],
        fleet,
        replace(rollout_request(request, rollout), applier=applier_of(found)),
        format,
        verb="rollback",
        asks=asks,
    )
    not_part = [target.name for target in found.without]
    report_all(
        result,
        format,
        lambda result: ROLLBACK_ALL.document(result, taken_back=found.rollout, not_part=not_part),
    )
    if result.has_changed and result.exit_code == ExitCode.DONE:
        say(CORRECT_FILES)
    return result.exit_code


def _write_plans(fleet: Fleet, format: str, *, is_all: bool) -> None:
    from proxyctl.render.plan import plans_json, plans_text

    emit(
        format,
        text=lambda: plans_text(fleet, style(), is_all=is_all),
        json=lambda: plans_json(fleet, is_all=is_all),
    )


def history(
    selection: SelectionOptions, fleet: AllInstancesOptions, format: FormatOption = "text"
) -> int:
    """List the snapshots of an instance, newest first. Needs no ProxySQL."""
    from proxyctl.render.history import HISTORY, HISTORY_ALL, histories_text, history_text
    from proxyctl.snapshots import folder

    if fleet.is_for_all():
        histories = [
            folder.InstanceHistory(name, address, folder.history(address))
            for name, address in selection.addresses(fleet)
        ]
        emit(
            format,
            text=lambda: histories_text(histories, style()),
            json=lambda: HISTORY_ALL.document(histories),
        )
        return ExitCode.DONE
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
    from proxyctl.fleet.failed import worst_of
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
    return worst_of(failed)
