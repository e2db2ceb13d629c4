"""Commands that check or write files: validate, schema, render, export.

Also what they share with import: how rows become files, and what happens to the secrets in them.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.connect import Place
from proxyctl.cli.options import (
    FORMAT,
    OR_STDOUT,
    FileOptions,
    FormatOption,
    LayerName,
    TextFormat,
    VersionOption,
    chosen_version,
    out_option,
)
from proxyctl.cli.output import check_new, say, write, write_file
from proxyctl.errors import ExitCode, UsageError, counted
from proxyctl.state.row import Layer

if TYPE_CHECKING:
    from proxyctl.state.fold import Exported


class RowFormat(StrEnum):
    """How rows are written."""

    YAML = "yaml"
    SQL = "sql"
    CNF = "cnf"


class Secrets(StrEnum):
    """How passwords are written."""

    HASH = "hash"
    OMIT = "omit"
    CLEAR = "clear"


SecretsOption = Annotated[
    Secrets,
    typer.Option(
        "--secrets",
        help="Write passwords as hashes, leave them out, or (with -o) write them in clear text.",
    ),
]
OutOption = Annotated[str | None, out_option(help="Write to this file.", fix=OR_STDOUT)]


def check_out(out: str | None, secrets: Secrets) -> None:
    """Refuse passwords in clear text on a terminal or in a log, and to overwrite a file.

    Raises: UsageError, RefusedError, ProxyctlError.
    """
    if secrets is Secrets.CLEAR and not out:
        raise UsageError(
            "--secrets clear writes passwords in clear text",
            fix="use it with -o FILE, which only its owner can read",
        )
    if out:
        check_new(Path(out))


def emit(exported: Exported, text: str, secrets: Secrets, out: str | None) -> None:
    """Write the text to `out`, a new file, or stdout, and the warnings to stderr."""
    for warning in exported.warnings:
        say(f"warning: {warning}")
    if out:
        # Passwords can be guessed from their hashes.
        mode = 0o644 if secrets is Secrets.OMIT else 0o600
        write_file(Path(out), text, mode=mode, is_new=True)
        say(f"written to {out}")
    else:
        write(text)


def validate(
    files: FileOptions,
    proxysql_version: VersionOption = None,
    format: FormatOption = TextFormat.TEXT,
) -> int:
    """Check the files without a server. Lists every mistake with its place."""
    from proxyctl.config.project import load_project
    from proxyctl.render.encode import document

    project = load_project(files.sources(), version=chosen_version(proxysql_version))
    counts = {name: len(table.rows) for name, table in project.desired.tables.items()}
    if format is TextFormat.JSON:
        write(document({"valid": True, "tables": counts}))
    else:
        rows = counted(sum(counts.values()), "row")
        write(f"The files are valid: {rows} in {counted(len(counts), 'table')}.\n")
    for warning in project.desired.warnings:
        say(f"warning: {warning}")
    return ExitCode.DONE


def render(
    files: FileOptions,
    format: Annotated[RowFormat, FORMAT] = RowFormat.YAML,
    secrets: SecretsOption = Secrets.HASH,
    proxysql_version: VersionOption = None,
    out: OutOption = None,
) -> int:
    """Write the rows that the files compile to."""
    from proxyctl.config.project import ParsedFiles
    from proxyctl.formats.exported import exported_text

    check_out(out, secrets)
    version, parsed = chosen_version(proxysql_version), ParsedFiles(files.sources())
    project = parsed.project(version)
    exported = project.exported(secrets.value)
    exported.is_for_version = (version or parsed.version) is not None
    written = exported_text(exported, format.value, secrets.value, owned=project.desired.tables)
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
    place: Place,
    layer: LayerName = typer.Option(LayerName.RUNTIME, help="The layer to export."),
    format: Annotated[RowFormat, FORMAT] = RowFormat.YAML,
    secrets: SecretsOption = Secrets.HASH,
    out: OutOption = None,
) -> int:
    """Write the configuration of an instance as files."""
    from proxyctl.config.project import mistakes_in
    from proxyctl.formats.exported import exported_text
    from proxyctl.plan.export import export_layer

    check_out(out, secrets)
    with place.connect() as client:
        exported = export_layer(client, Layer(layer.value), secrets.value)
        header = [f"{layer.value.upper()} of {client.address}, ProxySQL {client.version_text}"]
    text = exported_text(
        exported,
        format.value,
        secrets.value,
        header=header,
        check=lambda text: mistakes_in(text, exported.version, exported.deviations),
    )
    emit(exported, text, secrets, out)
    return ExitCode.DONE
