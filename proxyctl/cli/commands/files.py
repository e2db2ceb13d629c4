"""Commands that check or write files: validate, schema, render, export, import."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from proxyctl.api import RowFormat, SecretForm
from proxyctl.cli.completion import key_names
from proxyctl.cli.connect import SelectionOptions
from proxyctl.cli.file_options import FileOptions
from proxyctl.cli.option_kinds import OR_STDOUT, choice, no_such, out_option, value
from proxyctl.cli.options import (
    FleetOptions,
    FormatOption,
    LayerName,
    VersionOption,
)
from proxyctl.cli.output import (
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
    from proxyctl.interchange.write import WrittenFile


_MOST_SAME_KEYS = 6
"""How many keys a fix lists that differ only by their section."""

RowFormatOption = Annotated[RowFormat, choice(RowFormat)]
SecretsOption = Annotated[
    SecretForm,
    choice(
        SecretForm,
        "--secrets",
        "Write passwords as hashes, leave them out, or (with -o) write them in clear text.",
    ),
]
OutOption = Annotated[str | None, out_option(help="Write to this new file.", fix=OR_STDOUT)]


ExportOption = Annotated[
    str | None,
    out_option(help="Write to this new file; with --all into this new folder.", fix=OR_STDOUT),
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
    report = project.broken_policies()
    emit(
        format,
        text=lambda: validated_text(project, report, style()),
        json=lambda: validated_json(project, report),
    )
    for warning in project.desired.warnings:
        say(f"warning: {warning}")
    return ExitCode.ERROR if report is not None and report.has_errors else ExitCode.DONE


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


def schema(
    key: str | None = value(
        "NAME",
        "Explain this section, key (mysql_servers.weight) or variable instead.",
        autocompletion=key_names,
    ),
    out: Annotated[str | None, out_option(help="Write to this file.", fix=OR_STDOUT)] = None,
) -> int:
    """Print the JSON Schema of the file format, for editors."""
    if key is not None:
        text = _explained(key)
    else:
        from proxyctl.config.json_schema import schema_text

        text = schema_text()
    if out:
        write_file(Path(out), text)
    else:
        write(text)
    return ExitCode.DONE


def _explained(name: str) -> str:
    """Return what a key does. Raises: UsageError if there is no such key."""
    from proxyctl.catalog.variables import MISNAMED
    from proxyctl.config.key_lookup import explain_key, known_keys
    from proxyctl.render.keys import key_text

    found = explain_key(name)
    if found is None:
        noun = "section, key or variable"
        known = list(known_keys(name))
        same = [key for key in known if key.endswith((f".{name}", f"-{name}"))]
        if same:
            more = ", ..." if len(same) > _MOST_SAME_KEYS else ""
            fix = f"name it in full: {', '.join(same[:_MOST_SAME_KEYS])}{more}"
            raise no_such("--key", name, noun, (), fix=fix)
        fix = "name a section, a key of it such as mysql_servers.weight, or a variable"
        raise no_such("--key", name, noun, known, fix=fix, misnamed=MISNAMED)
    return key_text(found)


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
        raise UsageError("export --all needs -o FOLDER, for one file per instance")
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
