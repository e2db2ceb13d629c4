"""The command digest snapshot: the statistics of an instance into a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.options import ConnectionOptions, FileOptions, command
from proxyctl.cli.output import say
from proxyctl.digests.units import count_text
from proxyctl.errors import ExitCode, ProxyctlError

if TYPE_CHECKING:
    from proxyctl.digests.diff_snapshot import DigestRow

_PLAIN = (".json", ".jsonl")
_EVERY = 10_000


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
    from dataclasses import replace

    from proxyctl.cli.connection import connected
    from proxyctl.cli.digest.target import snapshot_path
    from proxyctl.cli.progress import progress
    from proxyctl.digests.counting import NOT_COUNTING, is_counting
    from proxyctl.formats.digest_file import write_digest_file
    from proxyctl.stats.digests import streamed_digests

    with connected(files, connection) as client:
        path = snapshot_path(out, client.login.name or client.address)
        with streamed_digests(client) as found, progress("digests", found.count) as tell:
            told = replace(found, rows=_telling(found.rows, tell))
            try:
                size = write_digest_file(told, path, is_compressed=path.suffix not in _PLAIN)
            except OSError as error:
                raise ProxyctlError(f"{path}: cannot be written: {error.strerror}") from error
    if not is_counting(found.variables):
        say(f"note: {NOT_COUNTING}")
    say(f"{count_text(found.count, 'digest')} saved to {path} ({size:,} bytes)")
    return ExitCode.DONE


def _telling(rows: Iterable[DigestRow], tell: Callable[[int], None]) -> Iterator[DigestRow]:
    for number, row in enumerate(rows, 1):
        if number % _EVERY == 0:
            tell(number)
        yield row
