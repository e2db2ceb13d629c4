"""Commands that check or write files: validate, schema, render, export, import."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from proxyctl.cli.connect import Selection
from proxyctl.cli.file_options import FileOptions
from proxyctl.cli.login import password_from
from proxyctl.cli.option import OR_STDOUT, choice, out_option, value
from proxyctl.cli.options import BackendOptions, FormatOption, LayerName, VersionOption
from proxyctl.cli.output import ask_password, can_ask, check_new, say, write, write_file
from proxyctl.errors import ConfigError, ExitCode, ProxyctlError, UsageError, counted
from proxyctl.state.row import Layer

if TYPE_CHECKING:
    from proxyctl.catalog import Version
    from proxyctl.instance.authentication import Trust
    from proxyctl.instance.backend import Account
    from proxyctl.interchange.embedded import EmbeddedFile
    from proxyctl.interchange.fold import Exported
    from proxyctl.interchange.import_cnf import Imported


RowFormat = Literal["yaml", "sql", "cnf"]
Secrets = Literal["hash", "omit", "clear"]
RowFormatOption = Annotated[RowFormat, choice(RowFormat)]
SecretsOption = Annotated[
    Secrets,
    choice(
        Secrets,
        "--secrets",
        "Write passwords as hashes, leave them out, or (with -o) write them in clear text.",
    ),
]
OutOption = Annotated[str | None, out_option(help="Write to this file.", fix=OR_STDOUT)]


def check_out(out: str | None, secrets: Secrets) -> None:
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


def emit(exported: Exported, text: str, secrets: Secrets, out: str | None) -> None:
    """Write the text to the new file `out` or to stdout, and the warnings to stderr."""
    for warning in exported.warnings:
        say(f"warning: {warning}")
    if out:
        # Passwords can be guessed from their hashes.
        mode = 0o644 if secrets == "omit" else 0o600
        write_file(Path(out), text, mode=mode, is_new=True)
        say(f"written to {out}")
    else:
        write(text)


def validate(
    files: FileOptions, proxysql_version: VersionOption = None, format: FormatOption = "text"
) -> int:
    """Check the files without a server. Lists every mistake with its place."""
    from proxyctl.config.project import load_project
    from proxyctl.render.encode import document

    project = load_project(files.sources(), version=proxysql_version)
    counts = {name: len(table.rows) for name, table in project.desired.tables.items()}
    if format == "json":
        write(document({"valid": True, "tables": counts}))
    else:
        rows = counted(sum(counts.values()), "row")
        write(f"The files are valid: {rows} in {counted(len(counts), 'table')}.\n")
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
    from proxyctl.config.project import ConfigFiles
    from proxyctl.interchange.write import exported_text
    from proxyctl.plan.export import exported_files

    check_out(out, secrets)
    parsed = ConfigFiles(files.sources())
    project = parsed.project(proxysql_version)
    exported = exported_files(project.desired, secrets)
    exported.is_for_version = (proxysql_version or parsed.version) is not None
    written = exported_text(exported, format, secrets, owned=project.desired.tables)
    emit(exported, written, secrets, out)
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
    place: Selection,
    layer: Annotated[LayerName, choice(LayerName, "--layer", "The layer to export.")] = "runtime",
    format: RowFormatOption = "yaml",
    secrets: SecretsOption = "hash",
    out: OutOption = None,
) -> int:
    """Write the configuration of an instance as files."""
    from proxyctl.config.project import mistakes_in
    from proxyctl.interchange.write import exported_text
    from proxyctl.plan.export import export_layer

    check_out(out, secrets)
    with place.connect() as client:
        exported = export_layer(client, Layer(layer), secrets)
        header = [f"{layer.upper()} of {client.address}, ProxySQL {client.version_text}"]
    text = exported_text(
        exported,
        format,
        secrets,
        header=header,
        check=lambda text: mistakes_in(text, exported.version, exported.deviations),
    )
    emit(exported, text, secrets, out)
    return ExitCode.DONE


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
    from proxyctl.config.project import mistakes_in
    from proxyctl.interchange.write import exported_text

    check_out(out, secrets)
    version = proxysql_version
    if (cnf is None) == (users_from is None):
        raise UsageError(
            "import needs FILE.cnf or --users-from HOST",
            fix="proxyctl import --help shows its options",
        )
    if cnf is not None and cnf.endswith(".sql"):
        raise UsageError(
            f"{cnf}: import reads a proxysql.cnf, not SQL",
            fix="run the script at a ProxySQL, or at `proxyctl sandbox`, and then export that",
        )
    imported = None
    if cnf is not None:
        imported = _imported(cnf, version, secrets)
        exported = imported.exported
    else:
        account = _account(backend_user, backend_password_file, servers.trust())
        exported = _users(str(users_from), account, version, default_hostgroup)
        exported.is_for_version = version is not None
    text = exported_text(
        exported, "yaml", secrets, check=lambda text: mistakes_in(text, exported.version)
    )
    emit(exported, text, secrets, out)
    if imported is not None:
        say(*imported.remarks(text, source=str(cnf), out=out or "the output"))
    return ExitCode.DONE


def _imported(cnf: str, version: Version | None, secrets: Secrets) -> Imported:
    """Return the configuration of a proxysql.cnf, which may be a text inside of the file.

    Raises: ProxyctlError if it cannot be read; ConfigError.
    """
    from proxyctl.config.files import near_file
    from proxyctl.config.sources import MAX_FILE, UnreadableError, read_bytes
    from proxyctl.interchange.import_cnf import import_cnf
    from proxyctl.interchange.libconfig import Offset
    from proxyctl.interchange.not_a_cnf import CNF, looks_like_yaml

    try:
        text = read_bytes(cnf, limit=MAX_FILE).decode("utf-8", "surrogateescape")
    except UnreadableError as error:
        raise ProxyctlError(f"{cnf}: {error}", fix=error.fix or near_file(cnf)) from error
    try:
        return import_cnf(text, cnf, version=version, secrets=secrets)
    except ConfigError:
        if not looks_like_yaml(text, cnf):
            raise
    embedded = _embedded(text, cnf)
    place, offset = f"{cnf} (text of line {embedded.line})", None
    if embedded.is_literal:
        place, offset = cnf, Offset(embedded.line - 1, embedded.indent)
    imported = import_cnf(embedded.text, place, version=version, secrets=secrets, offset=offset)
    say(f"{cnf}:{embedded.line}:{embedded.column}: import reads the {CNF} that begins here")
    return imported


def _embedded(text: str, path: str) -> EmbeddedFile:
    """Return the proxysql.cnf inside of a YAML file. Raises: ConfigError."""
    from proxyctl.config.yaml import read_foreign_yaml
    from proxyctl.interchange.embedded import embedded_file
    from proxyctl.interchange.not_a_cnf import CNF, holds_cnf, sections_as_yaml, template_in

    try:
        documents = read_foreign_yaml(text, path)
    except ConfigError as error:
        answer = template_in(text, path)
        raise ConfigError([answer]) if answer is not None else error from error
    for document in documents:
        answer = sections_as_yaml(document.root, path)
        if answer is not None:
            raise ConfigError([answer])
    return embedded_file(documents, text, holds_cnf, name=CNF)


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


def _users(
    server: str, account: Account, version: Version | None, default_hostgroup: int
) -> Exported:
    """Return the accounts of a MySQL server as mysql_users. Raises: InstanceError."""
    from proxyctl.catalog import REFERENCE
    from proxyctl.interchange.fold import leave_out_administrators
    from proxyctl.interchange.import_users import exported_users
    from proxyctl.nodes.discover import members_in

    node = next(iter(members_in(server)), (server, 3306))
    exported = exported_users(
        node, account, version=version or REFERENCE, default_hostgroup=default_hostgroup
    )
    leave_out_administrators(exported, {})
    return exported
