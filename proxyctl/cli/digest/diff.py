"""The command digest diff: did it help?"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.digest.group import GroupOption, columns_of
from proxyctl.cli.digest.limits import MOST_LISTED
from proxyctl.cli.options import ConnectionOptions, FileOptions, command
from proxyctl.cli.output import columns, style, write
from proxyctl.errors import ExitCode, UsageError
from proxyctl.stats.diff.compare import DiffSort

if TYPE_CHECKING:
    from proxyctl.stats.diff.compare import Diff
    from proxyctl.stats.diff.tally import Tally


class DiffFormat(StrEnum):
    """How the comparison is written."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


def register(group: typer.Typer) -> None:
    """Add the command to the group."""
    command(group, "diff")(diff)


def diff(
    files: FileOptions,
    connection: ConnectionOptions,
    snapshots: Annotated[
        list[str] | None,
        typer.Argument(metavar="BEFORE [AFTER]", help="Snapshots. Without AFTER: the instance."),
    ] = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="FILE", help="The snapshot BEFORE.")
    ] = None,
    after: Annotated[
        str | None, typer.Option("--after", metavar="FILE", help="The snapshot AFTER.")
    ] = None,
    sort: Annotated[
        DiffSort, typer.Option("--sort", help="What comes first; change is that of the load.")
    ] = DiffSort.CHANGE,
    group: GroupOption = None,
    limit: Annotated[
        int, typer.Option("--limit", min=0, max=MOST_LISTED, metavar="N", help="List N at most.")
    ] = 20,
    full_text: Annotated[
        bool, typer.Option("--full-text", help="Do not shorten texts of digests.")
    ] = False,
    format: Annotated[DiffFormat, typer.Option("--format", help="How to write.")] = DiffFormat.TEXT,
) -> int:
    """Compare digests before and after: rates, times, hostgroups, new and vanished ones."""
    from proxyctl.stats.diff.compare import check_order, compare
    from proxyctl.stats.diff.tally import tally
    from proxyctl.stats.digest_file import read_digest_file

    one, other = _named(snapshots or [], before, after)
    by = columns_of(group)
    first = tally(read_digest_file(Path(one)), by)
    if other is not None:
        second = tally(read_digest_file(Path(other)), by, earlier=first)
    else:
        second = _live(files, connection, first)
    check_order(first, second, is_live=other is None)
    found = compare(first, second, sort=sort, limit=limit)
    write(_output(found, sort, format, has_whole_texts=full_text))
    return ExitCode.DONE


def _named(given: list[str], before: str | None, after: str | None) -> tuple[str, str | None]:
    """Return BEFORE and AFTER, however they were named. Raises: UsageError."""
    places = list(given)
    if before is None and places:
        before = places.pop(0)
    if after is None and places:
        after = places.pop(0)
    if places:
        raise UsageError(f"{places[0]}: one snapshot too many", hint="digest diff BEFORE [AFTER]")
    if before is None:
        raise UsageError(
            "the snapshot BEFORE is missing",
            hint="make one with: proxyctl digest snapshot -o FILE",
        )
    return before, after


def _live(files: FileOptions, connection: ConnectionOptions, first: Tally) -> Tally:
    from proxyctl.cli.connection import connected
    from proxyctl.stats.diff.tally import tally
    from proxyctl.stats.read import streamed_digests

    with connected(files, connection) as client, streamed_digests(client) as table:
        return tally(table, first.by, earlier=first)


def _output(diff: Diff, sort: DiffSort, format: DiffFormat, *, has_whole_texts: bool) -> str:
    from proxyctl.render.digest_diff_machine import digest_diff_json
    from proxyctl.render.digest_diff_markdown import digest_diff_markdown
    from proxyctl.render.digest_diff_text import digest_diff_text

    match format:
        case DiffFormat.JSON:
            return digest_diff_json(diff)
        case DiffFormat.MARKDOWN:
            return digest_diff_markdown(diff)
        case DiffFormat.TEXT:
            return digest_diff_text(
                diff, sort, style(), width=columns(), has_whole_texts=has_whole_texts
            )
