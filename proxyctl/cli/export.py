"""The export command."""

from __future__ import annotations

from typing import Annotated

import typer

from proxyctl.cli.exported import OutOption, RowFormat, Secrets, SecretsOption, check_secrets, emit
from proxyctl.cli.options import ConnectionOptions, FileOptions, LayerName, command
from proxyctl.errors import ExitCode


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    command(app, "export")(export)


def export(
    files: FileOptions,
    connection: ConnectionOptions,
    layer: Annotated[LayerName, typer.Option("--layer", help="Which layer.")] = LayerName.RUNTIME,
    format: Annotated[RowFormat, typer.Option("--format", help="How to write.")] = RowFormat.YAML,
    secrets: SecretsOption = Secrets.HASH,
    out: OutOption = None,
) -> int:
    """Write the configuration that an instance holds as our files."""
    from proxyctl.catalog import REFERENCE
    from proxyctl.cli.connection import connected
    from proxyctl.config.project import mistakes_in
    from proxyctl.formats.exported import exported_text
    from proxyctl.plan.export import export_layer
    from proxyctl.state.row import Layer

    check_secrets(secrets, out)
    with connected(files, connection) as client:
        exported = export_layer(client, Layer(layer.value), secrets.value)
        header = [f"{layer.value.upper()} of {client.address}, ProxySQL {client.version_text}"]
    if exported.version[:2] != REFERENCE[:2]:
        header.append(f"check it with: proxyctl validate --proxysql-version {exported.version}")
    text = exported_text(
        exported,
        format.value,
        secrets.value,
        header=header,
        check=lambda text: mistakes_in(text, exported.version, exported.additions),
    )
    emit(exported, text, secrets, out)
    return ExitCode.DONE
