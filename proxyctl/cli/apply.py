"""The apply command, and unlock for the lock that a dead one left."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.allowances import Allowances
from proxyctl.cli.apply_fleet import apply_all
from proxyctl.cli.fleet import FleetOptions, RolloutOptions, targets_of
from proxyctl.cli.options import (
    ConnectionOptions,
    FileOptions,
    PeerOptions,
    TextFormat,
    command,
)
from proxyctl.cli.output import is_terminal, say, says_yes, style, write, write_beside
from proxyctl.errors import (
    ExitCode,
    ProxyctlError,
    RefusedError,
    UsageError,
)

if TYPE_CHECKING:
    from proxyctl.plan import Plan
    from proxyctl.result import ApplyResult
    from proxyctl.saved_plan import SavedPlan


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    command(app, "apply")(apply)
    command(app, "unlock")(unlock)


def apply(
    files: FileOptions,
    connection: ConnectionOptions,
    allowances: Allowances,
    peers: PeerOptions,
    fleet: FleetOptions,
    rollout: RolloutOptions,
    plan_file: Annotated[
        str | None, typer.Argument(metavar="PLANFILE", help="A plan saved with plan --out.")
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
    from proxyctl.applying import ApplyRequest, PeerRules, applied, apply_files
    from proxyctl.cli.connection import opened, peer_rules
    from proxyctl.render.apply_text import apply_json, apply_text
    from proxyctl.saved_plan import SavedPlan
    from proxyctl.workflow import plan_files

    rollout.check(fleet)
    if fleet.is_meant():
        if plan_file:
            raise UsageError("a saved plan is of one instance; leave out --all")
        options = replace(allowances.options(), saves=not no_save)
        every = ApplyRequest(
            options,
            lock_timeout_s=lock_timeout,
            sources=tuple(files.paths()),
            peers=PeerRules(peers.peer_timeout),
        )
        targets = targets_of(files, connection, fleet)
        return apply_all(targets, every, fleet, rollout, format, auto_approve=auto_approve)
    saved = SavedPlan.read(Path(plan_file)) if plan_file else None
    if saved is not None:
        files, allowances = _as_saved(saved, files, allowances)
    is_text = format is TextFormat.TEXT
    tell = write if is_text else write_beside
    with opened(files, connection) as (client, parsed):
        if saved is not None:
            saved.check_address(client.address)
        options = replace(allowances.options(), saves=not no_save)
        shows_plan = is_text and (auto_approve or saved is not None)
        is_approved = (
            saved.is_of
            if saved is not None
            else approval(auto_approve, lambda: plan_files(client, parsed, options), tell)
        )
        request = ApplyRequest(
            options,
            is_approved,
            lock_timeout_s=lock_timeout,
            before=show if shows_plan else lambda _plan: None,
            progress=say,
            sources=(*([plan_file] if plan_file else []), *files.paths()),
            peers=peer_rules(connection, parsed.instances(), peers.peer_timeout),
        )
        found, result = apply_files(client, parsed, request)
    text = apply_text(found, result) if is_text else apply_json(found, result)
    with applied(result):
        write(text)
    return exit_code(result)


def exit_code(result: ApplyResult | None) -> ExitCode:
    """Return the code of an apply that finished: its peers may not follow."""
    return ExitCode.INCOMPLETE if result is not None and result.not_following else ExitCode.DONE


def show(found: Plan) -> None:
    """Write a plan that is about to be applied."""
    from proxyctl.render.plan_text import plan_text

    write(plan_text(found, style(), is_done=True))


def approval(
    is_automatic: bool, plan: Callable[[], Plan], tell: Callable[[str], None], verb: str = "apply"
) -> Callable[[Plan], bool]:
    """Return what tells whether a plan is the one that was approved; ask where nobody did yet."""
    from proxyctl.plan import raise_refusals
    from proxyctl.render.plan_text import plan_text

    if is_automatic:
        return lambda _plan: True
    shown = plan()
    tell(plan_text(shown, style()))
    raise_refusals(shown)
    if not shown.is_in_sync:
        _ask(shown, verb)
    return lambda found: found.fingerprint == shown.fingerprint


def _ask(found: Plan, verb: str) -> None:
    """Ask on the terminal. Only `yes` goes on."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        hint = "--auto-approve applies without asking"
        if verb == "apply":
            hint += "; plan --out and apply PLANFILE apply what was reviewed"
        raise UsageError(
            f"{verb} asks before it acts, and there is no terminal to ask on", hint=hint
        )
    if not says_yes(f"Apply this to {found.name}?"):
        raise RefusedError("not applied: the answer was not 'yes'")


def _as_saved(
    saved: SavedPlan, files: FileOptions, allowances: Allowances
) -> tuple[FileOptions, Allowances]:
    """Return the options that the plan was made with; other ones than those are refused."""
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


def unlock(files: FileOptions, connection: ConnectionOptions) -> int:
    """Remove the lock of another apply, whoever holds it."""
    from proxyctl.admin.lock import break_lock
    from proxyctl.cli.connection import connected

    with connected(files, connection) as client:
        holder = break_lock(client)
    say(f"removed the lock of {holder.text()}" if holder else "there is no lock")
    return ExitCode.DONE
