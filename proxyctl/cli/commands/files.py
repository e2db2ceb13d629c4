"""Commands that check or write files: validate, schema, render, export, import."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.api import RowFormat, SecretForm
from proxyctl.cli.connect import SelectionOptions
from proxyctl.cli.file_options import FileOptions
from proxyctl.cli.login import password_from
from proxyctl.cli.option import OR_STDOUT, choice, out_option, value
from proxyctl.cli.options import (
    BackendOptions,
    FleetOptions,
    FormatOption,
    LayerName,
    VersionOption,
)
from proxyctl.cli.output import (
    ask_password,
    can_ask,
    check_new,
    emit,
    new_files,
    progress,
    say,
    style,
    write,
    write_file,
)
from proxyctl.errors import ExitCode, UsageError
from proxyctl.rows.row import Layer

if TYPE_CHECKING:
    from proxyctl.fleet.targets import Target
    from proxyctl.instance.authentication import Trust
    from proxyctl.instance.backend import Account
    from proxyctl.interchange.write import WrittenFile


RowFormatOption = Annotated[RowFormat, choice(RowFormat)]
SecretsOption = Annotated[
    SecretForm,
    choice(
        SecretForm,
        "--secrets",
        "Write passwords as hashes, leave them out, or (with -o) write them in clear text.",
    ),
]
OutOption = Annotated[str | None, out_option(help="Write to this file.", fix=OR_STDOUT)]


ExportOption = Annotated[
    str | None, out_option(help="Write to this file; with --all into this folder.", fix=OR_STDOUT)
]


def check_out(out: str | None, secrets: SecretForm) -> None:
    """Refuse to write clear-text passwords to stdout, and to overwrite a file.

    Raises: UsageError, RefusedError, ProxyctlError.
    """
    if secrets == "clear" and not out:
        raise UsageError(
            "--secrets clear writes passwords in clear text",
            fix="use it with -o FILE, which only its owner can read",
        )
    if out:
        check_new(Path(out))


def write_rows(file: WrittenFile, secrets: SecretForm, out: str | None) -> None:
    """Write the text to the new file `out` or to stdout, and the warnings to stderr."""
    for warning in file.warnings:
        say(f"warning: {warning}")
    if out:
        # Passwords can be guessed from their hashes.
        mode = 0o644 if secrets == "omit" else 0o600
        write_file(Path(out), file.text, mode=mode, is_new=True)
        say(f"written to {out}")
    else:
        write(file.text)


def validate(
    files: FileOptions, proxysql_version: VersionOption = None, format: FormatOption = "text"
) -> int:
    """Check the files without a server. Lists every mistake with its place."""
    from proxyctl.config.files import load_project
    from proxyctl.render.files import validated_json, validated_text

    project = load_project(files.sources(), version=proxysql_version, runs_commands=False)
    emit(format, text=lambda: validated_text(project), json=lambda: validated_json(project))
    for warning in project.desired.warnings:
        say(f"warning: {warning}")
    return ExitCode.DONE


def render(
    files: FileOptions,
    format: RowFormatOption = "yaml",
    secrets: SecretsOption = "hash",
    proxysql_version: VersionOption = None,
    out: OutOption = None,
) -> int:
    """Write the rows that the files compile to."""
    from proxyctl.config.files import ConfigFiles
    from proxyctl.interchange.export_files import export_files

    check_out(out, secrets)
    file = export_files(ConfigFiles(files.sources()), format, secrets, version=proxysql_version)
    write_rows(file, secrets, out)
    return ExitCode.DONE


def schema(out: OutOption = None) -> int:
    """Print the JSON Schema of the file format, for editors."""
    from proxyctl.config.json_schema import schema_text

    if out:
        write_file(Path(out), schema_text())
    else:
        write(schema_text())
    return ExitCode.DONE


def export(
    selection: SelectionOptions,
    fleet: FleetOptions,
    layer: Annotated[LayerName, choice(LayerName, "--layer", "The layer to export.")] = "runtime",
    format: RowFormatOption = "yaml",
    secrets: SecretsOption = "hash",
    out: ExportOption = None,
) -> int:
    """Write the configuration of an instance as files."""
    from proxyctl import api

    if fleet.is_for_all():
        targets = selection.targets(fleet, files_are_optional=True)
        return _export_all(targets, Layer(layer), format, secrets, out, fleet.parallel)
    check_out(out, secrets)
    write_rows(api.export(selection.instance(), Layer(layer), format, secrets), secrets, out)
    return ExitCode.DONE


def _export_all(
    targets: Sequence[Target],
    layer: Layer,
    format: RowFormat,
    secrets: SecretForm,
    out: str | None,
    workers: int,
) -> int:
    """Write a file for each instance into a new or empty folder. Raises: UsageError."""
    from proxyctl.fleet.failed import worst_of
    from proxyctl.fleet.targets import at_all
    from proxyctl.interchange.export_instance import export_instance
    from proxyctl.render.fleet import counts_line, failures

    if out is None:
        raise UsageError("export --all needs -o FOLDER, for one file for each instance")
    paths = new_files(Path(out), [target.name for target in targets], f".{format}")

    def work(target: Target) -> tuple[Path, WrittenFile]:
        with target.connect() as client:
            return paths[target.name], export_instance(client, layer, format, secrets)

    with progress("exporting", len(targets)) as advance:
        exported, failed = at_all(targets, work, workers=workers, done=advance)
    for path, file in exported:
        write_rows(file, secrets, str(path))
    say(*failures(failed, style(sys.stderr)))
    say(counts_line(len(exported), [f"{len(exported)} exported"] if exported else [], failed))
    return worst_of(failed)


def import_(
    servers: BackendOptions,
    cnf: str | None = typer.Argument(
        None,
        metavar="FILE.cnf",
        help="A proxysql.cnf, or YAML that holds one, such as a ConfigMap.",
    ),
    users_from: str | None = value(
        "HOST[:PORT]", "Import mysql_users from the accounts of this MySQL server, not from a file."
    ),
    default_hostgroup: int = value(
        "N", "With --users-from: the default_hostgroup of the imported users.", default=0, min=0
    ),
    backend_user: str | None = value(
        "NAME",
        "With --users-from: log in to the server as this account.",
        envvar="PROXYCTL_BACKEND_USER",
    ),
    backend_password_file: str | None = value(
        "PATH",
        "File with the password of --backend-user. Default:"
        " PROXYCTL_BACKEND_PASSWORD, or a prompt on a terminal.",
        envvar="PROXYCTL_BACKEND_PASSWORD_FILE",
    ),
    secrets: SecretsOption = "hash",
    proxysql_version: VersionOption = None,
    out: OutOption = None,
) -> int:
    """Convert a proxysql.cnf, or the accounts of a MySQL server, to files."""
    check_out(out, secrets)
    if (cnf is None) == (users_from is None):
        raise UsageError(
            "import needs FILE.cnf or --users-from HOST",
            fix="proxyctl import --help shows its options",
        )
    if cnf is not None:
        from proxyctl.interchange.import_cnf import import_cnf

        imported = import_cnf(cnf, version=proxysql_version, secrets=secrets)
        if imported.beginning is not None:
            say(f"{imported.beginning}: import reads the proxysql.cnf that begins here")
        write_rows(imported.file, secrets, out)
        say(*imported.remarks(out or "the output"))
        return ExitCode.DONE
    from proxyctl.interchange.import_users import import_users
    from proxyctl.nodes.discover import members_in

    account = _account(backend_user, backend_password_file, servers.trust())
    node = next(iter(members_in(str(users_from))), (str(users_from), 3306))
    file = import_users(
        node, account, secrets, version=proxysql_version, default_hostgroup=default_hostgroup
    )
    write_rows(file, secrets, out)
    return ExitCode.DONE


def _account(user: str | None, password_file: str | None, trust: Trust) -> Account:
    """Return the account to log in to the MySQL server with. Raises: UsageError, ProxyctlError."""
    from proxyctl.instance.backend import Account

    if user is None:
        raise UsageError("--users-from needs --backend-user: an account that reads mysql.user")
    if not user:
        raise UsageError("--backend-user: the name is empty")
    if password_file is not None:
        return Account(user, password_from(password_file, "--backend-password-file"), trust)
    password = os.environ.get("PROXYCTL_BACKEND_PASSWORD")
    if password is None and can_ask():
        password = ask_password(f"{user} on the servers")
    return Account(user, password or "", trust)
