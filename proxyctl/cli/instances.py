"""Commands that connect to an instance: plan, apply, drift, export, unlock."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.files import OutOption, RowFormat, Secrets, SecretsOption, check_secrets, emit
from proxyctl.cli.options import (
    ConnectionOptions,
    FileOptions,
    PlanFormat,
    TextFormat,
    command,
)
from proxyctl.cli.output import say, style, write, write_file
from proxyctl.errors import ExitCode, ProxyctlError, RefusedError, UsageError

if TYPE_CHECKING:
    from proxyctl.admin.client import AdminClient
    from proxyctl.admin.lock import Lock
    from proxyctl.admin.read import TableReader
    from proxyctl.config.load import ParsedFiles
    from proxyctl.plan import Plan
    from proxyctl.result import ApplyResult
    from proxyctl.saved_plan import SavedPlan
    from proxyctl.workflow import PlanOptions


class ExportLayer(StrEnum):
    """The layer to export."""

    RUNTIME = "runtime"
    MEMORY = "memory"
    DISK = "disk"


@dataclass(frozen=True)
class Allowances:
    """Options of plan and apply that let something through, or leave something out."""

    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="NAME",
            help="Only this admin module (MYSQL USERS) or table (mysql_users); many times.",
        ),
    ] = None
    force: Annotated[bool, typer.Option("--force", help="Let guards pass.")] = False
    discard_pending: Annotated[
        bool,
        typer.Option(
            "--discard-pending", help="Overwrite rows of ours that were edited in MEMORY."
        ),
    ] = False
    include_pending: Annotated[
        bool,
        typer.Option(
            "--include-pending",
            help="Load and save other people's edits in MEMORY together with ours.",
        ),
    ] = False

    def names(self) -> list[str]:
        """Return the options as they stood on the command line, for a saved plan."""
        given = [option for option, flag in _FLAGS.items() if getattr(self, flag)]
        return [*given, *(f"--only={name}" for name in self.only or ())]

    @classmethod
    def of_names(cls, names: Iterable[str]) -> Allowances | None:
        """Return what `names` gave, or None where an option is none of these."""
        only: list[str] = []
        flags: dict[str, bool] = {}
        for option in names:
            if option.startswith("--only="):
                only.append(option.removeprefix("--only="))
            elif option in _FLAGS:
                flags[_FLAGS[option]] = True
            else:
                return None
        return cls(only=only or None, **flags)


_FLAGS = {
    "--force": "force",
    "--discard-pending": "discard_pending",
    "--include-pending": "include_pending",
}


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    command(app, "plan")(plan)
    command(app, "apply")(apply)
    command(app, "drift")(drift)
    command(app, "export")(export)
    command(app, "unlock")(unlock)


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
    from proxyctl.saved_plan import save

    with _open(files, connection) as (client, parsed):
        found = _make_plan(client, parsed, _plan_options(allowances))
    write(_plan_output(found, format))
    if out:
        write_file(
            Path(out),
            save(found, paths=_paths(files), variables=_names(files), options=allowances.names()),
            mode=0o600,
        )
        say(f"saved to {out}; apply it with: proxyctl apply {out}")
    if detailed_exitcode and not found.is_in_sync:
        return ExitCode.DIFFERENCES
    return ExitCode.DONE


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
    from proxyctl.render.apply_text import apply_json, apply_text
    from proxyctl.saved_plan import SavedPlan

    saved = SavedPlan.read(Path(plan_file)) if plan_file else None
    if saved is not None:
        files, allowances = _as_saved(saved, files, allowances)
    with _open(files, connection) as (client, parsed):
        if saved is not None:
            saved.check_address(client.address)
        approved = saved.fingerprint if saved else None
        options = _plan_options(allowances)
        if approved is None and not auto_approve:
            tell = write if format is TextFormat.TEXT else say
            approved = _approved(_make_plan(client, parsed, options), tell)
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

    lock = Lock(client, "apply")
    lock.take(timeout_s=request.lock_timeout_s, waiting=say)
    snapshot = SnapshotWriter(client)
    try:
        reader = TableReader(client, tee=snapshot.add)
        options = replace(request.options, leftovers=lock.leftovers)
        found = _make_plan(client, parsed, options, reader)
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


def drift(
    files: FileOptions,
    connection: ConnectionOptions,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="As for plan.")
    ] = None,
    format: Annotated[TextFormat, typer.Option("--format", help="How to write.")] = TextFormat.TEXT,
) -> int:
    """Say what differs from the files, in which layer, and who could have moved it (exit 2)."""
    from proxyctl.render.drift_text import drift_text
    from proxyctl.render.plan_machine import plan_json
    from proxyctl.workflow import PlanOptions

    with _open(files, connection) as (client, parsed):
        found = _make_plan(client, parsed, PlanOptions(only=tuple(only or ())))
    write(plan_json([found]) if format is TextFormat.JSON else drift_text(found, style()))
    return ExitCode.DONE if found.is_in_sync else ExitCode.DIFFERENCES


def export(
    connection: ConnectionOptions,
    layer: Annotated[
        ExportLayer, typer.Option("--layer", help="Which layer.")
    ] = ExportLayer.RUNTIME,
    format: Annotated[RowFormat, typer.Option("--format", help="How to write.")] = RowFormat.YAML,
    secrets: SecretsOption = Secrets.HASH,
    out: OutOption = None,
) -> int:
    """Write the configuration that an instance holds as our files."""
    from proxyctl.admin.export import export_layer
    from proxyctl.cli.connection import connect
    from proxyctl.formats.exported import exported_text
    from proxyctl.state import Layer

    check_secrets(secrets, out)
    with connect(connection) as client:
        exported = export_layer(client, Layer(layer.value), secrets.value)
        header = [f"{layer.value.upper()} of {client.address}, ProxySQL {client.version_text}"]
    text = exported_text(exported, format.value, secrets.value, header=header)
    emit(exported, text, secrets, out)
    return ExitCode.DONE


def unlock(connection: ConnectionOptions) -> int:
    """Remove the lock of another apply, whoever holds it."""
    from proxyctl.admin.lock import break_lock
    from proxyctl.cli.connection import connect

    with connect(connection) as client:
        holder = break_lock(client)
    say(f"removed the lock of {holder.text()}" if holder else "there is no lock")
    return ExitCode.DONE


# -- shared by the commands above -----------------------------------------------------------------


@contextmanager
def _open(
    files: FileOptions, connection: ConnectionOptions
) -> Iterator[tuple[AdminClient, ParsedFiles]]:
    """Parse the files, which may name the instance, and connect to it."""
    from dataclasses import replace

    from proxyctl.cli.connection import choose_instance, connect
    from proxyctl.cli.files import sources
    from proxyctl.config.load import ParsedFiles

    given = sources(files)
    parsed = ParsedFiles(given)
    chosen = choose_instance(connection, parsed.instances())
    if chosen is not None and chosen.vars:
        parsed = ParsedFiles(replace(given, variables={**chosen.vars, **given.variables}))
    with connect(connection, chosen) as client:
        yield client, parsed


def _paths(files: FileOptions) -> list[str]:
    return files.file or ["./proxyctl.yaml"]


def _names(files: FileOptions) -> list[str]:
    return sorted(item.split("=", 1)[0] for item in files.var or ())


def _plan_options(allowances: Allowances) -> PlanOptions:
    from proxyctl.workflow import PlanOptions

    return PlanOptions(
        only=tuple(allowances.only or ()),
        force=allowances.force,
        discard_pending=allowances.discard_pending,
        include_pending=allowances.include_pending,
    )


def _make_plan(
    client: AdminClient,
    parsed: ParsedFiles,
    options: PlanOptions,
    reader: TableReader | None = None,
) -> Plan:
    from proxyctl.workflow import plan_files

    return plan_files(client, parsed, options, reader=reader)


def _plan_output(found: Plan, format: PlanFormat) -> str:
    from proxyctl.render import plan_machine
    from proxyctl.render.plan_text import plan_text

    match format:
        case PlanFormat.TEXT:
            return plan_text(found, style())
        case PlanFormat.JSON:
            return plan_machine.plan_json([found])
        case PlanFormat.MARKDOWN:
            return plan_machine.plan_markdown([found])
        case PlanFormat.SQL:
            return plan_machine.plan_sql([found])


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
    missing = sorted(set(saved.variables) - set(_names(files)))
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
