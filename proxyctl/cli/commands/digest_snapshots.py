"""The commands digest snapshot, diff, reset and report: save, compare, clear and draw digests."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.catalog.releases import PURGES_DIGESTS
from proxyctl.cli.commands.digest import MOST_LISTED, FullTextOption, GroupOption, columns_of
from proxyctl.cli.commands.digest_fleet import (
    DiffOptions,
    diff_all,
    emit_diff,
    read_all,
    snapshot_all,
)
from proxyctl.cli.connect import SelectionOptions
from proxyctl.cli.option_kinds import out_option, parsed, value
from proxyctl.cli.options import AutoApproveOption, FleetOptions, FormatOption
from proxyctl.cli.output import (
    check_new,
    check_writable,
    confirm,
    progress,
    say,
    style,
    write_file,
)
from proxyctl.cli.store_options import ComparedStoreOptions, StoreOptions
from proxyctl.config.starters import templates_folder
from proxyctl.errors import (
    ApplyError,
    ConnectionLostError,
    ExitCode,
    ProxyctlError,
    RefusedError,
    UsageError,
)
from proxyctl.stats.diff import DiffSort
from proxyctl.stats.model import NOT_COUNTING, TABLE_GROUPS, Group, is_counting
from proxyctl.stats.units import microseconds_of, size_text, time_text
from proxyctl.text import counted

if TYPE_CHECKING:
    from proxyctl.fleet.failed import Failed
    from proxyctl.instance.client import AdminClient
    from proxyctl.stats.report import DigestReport
    from proxyctl.stats.store.window import StoreWindow


def snapshot(
    selection: SelectionOptions,
    fleet: FleetOptions,
    out: Annotated[
        str | None,
        out_option(
            help="A new file for the digests; uncompressed if its name ends in .jsonl."
            " Default: digests-NAME-TIME.jsonl.gz. With --all a new folder."
        ),
    ] = None,
) -> int:
    """Write the digests that the instance has seen into a file, to compare with later.

    With --all: a file for each instance.
    """
    from proxyctl.stats.digest_file import write_digest_file
    from proxyctl.stats.read import streamed_digests

    if fleet.is_for_all():
        return snapshot_all(selection.targets(fleet, files_are_optional=True), fleet, out)
    with selection.connect() as client:
        path = _snapshot_path(out, client.name)
        with streamed_digests(client) as digests, progress("digests", len(digests.rows)) as advance:
            size = write_digest_file(
                digests, path, is_compressed=_is_compressed(path), progress=advance
            )
    if not is_counting(digests.variables):
        say(f"note: {NOT_COUNTING}")
    say(f"{counted(len(digests.rows), 'entry')} saved to {path} ({size_text(size)})")
    return ExitCode.DONE


def _is_compressed(path: Path) -> bool:
    return path.suffix not in (".json", ".jsonl")


def _snapshot_path(out: str | None, name: str) -> Path:
    """Return the path of a new snapshot: that of -o, or a name made of the instance and the time.

    The default is in the working folder, with the time in UTC. Raises: RefusedError when the file
    exists; ProxyctlError when it cannot be written.
    """
    safe = re.sub("[^A-Za-z0-9.]+", "-", name).strip("-")
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    path = Path(out or f"digests-{safe}-{moment}.jsonl.gz")
    check_new(path)
    return path


def diff(
    selection: SelectionOptions,
    fleet: FleetOptions,
    history: ComparedStoreOptions,
    snapshots: list[str] | None = typer.Argument(
        None,
        metavar="BEFORE AFTER",
        help="Two snapshots; with --all two folders of `digest snapshot --all`."
        " Default for AFTER: the instance.",
    ),
    before: str | None = value("FILE", "The snapshot BEFORE."),
    after: str | None = value("FILE", "The snapshot AFTER."),
    sort: DiffSort = value(
        "KEY",
        "Sort key: change (of the load), time, avg, count.",
        default=DiffSort.CHANGE,
    ),
    group: GroupOption = None,
    limit: int = value("N", "List at most N.", default=20, min=0, max=MOST_LISTED),
    full_text: FullTextOption = False,
    format: FormatOption = "text",
) -> int:
    """Compare digests before and after: rates, times, hostgroups, new and missing digests.

    With --all: of each instance, added up. With --store: of two past periods.
    """
    paths = iter(snapshots or ())
    before = before or next(paths, None)
    after = after or next(paths, None)
    windows = history.windows(selection)
    is_of_many = fleet.is_for_all() or windows is not None
    groups = columns_of(group, Group if is_of_many else TABLE_GROUPS)
    options = DiffOptions(groups, sort, limit, full_text)
    if windows is not None:
        _refuse_other_sources(fleet, has_snapshots=bool(before or after))
        return _diff_of_store(selection, *windows, options, format)
    if before is None:
        fix = "name two snapshots: proxyctl digest diff monday.gz tuesday.gz"
        raise UsageError("BEFORE is missing", fix=fix)
    if (extra := next(paths, None)) is not None:
        raise UsageError(f"unexpected argument: {extra}", fix="see proxyctl digest diff --help")
    if fleet.is_for_all():
        return diff_all(selection, fleet, before, after, options, format)
    return _diff_of_one(selection, before, after, options, format)


def _diff_of_one(
    selection: SelectionOptions, before: str, after: str | None, options: DiffOptions, format: str
) -> int:
    """Compare two files, or a file with what the instance holds now."""
    from proxyctl.render.digest_diff import DIFF
    from proxyctl.render.style import instance_text
    from proxyctl.stats.counters import tally
    from proxyctl.stats.diff import compare
    from proxyctl.stats.digest_file import read_digest_file
    from proxyctl.stats.read import streamed_digests

    for path in filter(None, (before, after)):
        if Path(path).is_dir():
            raise UsageError(f"{path}: a folder", fix="compare two folders with --all")
    first = tally(read_digest_file(Path(before)), options.groups)
    if after is not None:
        second = tally(read_digest_file(Path(after)), options.groups, earlier=first)
    else:
        with selection.connect() as client, streamed_digests(client) as table:
            second = tally(table, options.groups, earlier=first)
    comparison = compare(first, second, sort=options.sort, limit=options.limit)
    comparison.hostgroup_names = selection.hostgroup_names()
    emit_diff(comparison, instance_text(second.table), DIFF, options, format)
    return ExitCode.DONE


def _diff_of_store(
    selection: SelectionOptions,
    window: StoreWindow,
    against_s: int,
    options: DiffOptions,
    format: str,
) -> int:
    """Compare a time in a store with the time before it."""
    from proxyctl.render.digest_diff import DIFF_OF_STORE
    from proxyctl.render.digest_store import store_heading
    from proxyctl.stats.store.diff import compare_times

    comparison = compare_times(
        window, against_s, options.groups, sort=options.sort, limit=options.limit
    )
    comparison.hostgroup_names = selection.hostgroup_names()
    heading = store_heading(window, [instance.name for instance in comparison.instances])
    emit_diff(comparison, heading, DIFF_OF_STORE, options, format)
    return ExitCode.DONE


def _refuse_other_sources(fleet: FleetOptions, *, has_snapshots: bool) -> None:
    """Refuse snapshots and --all with --store. Raises: UsageError."""
    if has_snapshots or fleet.is_for_all():
        extra = "the snapshots" if has_snapshots else "--all"
        raise UsageError(f"--store does not read an instance or a snapshot: leave out {extra}")


def reset(
    selection: SelectionOptions,
    out: Annotated[
        str | None,
        out_option(
            help="A new file for the digests; uncompressed if its name ends in .jsonl."
            " Default: digests-NAME-TIME.jsonl.gz."
        ),
    ] = None,
    older_than: int | None = value(
        "TIME",
        "Clear only the entries not seen for this long, such as 7d."
        " Needs ProxySQL 3.0.10 or newer.",
        parser=parsed("--older-than", microseconds_of),
    ),
    auto_approve: AutoApproveOption = False,
) -> int:
    """Save the digest statistics to a file, then clear them on the instance."""
    from proxyctl.instance.interrupts import uninterrupted
    from proxyctl.stats.digest_file import write_digest_file
    from proxyctl.stats.read import read_digest_memory, streamed_digests

    age_s = (older_than or 0) // 1_000_000
    if older_than is not None and not age_s:
        fix = "name a longer time, such as 7d, or leave it out to clear all entries"
        raise UsageError("--older-than: at least 1s", fix=fix)
    with selection.connect() as client:
        if age_s and not client.version.has(PURGES_DIGESTS):
            raise RefusedError(
                f"{client.address}: ProxySQL {client.version} clears all digests or none: PURGE"
                f" came with {client.version.numbered(PURGES_DIGESTS)}",
                fix="compare two snapshots instead: digest diff; or leave out --older-than to"
                " clear all",
            )
        path = _snapshot_path(out, client.name)
        memory = size_text(read_digest_memory(client))
        subject = f"stats_mysql_query_digest, {memory} of digests,"
        if older_than:
            since = time_text(older_than)
            subject = f"the entries not seen for {since} in stats_mysql_query_digest ({memory}),"
        say(
            f"{client.address}: this clears {subject} for everyone: monitoring will see their"
            f" counters start at 0. This cannot be undone. All counters so far are saved to {path}"
            " first."
        )
        if not auto_approve:
            confirm(
                "digest reset",
                f"Clear the statistics of {client.address}?",
                fix="run it on a terminal; --auto-approve clears without asking",
                refusal="not cleared",
            )
        began = time.monotonic()
        with streamed_digests(client) as digests:
            write_digest_file(digests, path, is_compressed=_is_compressed(path))
        with uninterrupted():
            cleared = _clear(client, age_s, path)
    say(
        f"{counted(len(digests.rows), 'entry')} saved to {path}; {cleared}"
        f" {time_text((time.monotonic() - began) * 1e6)} after the reading began; queries that"
        " ended in between may be missing from both"
    )
    return ExitCode.DONE


def _clear(client: AdminClient, age_s: int, path: Path) -> str:
    """Clear the entries not seen for `age_s`, or all entries; return a text about the result.

    Raises: ApplyError when it is unknown whether the entries were cleared.
    """
    from proxyctl.stats.read import clear_digests, purge_digests

    try:
        if not age_s:
            clear_digests(client)
            return "all were cleared"
        now = client.number(client.query("SELECT strftime('%s','now')")[0][0])
        removed = purge_digests(client, now - age_s)
    except ConnectionLostError as error:
        raise ApplyError(
            error.message,
            then=[*error.then, f"the statistics may have been cleared; {path} holds them"],
        ) from error
    return f"{counted(removed, 'entry')} cleared"


# digest report -----------------------------------------------------------------------------------


def report(
    selection: SelectionOptions,
    fleet: FleetOptions,
    history: StoreOptions,
    out: Annotated[str, out_option(help="The page, such as report.html.")],
    snapshots: list[str] | None = typer.Argument(
        None,
        metavar="SNAPSHOT",
        help="Files that `digest snapshot` wrote. With several, the report shows what was"
        " counted between them.",
        show_default=False,
    ),
    limit: int = value("N", "List the N digests with the most time.", default=250, min=1, max=500),
) -> int:
    """Write a page with charts and a table of the digests; the browser needs no network.

    With --all: added up over all instances. With --store: of a past period.
    """
    from proxyctl.fleet.failed import worst_of
    from proxyctl.render.fleet import failures
    from proxyctl.render.report import report_html
    from proxyctl.stats.digest_file import read_digest_file
    from proxyctl.stats.read import read_digests
    from proxyctl.stats.report import make_report, make_report_of_fleet
    from proxyctl.stats.store.report import make_report_of_store

    path = Path(out)
    _check_target(path, snapshots or [])
    failed: Sequence[Failed] = ()
    page: DigestReport | None
    window = history.window(selection)
    if window is not None:
        _refuse_other_sources(fleet, has_snapshots=bool(snapshots))
        page = make_report_of_store(window, limit=limit)
    elif fleet.is_for_all():
        if snapshots:
            raise UsageError("--all reads the instances", fix="leave out the snapshots")
        tables, failed = read_all(selection.targets(fleet, files_are_optional=True), fleet)
        unread = [failure.name for failure in failed]
        page = make_report_of_fleet(tables, limit=limit, unread=unread) if tables else None
    elif snapshots:
        tables = [read_digest_file(Path(name)) for name in snapshots]
        page = make_report(tables, limit=limit, snapshots=len(snapshots))
    else:
        with selection.connect() as client:
            page = make_report([read_digests(client)], limit=limit)
    if page is not None:
        for note in page.notes:
            say(f"note: {note}")
        text = report_html(page, selection.hostgroup_names(), templates_folder() / "report")
        write_file(path, text, mode=0o600)
        size = size_text(path.stat().st_size)
        say(f"{counted(page.count, 'digest')} reported in {path} ({size})")
    say(*failures(failed, style(sys.stderr)))
    return worst_of(failed)


def _check_target(path: Path, snapshots: Sequence[str]) -> None:
    """Refuse a path that cannot be written or that is one of the snapshots."""
    check_writable(path)
    if path.exists() and any(Path(name).exists() and path.samefile(name) for name in snapshots):
        raise ProxyctlError(f"{path}: cannot be written: the report reads this snapshot")
