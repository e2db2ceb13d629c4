"""The apply command, and unlock for the lock that a dead one left."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.allowances import Allowances
from proxyctl.cli.options import ConnectionOptions, FileOptions, TextFormat, command
from proxyctl.cli.output import say, style, write
from proxyctl.errors import ExitCode, ProxyctlError, RefusedError, UsageError

if TYPE_CHECKING:
    from proxyctl.admin.client import AdminClient
    from proxyctl.admin.lock import Lock
    from proxyctl.config.load import ParsedFiles
    from proxyctl.plan import Plan
    from proxyctl.result import ApplyResult
    from proxyctl.saved_plan import SavedPlan
    from proxyctl.workflow import PlanOptions


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    command(app, "apply")(apply)
    command(app, "unlock")(unlock)


def apply(
    files: FileOptions,
    connection: ConnectionOptions,
    allowances: Allowances,
    plan_file: Annotated[
        str | None, typer.Argument(metavar="[PLANFILE]", help="A plan saved with plan --out.")
    ] = None,
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
    """Make the instance hold what the files say, and read it back."""
    from proxyctl.cli.connection import opened
    from proxyctl.render.apply_text import apply_json, apply_text
    from proxyctl.saved_plan import SavedPlan
    from proxyctl.workflow import plan_files

    saved = SavedPlan.read(Path(plan_file)) if plan_file else None
    if saved is not None:
        files, allowances = _as_saved(saved, files, allowances)
    with opened(files, connection) as (client, parsed):
        if saved is not None:
            saved.check_address(client.address)
        approved = saved.fingerprint if saved else None
        options = allowances.options()
        if approved is None and not auto_approve:
            tell = write if format is TextFormat.TEXT else say
            approved = _approved(plan_files(client, parsed, options), tell)
        request = _Request(
            options,
            approved,
            save=not no_save,
            lock_timeout_s=lock_timeout,
            shows_plan=format is TextFormat.TEXT and (auto_approve or saved is not None),
        )
        found, result = _apply_locked(client, parsed, request)
    if format is TextFormat.JSON:
        write(apply_json(found, result))
    else:
        write(apply_text(found, result))
    return result.exit_code if result else ExitCode.DONE


def _approved(shown: Plan, tell: Callable[[str], None]) -> str:
    """Show the plan and ask; return the fingerprint of what was approved."""
    from proxyctl.admin.apply import raise_refusals
    from proxyctl.render.plan_text import plan_text

    tell(plan_text(shown, style()))
    raise_refusals(shown)
    if not shown.is_in_sync:
        _ask(shown)
    return shown.fingerprint


@dataclass(frozen=True)
class _Request:
    """One apply: what is allowed, and the fingerprint that a person approved."""

    options: PlanOptions
    approved: str | None
    save: bool
    lock_timeout_s: float
    shows_plan: bool


def _apply_locked(
    client: AdminClient, parsed: ParsedFiles, request: _Request
) -> tuple[Plan, ApplyResult | None]:
    """Take the lock, read everything again under it, and apply if it still is what was approved."""
    from dataclasses import replace

    from proxyctl.admin.apply import ApplyOptions, apply_plan, raise_refusals
    from proxyctl.admin.lock import Lock
    from proxyctl.admin.read import TableReader
    from proxyctl.admin.snapshot import SnapshotWriter
    from proxyctl.render.plan_text import plan_text
    from proxyctl.workflow import plan_files

    lock = Lock(client, "apply")
    lock.take(timeout_s=request.lock_timeout_s, waiting=say)
    snapshot = SnapshotWriter(client)
    try:
        reader = TableReader(client, tee=snapshot.add)
        options = replace(request.options, leftovers=lock.leftovers)
        found = plan_files(client, parsed, options, reader=reader)
        if request.approved is not None and found.fingerprint != request.approved:
            raise RefusedError(
                f"{found.name}: the plan is stale: the instance or the files changed since it was"
                " made",
                hint="run plan again and look at what is different now",
            )
        if request.shows_plan:
            write(plan_text(found, style(), is_done=True))
        if found.is_in_sync:
            return found, None
        raise_refusals(found)
        kept = snapshot.keep()
        result = apply_plan(client, found, lock, ApplyOptions(request.save, say))
        result.snapshot = str(kept)
        return found, result
    finally:
        snapshot.discard()
        _release(lock)


def _release(lock: Lock) -> None:
    from proxyctl.errors import InstanceError

    try:
        lock.release()
    except InstanceError as error:
        say(f"the lock could not be given back ({error.message}); it expires by itself")


def _ask(found: Plan) -> None:
    """Ask on the terminal. Only `yes` goes on."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            "apply asks before it acts, and there is no terminal to ask on",
            hint="--auto-approve applies without asking; plan --out and apply PLANFILE apply what"
            " was reviewed",
        )
    sys.stderr.write(f"Apply this to {found.name}? Only 'yes' is accepted: ")
    sys.stderr.flush()
    if sys.stdin.readline().strip() != "yes":
        raise RefusedError("not applied: the answer was not 'yes'")


def _as_saved(
    saved: SavedPlan, files: FileOptions, allowances: Allowances
) -> tuple[FileOptions, Allowances]:
    """Return the options that the plan was made with; other ones than those are refused."""
    from dataclasses import replace

    if allowances.names():
        raise UsageError("a saved plan carries its own options: " + " ".join(allowances.names()))
    missing = sorted(set(saved.variables) - set(files.variable_names()))
    if missing:
        raise UsageError(
            f"the plan was made with --var {', '.join(missing)}",
            hint="give the same variables again: their values are not saved",
        )
    own = Allowances.of_names(saved.options)
    if own is None:
        raise ProxyctlError(
            "the saved plan is damaged: it names an option that plan does not have",
            hint="make one with: proxyctl plan --out FILE",
        )
    return replace(files, file=files.file or list(saved.paths)), own


def unlock(connection: ConnectionOptions) -> int:
    """Remove the lock of another apply, whoever holds it."""
    from proxyctl.admin.lock import break_lock
    from proxyctl.cli.connection import connect

    with connect(connection) as client:
        holder = break_lock(client)
    say(f"removed the lock of {holder.text()}" if holder else "there is no lock")
    return ExitCode.DONE
