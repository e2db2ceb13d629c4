"""The command digest watch: what runs right now, interval by interval."""

from __future__ import annotations

import gc
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.digest.group import GroupOption, columns_of
from proxyctl.cli.digest.limits import MOST_LISTED
from proxyctl.cli.digest.size import AutoApproveOption, warn_of_size
from proxyctl.cli.options import ConnectionOptions, FileOptions, TextFormat, command
from proxyctl.cli.output import columns, is_terminal, style, write
from proxyctl.digests.diff_order import DiffSort
from proxyctl.errors import ConnectionLostError, ExitCode, InstanceError

if TYPE_CHECKING:
    from proxyctl.admin.client import AdminClient
    from proxyctl.digests.diff import Diff
    from proxyctl.digests.diff_tally import Tally
    from proxyctl.digests.top import Group

_OTHER_SCREEN, _BACK = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_CLEAR = "\x1b[H\x1b[2J"
_AWAY_S = 60
"""For so long a ProxySQL that is restarted may stay away."""


def register(group: typer.Typer) -> None:
    """Add the command to the group."""
    command(group, "watch")(watch)


def watch(
    files: FileOptions,
    connection: ConnectionOptions,
    interval: Annotated[
        int,
        typer.Option(
            "--interval", min=1, max=86_400, metavar="S", help="Seconds between two looks."
        ),
    ] = 10,
    count: Annotated[
        int | None,
        typer.Option("--count", min=1, metavar="N", help="End after N intervals. Else: Ctrl-C."),
    ] = None,
    sort: Annotated[
        DiffSort, typer.Option("--sort", help="What comes first, in the last interval.")
    ] = DiffSort.TIME,
    group: GroupOption = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=MOST_LISTED, metavar="N", help="List N at most.")
    ] = 20,
    auto_approve: AutoApproveOption = False,
    format: Annotated[
        TextFormat, typer.Option("--format", help="Tables, or a line of JSON an interval.")
    ] = TextFormat.TEXT,
) -> int:
    """Show what runs right now, again and again. One look at the statistics an interval."""
    from proxyctl.cli.connection import connected
    from proxyctl.digests.diff import compare

    gc.enable()  # this command may run for days
    by = columns_of(group)
    is_screen = format is TextFormat.TEXT and is_terminal(sys.stdout)
    with connected(files, connection) as client:
        warn_of_size(client, is_approved=auto_approve)
        with _screen(is_on=is_screen) as show:
            intervals = _intervals(client, by, interval)
            for number, (last, now) in enumerate(intervals, 1):
                room = _room(limit) if is_screen else limit
                found = compare(last, now, sort=sort, limit=room)
                show(_output(found, format, is_screen=is_screen))
                if number == count:
                    break
    return ExitCode.DONE


def _intervals(
    client: AdminClient, by: tuple[Group, ...], interval: int
) -> Iterator[tuple[Tally, Tally]]:
    """Yield the digests before and after each interval, without end. Raises: InstanceError."""
    last, took = _looked(client, by, None)
    due = time.monotonic()
    while True:
        # One look may take longer than an interval: the admin interface must get to rest.
        due = max(due + interval, time.monotonic() + took)
        time.sleep(max(due - time.monotonic(), 0))
        now, took = _looked(client, by, last)
        yield last, now
        last = now


def _looked(
    client: AdminClient, by: tuple[Group, ...], earlier: Tally | None
) -> tuple[Tally, float]:
    """Return the digests, and for how many seconds ProxySQL was busy with them.

    Waits for a ProxySQL that is restarted.
    """
    from proxyctl.admin.digests import streamed_digests
    from proxyctl.digests.diff_tally import tally

    end = None
    while True:
        start = time.monotonic()
        try:
            if end is not None:
                client.connect()
            with streamed_digests(client) as snapshot:
                return tally(snapshot, by, earlier=earlier), time.monotonic() - start
        except InstanceError as error:
            if end is None and not isinstance(error, ConnectionLostError):
                raise
            end = end or start + _AWAY_S
            if start > end:
                raise
            time.sleep(1)


@contextmanager
def _screen(*, is_on: bool) -> Iterator[Callable[[str], None]]:
    """Yield what shows a text in place of the last one.

    A terminal gets its own screen back, with the last text below; others get one text after the
    other.
    """
    if not is_on:
        yield write
        return
    last = ""

    def show(text: str) -> None:
        nonlocal last
        last = text
        write(_CLEAR + text)

    write(f"{_OTHER_SCREEN}{_CLEAR}Counting; the first table comes after one interval.\n")
    try:
        yield show
    finally:
        write(_BACK + last)


def _room(limit: int) -> int:
    """Return how many digests a screen has room for, below two notes."""
    return max(min(limit, shutil.get_terminal_size().lines - 7), 1)


def _output(found: Diff, format: TextFormat, *, is_screen: bool) -> str:
    from proxyctl.render.digest_diff_machine import digest_diff_json
    from proxyctl.render.digest_diff_watch import digest_watch_text

    if format is TextFormat.JSON:
        return digest_diff_json(found, is_one_line=True)
    table = digest_watch_text(found, style(), width=columns())
    return table if is_screen else table + "\n"
