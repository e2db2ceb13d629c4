"""The command replay: what the files would change for queries that an instance has seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.options import ConnectionOptions, FileOptions, TextFormat, command
from proxyctl.cli.output import say, style, write
from proxyctl.errors import ExitCode, ProxyctlError

if TYPE_CHECKING:
    from proxyctl.stats.model import DigestTable


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    command(app, "replay")(replay)


def replay(
    files: FileOptions,
    connection: ConnectionOptions,
    digests: Annotated[
        str | None,
        typer.Option(
            "--digests", metavar="FILE", help="Digests that --save wrote, not the instance's own."
        ),
    ] = None,
    save: Annotated[
        str | None,
        typer.Option("--save", metavar="FILE", help="Also write the digests into a file."),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=0, metavar="N", help="List at most N of each kind.")
    ] = 20,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit 2 when anything changes, or may.")
    ] = False,
    format: Annotated[TextFormat, typer.Option("--format", help="How to write.")] = TextFormat.TEXT,
) -> int:
    """Show what the files would change for the queries that the instance has seen."""
    from proxyctl.cli.connection import opened
    from proxyctl.cli.progress import progress
    from proxyctl.render.replay_machine import replay_json
    from proxyctl.render.replay_text import replay_text
    from proxyctl.stats.digest_file import read_digest_file
    from proxyctl.stats.read import read_digests
    from proxyctl.stats.replay.change import routing_change
    from proxyctl.stats.replay.result import replay as replayed

    table = read_digest_file(Path(digests)) if digests else None
    with opened(files, connection) as (client, parsed):
        change = routing_change(client, parsed)
        if table is None:
            table = read_digests(client)
    if save:
        _save(table, Path(save))
    with progress("replaying digests", len(table.rows)) as tell:
        report = replayed(table, change.sides, limit=limit, progress=tell)
    if format is TextFormat.JSON:
        write(replay_json(report, change.moves))
    else:
        write(replay_text(report, change.moves, style()))
    if detailed_exitcode and (report.moves or change.moves):
        return ExitCode.DIFFERENCES
    return ExitCode.DONE


def _save(table: DigestTable, path: Path) -> None:
    """Write digests into a file, for its owner only: digests tell what an application does.

    Raises: ProxyctlError when it cannot be written.
    """
    from proxyctl.stats.digest_file import write_digest_file

    try:
        write_digest_file(table, path)
    except OSError as error:
        raise ProxyctlError(f"{path}: cannot be written: {error.strerror}") from error
    say(f"{len(table.rows)} digests saved to {path}")
