"""The command lint: what a configuration cannot do, though it seems to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.files import VersionOption, chosen_version
from proxyctl.cli.options import ConnectionOptions, FileOptions, command
from proxyctl.cli.output import style, write
from proxyctl.errors import ConfigError, ExitCode, ProxyctlError, UsageError
from proxyctl.state.row import Layer, Secret, Where

if TYPE_CHECKING:
    from proxyctl.catalog import Version
    from proxyctl.config.sections.instances import Instance
    from proxyctl.lint.finding import Check
    from proxyctl.lint.linting import Ignore, Report
    from proxyctl.state.configuration import Configuration


class LintFormat(StrEnum):
    """How findings are written."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


class LayerName(StrEnum):
    """A layer, as the command line calls it."""

    RUNTIME = "runtime"
    MEMORY = "memory"
    DISK = "disk"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    command(app, "lint")(lint)


def lint(
    files: FileOptions,
    connection: ConnectionOptions,
    select: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CODE", help="Run these checks only: a code, its beginning, or a name."
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="CODE", help="Leave these checks out; as --select."),
    ] = None,
    backend_version: Annotated[
        list[str] | None,
        typer.Option(
            "--backend-version",
            metavar="X.Y.Z",
            help="A version behind ProxySQL, many times: mysql-server_version is held against it.",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 1 for any finding, not only for an error.")
    ] = False,
    layer: Annotated[
        LayerName, typer.Option("--layer", help="Which layer of an instance to look at.")
    ] = LayerName.RUNTIME,
    explain: Annotated[
        str | None,
        typer.Option("--explain", metavar="CODE", help="Show what a check finds, and the way out."),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the checks.")] = False,
    proxysql_version: VersionOption = None,
    format: Annotated[LintFormat, typer.Option("--format", help="How to write.")] = LintFormat.TEXT,
) -> int:
    """Find what is taken, and cannot do what it seems to. Exit 1 for an error."""
    from proxyctl.config.mistakes import did_you_mean
    from proxyctl.lint.all_checks import UNUSED_IGNORE, UnknownCode, chosen, codes_of
    from proxyctl.lint.linting import lint as run
    from proxyctl.lint.subject import Subject
    from proxyctl.render.lint_text import check_text

    try:
        checks = chosen(select or (), ignore or ())
        wanted = codes_of(explain) if explain is not None else frozenset()
    except UnknownCode as unknown:
        raise UsageError(str(unknown), hint=unknown.hint(did_you_mean)) from unknown
    if explain is not None:
        write("\n".join(check_text(one) for one in chosen(wanted, ())))
        return ExitCode.DONE
    if list_:
        write(_list(checks, format))
        return ExitCode.DONE
    version = chosen_version(proxysql_version)
    try:
        found = _subject(files, connection, layer=Layer(layer), version=version)
    except ConfigError as wrong:
        write(_mistakes(wrong, format))
        raise
    if found.name:
        # What the files ignore may be about rows that this instance does not have.
        checks = [one for one in checks if one.code != UNUSED_IGNORE]
    subject = Subject(
        found.configuration,
        backend_versions=backend_version or (),
        plain_passwords=found.plain_passwords,
    )
    try:
        report = run(subject, checks, found.ignores, name=found.name)
    except ValueError as error:
        # Digest variables under which ProxySQL itself ends: nothing can be said of digests then.
        raise ProxyctlError(str(error)) from error
    write(_output(report, format))
    fails = bool(report.findings) if strict else report.has_errors
    return ExitCode.ERROR if fails else ExitCode.DONE


@dataclass(frozen=True)
class _Found:
    """What to look at. `name` of an instance; empty for files."""

    configuration: Configuration
    ignores: Sequence[Ignore]
    name: str = ""
    plain_passwords: Mapping[str, Where] = field(default_factory=dict)


def _subject(
    files: FileOptions, connection: ConnectionOptions, *, layer: Layer, version: Version
) -> _Found:
    from proxyctl.cli.connection import connected_beside
    from proxyctl.cli.subject import is_about_instance
    from proxyctl.config.project import ParsedFiles
    from proxyctl.instance.read import read_configuration

    if not is_about_instance(files, connection):
        project = ParsedFiles(files.sources()).project(
            version, takes_dead_rules=True, needs_secrets=False
        )
        return _Found(
            project.configuration,
            project.ignores,
            plain_passwords={one.name: one.where for one in project.instances if _is_plain(one)},
        )
    with connected_beside(files, connection) as (client, parsed):
        found = read_configuration(client, layer)
        ignores = () if parsed is None else parsed.ignores()
        return _Found(found, ignores, client.login.name or client.address)


def _is_plain(instance: Instance) -> bool:
    """Return whether the password stands in the file; what a reference leads to does not matter."""
    try:
        password = instance.password()
    except ConfigError:
        return False
    return bool(password) and not isinstance(password, Secret)


def _list(checks: Sequence[Check], format: LintFormat) -> str:
    from proxyctl.render.lint_machine import checks_json
    from proxyctl.render.lint_text import checks_text

    match format:
        case LintFormat.TEXT:
            return checks_text(checks)
        case LintFormat.JSON:
            return checks_json(checks)
        case _:
            raise UsageError(f"--list has no format {format}", hint="it has text and json")


def _mistakes(wrong: ConfigError, format: LintFormat) -> str:
    """Return the mistakes for the formats in which the command line does not say them itself."""
    from proxyctl.render.lint_machine import mistakes_github
    from proxyctl.render.sarif import mistakes_sarif

    match format:
        case LintFormat.SARIF:
            return mistakes_sarif(wrong.mistakes, Path.cwd())
        case LintFormat.GITHUB:
            return mistakes_github(wrong.mistakes)
        case _:
            return ""


def _output(report: Report, format: LintFormat) -> str:
    from proxyctl.render.lint_machine import lint_github, lint_json
    from proxyctl.render.lint_text import lint_text
    from proxyctl.render.sarif import lint_sarif

    match format:
        case LintFormat.TEXT:
            return lint_text(report, style())
        case LintFormat.JSON:
            return lint_json(report)
        case LintFormat.SARIF:
            return lint_sarif(report, Path.cwd())
        case LintFormat.GITHUB:
            return lint_github(report)
