"""The command digest reset."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.options import ConnectionOptions, FileOptions, command
from proxyctl.cli.output import is_terminal, say, says_yes
from proxyctl.errors import (
    ApplyError,
    ConnectionLostError,
    ExitCode,
    ProxyctlError,
    RefusedError,
    UsageError,
)
from proxyctl.stats.units import count_text

if TYPE_CHECKING:
    from proxyctl.instance.client import AdminClient


def register(group: typer.Typer) -> None:
    """Add the command to the group."""
    command(group, "reset")(reset)


def reset(
    files: FileOptions,
    connection: ConnectionOptions,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Where the snapshot goes that is taken first, a new file."
            " Default: digests-NAME-TIME.jsonl.gz.",
        ),
    ] = None,
    auto_approve: Annotated[bool, typer.Option("--auto-approve", help="Do not ask.")] = False,
) -> int:
    """Clear the digest statistics for everybody, after they were saved to a file."""
    from proxyctl.cli.connection import connected
    from proxyctl.cli.digest.target import snapshot_path
    from proxyctl.stats.read import clear_digests, read_digest_size
    from proxyctl.stats.units import size_text

    with connected(files, connection) as client:
        path = snapshot_path(out, client.login.name or client.address)
        memory = size_text(read_digest_size(client).memory)
        say(
            f"{client.address}: this clears stats_mysql_query_digest, {memory} of digests, for"
            " everybody who reads them: monitoring sees the counters begin again, and it cannot be"
            f" undone. What they are now goes to {path} first."
        )
        if not auto_approve:
            _ask(client.address)
        began = time.monotonic()
        count = _save(client, path)
        try:
            clear_digests(client)
        except ConnectionLostError as error:
            raise ApplyError(
                error.message,
                then=[
                    *error.then,
                    f"it is not known whether the statistics were cleared; they are in {path}",
                ],
            ) from error
    say(
        f"{count_text(count, 'digest')} saved to {path}; all were cleared"
        f" {time.monotonic() - began:.1f} s after the reading began, and queries that ended in"
        " between may be counted nowhere"
    )
    return ExitCode.DONE


def _save(client: AdminClient, path: Path) -> int:
    """Write the snapshot; return how many digests it holds. Raises: ProxyctlError."""
    from proxyctl.stats.digest_file import write_digest_file
    from proxyctl.stats.read import streamed_digests

    is_compressed = path.suffix not in (".json", ".jsonl")
    with streamed_digests(client) as found:
        try:
            write_digest_file(found, path, is_compressed=is_compressed)
        except OSError as error:
            raise ProxyctlError(
                f"{path}: cannot be written: {error.strerror}; nothing was cleared"
            ) from error
    return len(found.rows)


def _ask(address: str) -> None:
    """Ask on the terminal. Only `yes` goes on."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        raise UsageError(
            "digest reset asks before it acts, and there is no terminal to ask on",
            hint="--auto-approve clears without asking",
        )
    if not says_yes(f"Clear the statistics of {address}?"):
        raise RefusedError("not cleared: the answer was not 'yes'")
