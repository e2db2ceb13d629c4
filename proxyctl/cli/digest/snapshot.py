"""The command digest snapshot: the statistics of an instance into a file."""

from __future__ import annotations

from typing import Annotated

import typer

from proxyctl.cli.options import ConnectionOptions, FileOptions, command
from proxyctl.cli.output import say
from proxyctl.errors import ExitCode, ProxyctlError
from proxyctl.stats.units import count_text

_PLAIN = (".json", ".jsonl")


def register(group: typer.Typer) -> None:
    """Add the command to the group."""
    command(group, "snapshot")(snapshot)


def snapshot(
    files: FileOptions,
    connection: ConnectionOptions,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Where to, a new file. Default: digests-NAME-TIME.jsonl.gz."
            " Plain where it ends in .jsonl.",
        ),
    ] = None,
) -> int:
    """Write the digests that the instance has seen into a file, to compare with later."""
    from proxyctl.cli.connection import connected
    from proxyctl.cli.digest.target import snapshot_path
    from proxyctl.cli.progress import progress
    from proxyctl.stats.digest_file import write_digest_file
    from proxyctl.stats.model import NOT_COUNTING, is_counting
    from proxyctl.stats.read import streamed_digests

    with connected(files, connection) as client:
        path = snapshot_path(out, client.login.name or client.address)
        with streamed_digests(client) as found, progress("digests", len(found.rows)) as tell:
            is_compressed = path.suffix not in _PLAIN
            try:
                size = write_digest_file(found, path, is_compressed=is_compressed, progress=tell)
            except OSError as error:
                raise ProxyctlError(f"{path}: cannot be written: {error.strerror}") from error
    if not is_counting(found.variables):
        say(f"note: {NOT_COUNTING}")
    say(f"{count_text(len(found.rows), 'digest')} saved to {path} ({size:,} bytes)")
    return ExitCode.DONE
