"""The commands about digests with --all: what they do at every instance."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from proxyctl.cli.connect import SelectionOptions
from proxyctl.cli.options import FleetOptions
from proxyctl.cli.output import columns, emit, new_files, progress, say, style
from proxyctl.cli.store_options import StoreOptions
from proxyctl.errors import UsageError
from proxyctl.stats.diff import Diff, DiffSort
from proxyctl.stats.model import NOT_COUNTING, Group, is_counting
from proxyctl.stats.units import size_text
from proxyctl.text import counted

if TYPE_CHECKING:
    from proxyctl.fleet.failed import Failed
    from proxyctl.fleet.targets import Target
    from proxyctl.render.encode import Shape
    from proxyctl.stats.model import DigestTable
    from proxyctl.stats.suggest.kind import SuggestionKind

D = TypeVar("D", bound=Diff)
ENDING = ".jsonl.gz"
"""How the files of `digest snapshot --all` end."""


def snapshot_all(targets: Sequence[Target], fleet: FleetOptions, out: str | None) -> int:
    """Write a file for each instance into a new or empty folder. Raises: UsageError."""
    from proxyctl.fleet.failed import worst_of
    from proxyctl.fleet.targets import at_all
    from proxyctl.render.fleet import counts_line, failures
    from proxyctl.stats.digest_file import write_digest_file
    from proxyctl.stats.read import streamed_digests

    if out is None:
        raise UsageError("digest snapshot --all needs -o FOLDER, for one file per instance")
    paths = new_files(Path(out), [target.name for target in targets], ENDING)

    def work(target: Target) -> list[str]:
        path = paths[target.name]
        with target.connect() as client, streamed_digests(client) as digests:
            size = write_digest_file(digests, path, is_compressed=True)
        entries = counted(len(digests.rows), "entry")
        note = [] if is_counting(digests.variables) else [f"note: {target.name}: {NOT_COUNTING}"]
        return [*note, f"{entries} saved to {path} ({size_text(size)})"]

    with progress("saving digests", len(targets)) as advance:
        saved, failed = at_all(targets, work, workers=fleet.parallel, done=advance)
    for lines in saved:
        say(*lines)
    say(*failures(failed, style(sys.stderr)))
    say(counts_line(len(saved), [f"{len(saved)} saved"] if saved else [], failed))
    return worst_of(failed)


# digest diff -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DiffOptions:
    """What to list of a comparison."""

    groups: tuple[Group, ...]
    """The columns to group by."""
    sort: DiffSort
    """The order of entries."""
    limit: int
    """The most entries."""
    has_whole_texts: bool
    """Whether texts are shown in full."""


def diff_all(
    selection: SelectionOptions,
    fleet: FleetOptions,
    before: str,
    after: str | None,
    options: DiffOptions,
    format: str,
) -> int:
    """Compare two folders, or a folder with what the instances hold now."""
    from proxyctl.render.digest_diff import DIFF_OF_FLEET
    from proxyctl.render.fleet import failures, instances_text
    from proxyctl.stats.diff_of_fleet import compare_fleet
    from proxyctl.stats.digest_file import read_digest_folder

    first = read_digest_folder(Path(before))
    failed: Sequence[Failed] = ()
    if after is not None:
        second = read_digest_folder(Path(after))
    else:
        tables, failed = read_all(selection.targets(fleet, files_are_optional=True), fleet)
        second = {table.name: table for table in tables}
    comparison = compare_fleet(
        first, second, options.groups, sort=options.sort, limit=options.limit, failed=failed
    )
    comparison.hostgroup_names = selection.hostgroup_names()
    if comparison.instances or format != "text":
        heading = instances_text([instance.name for instance in comparison.instances])
        emit_diff(comparison, heading, DIFF_OF_FLEET, options, format)
    say(*failures(failed, style(sys.stderr)))
    return comparison.exit_code


def emit_diff(
    comparison: D, heading: str, shape: Shape[D], options: DiffOptions, format: str
) -> None:
    """Write a comparison in its format. `heading`: names the instances. `shape`: of its JSON."""
    from proxyctl.render.digest_diff import digest_diff_text

    emit(
        format,
        text=lambda: digest_diff_text(
            comparison,
            heading,
            options.sort,
            style(),
            width=columns(),
            has_whole_texts=options.has_whole_texts,
        ),
        json=lambda: shape.document(comparison),
    )


def read_all(
    targets: Sequence[Target], fleet: FleetOptions
) -> tuple[list[DigestTable], list[Failed]]:
    """Return the digests of all instances, and those that could not be read."""
    from proxyctl.fleet.targets import at_all
    from proxyctl.stats.read import read_digests

    def work(target: Target) -> DigestTable:
        with target.connect() as client:
            return read_digests(client)

    with progress("reading digests", len(targets)) as advance:
        return at_all(targets, work, workers=fleet.parallel, done=advance)


# digest suggest ----------------------------------------------------------------------------------


def suggest_all(
    selection: SelectionOptions,
    fleet: FleetOptions,
    history: StoreOptions,
    only: Collection[SuggestionKind],
    limit: int,
    format: str,
) -> int:
    """Suggest what helps at all instances; name those that cannot be read."""
    from proxyctl.render.digest_suggest import suggest_of_fleet_json, suggest_text
    from proxyctl.render.fleet import failures, instances_text
    from proxyctl.stats.suggest.fleet import suggest_for_fleet

    targets = selection.targets(fleet)
    source = history.source_of_fleet(selection, targets)
    with progress("reading digests", len(targets)) as advance:
        advice = suggest_for_fleet(
            targets,
            only=only,
            limit=limit,
            digests_of=source,
            workers=fleet.parallel,
            done=advance,
        )
    heading = instances_text([instance.name for instance in advice.instances])
    emit(
        format,
        text=lambda: suggest_text(advice.suggestions, heading, style(), width=columns()),
        json=lambda: suggest_of_fleet_json(advice),
    )
    say(*failures(advice.failed, style(sys.stderr)))
    return advice.exit_code
