"""Commands that need no server: validate, schema, render, init, import."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.backend_login import BackendOptions
from proxyctl.cli.exported import (
    OutOption,
    RowFormat,
    Secrets,
    SecretsOption,
    check_secrets,
    emit,
)
from proxyctl.cli.options import FileOptions, TextFormat, command
from proxyctl.cli.output import say, write, write_file
from proxyctl.errors import ExitCode, UsageError, counted

if TYPE_CHECKING:
    from proxyctl.catalog import Version
    from proxyctl.config.project import Project
    from proxyctl.state.fold import Exported


VersionOption = Annotated[
    str | None,
    typer.Option(
        "--proxysql-version", metavar="X.Y.Z", help="Use this version's tables (default 2.7.1)."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    command(app, "init")(init)
    command(app, "validate")(validate)
    command(app, "render")(render)
    command(app, "schema")(schema)
    command(app, "import")(import_)


def chosen_version(text: str | None) -> Version:
    """Return the version an option names, or the reference version.

    Raises: UsageError.
    """
    from proxyctl.catalog import REFERENCE, known_version

    if text is None:
        return REFERENCE
    try:
        return known_version(text)
    except ValueError as error:
        raise UsageError(f"--proxysql-version: {error}") from error


def _starters(incomplete: str) -> list[str]:
    from proxyctl.starters import starter_names

    return [name for name in starter_names() if name.startswith(incomplete)]


def init(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The folder to write into.")],
    template: Annotated[
        str,
        typer.Option(
            "--template",
            metavar="NAME",
            help="minimal, read-write-split, pxc or sharded.",
            autocompletion=_starters,
        ),
    ] = "minimal",
) -> int:
    """Write a starter layout into a folder."""
    from proxyctl.starters import copy_starter, next_steps

    written = copy_starter(template, Path(folder))
    for path in written:
        say(f"wrote {path}")
    say("next, with your own servers and users in the files:")
    for step in next_steps(Path(folder), written):
        say(f"  {step}")
    return ExitCode.DONE


def validate(
    files: FileOptions,
    proxysql_version: VersionOption = None,
    format: Annotated[TextFormat, typer.Option("--format", help="How to write.")] = TextFormat.TEXT,
) -> int:
    """Check the files without a server: every mistake at once, with its place."""
    from proxyctl.config.project import load_project

    project = load_project(files.sources(), version=chosen_version(proxysql_version))
    counts = {name: len(table.rows) for name, table in project.desired.tables.items()}
    if format is TextFormat.JSON:
        document = {"format": 1, "valid": True, "tables": counts}
        write(json.dumps(document, indent=2) + "\n")
    else:
        rows = counted(sum(counts.values()), "row")
        write(f"The files are valid: {rows} in {counted(len(counts), 'table')}.\n")
    for warning in project.desired.warnings:
        say(f"warning: {warning}")
    return ExitCode.DONE


def render(
    files: FileOptions,
    format: Annotated[RowFormat, typer.Option("--format", help="How to write.")] = RowFormat.YAML,
    secrets: SecretsOption = Secrets.HASH,
    proxysql_version: VersionOption = None,
    out: OutOption = None,
) -> int:
    """Write the rows that the files compile to."""
    from proxyctl.config.project import load_project
    from proxyctl.formats.exported import exported_text

    check_secrets(secrets, out)
    project = load_project(files.sources(), version=chosen_version(proxysql_version))
    exported = _compiled(project, secrets)
    written = exported_text(exported, format.value, secrets.value, owned=project.desired.tables)
    emit(exported, written, secrets, out)
    return ExitCode.DONE


def _compiled(project: Project, secrets: Secrets) -> Exported:
    """Return the desired rows as an export."""
    from proxyctl.state.fold import (
        Exported,
        export_variables,
        sorted_rows,
        with_secrets,
        without_references,
    )

    desired = project.desired
    exported = Exported(desired.version)
    for name, table in desired.tables.items():
        exported.layouts[name] = table.layout
        if table.layout.table.prefix is not None:
            rows_of_variables = table.rows.values()
            export_variables(
                exported, rows_of_variables, secrets.value, keeps_defaults=True, keeps_local=True
            )
        else:
            rows = sorted_rows(dict(table.rows))
            if secrets != Secrets.CLEAR:
                rows = without_references(exported, table.layout, rows)
            exported.tables[name] = with_secrets(exported, table.layout, rows, secrets.value)
    return exported


def schema(out: OutOption = None) -> int:
    """Print the JSON Schema of the file format, for editors."""
    from proxyctl.config.json_schema import json_schema

    text = json.dumps(json_schema(), indent=2) + "\n"
    if out:
        write_file(Path(out), text)
    else:
        write(text)
    return ExitCode.DONE


def import_(
    backends: BackendOptions,
    cnf: Annotated[str | None, typer.Argument(metavar="[FILE.cnf]", help="A proxysql.cnf.")] = None,
    users_from: Annotated[
        str | None,
        typer.Option(
            "--users-from",
            metavar="HOST[:PORT]",
            help="Instead of a file: a MySQL server whose accounts become mysql_users.",
        ),
    ] = None,
    default_hostgroup: Annotated[
        int, typer.Option("--default-hostgroup", min=0, help="Of the users of --users-from.")
    ] = 0,
    secrets: SecretsOption = Secrets.HASH,
    proxysql_version: VersionOption = None,
    restrict_paths: Annotated[
        bool,
        typer.Option(
            "--restrict-paths",
            help="Refuse files outside the folder of FILE.cnf that @include or a link leads to.",
        ),
    ] = False,
    out: OutOption = None,
) -> int:
    """Turn a proxysql.cnf, or the accounts of a MySQL server, into our files."""
    from proxyctl.cli.import_cnf import imported_cnf, say_what_import_did
    from proxyctl.cli.import_users import imported_users
    from proxyctl.config.project import mistakes_in
    from proxyctl.formats.exported import exported_text

    check_secrets(secrets, out)
    version = chosen_version(proxysql_version)
    if (cnf is None) == (users_from is None):
        raise UsageError(
            "import takes a FILE.cnf, or --users-from HOST",
            hint="proxyctl import --help shows its options",
        )
    if users_from is not None and restrict_paths:
        raise UsageError("--restrict-paths is about the files of a FILE.cnf, not --users-from")
    stays: list[str] = []
    if users_from is not None:
        exported = imported_users(users_from, backends.account(), version, default_hostgroup)
    else:
        exported, stays = imported_cnf(str(cnf), version, secrets, restrict_paths=restrict_paths)
    text = exported_text(
        exported, "yaml", secrets.value, check=lambda text: mistakes_in(text, version)
    )
    emit(exported, text, secrets, out)
    if cnf is not None:
        say_what_import_did(exported, stays, text, cnf, out)
    return ExitCode.DONE
