"""The commands digest collect and digest regressions: the history of digests in a store."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from proxyctl.cli.commands.digest import MOST_LISTED, FullTextOption
from proxyctl.cli.connect import SelectionOptions
from proxyctl.cli.option_kinds import file_option, parsed, value
from proxyctl.cli.options import FleetOptions
from proxyctl.cli.output import columns, emit, report_error, say, style
from proxyctl.cli.store_options import moment_of, seconds_of, store_window
from proxyctl.errors import ExitCode, ProxyctlError

if TYPE_CHECKING:
    from proxyctl.fleet.targets import Target


def collect(
    selection: SelectionOptions,
    fleet: FleetOptions,
    store: Annotated[
        str, file_option("--store", help="The file to add to; created if it does not exist.")
    ],
    every: int | None = value(
        "TIME",
        "Collect again at this interval, such as 10min, until a signal stops it.",
        parser=parsed("--every", seconds_of),
    ),
    keep: int | None = value(
        "TIME",
        "Delete counts older than this, such as 90d. Default: keep everything.",
        parser=parsed("--keep", seconds_of),
    ),
) -> int:
    """Add what was counted since the last collection to a store. Sends only SELECTs."""
    from proxyctl.cli.rounds import run_rounds
    from proxyctl.stats.store.file import opened_store

    targets, path = selection.targets(fleet, files_are_optional=True), Path(store)
    with opened_store(path, is_new_allowed=True):
        pass  # a file that is no store is refused before an instance is read
    if every is None:
        return _collect(targets, path, fleet, keep)
    is_first = True

    def collect_round() -> None:
        nonlocal is_first, targets
        if not is_first:
            with _errors_reported():
                selection.look_up_again()
                targets = selection.targets(fleet, files_are_optional=True)
        is_first = False
        with _errors_reported():
            _collect(targets, path, fleet, keep)

    run_rounds(every, collect_round)
    say("stopped; what was collected is stored")
    return ExitCode.DONE


@contextmanager
def _errors_reported() -> Iterator[None]:
    """Report an error, and let the program go on."""
    try:
        yield
    except ProxyctlError as error:
        report_error(error)


def _collect(targets: Sequence[Target], path: Path, fleet: FleetOptions, keep: int | None) -> int:
    """Collect once from every instance; name those that cannot be read.

    Raises: ProxyctlError; without --all also the error of the instance.
    """
    from proxyctl.fleet.failed import worst_of
    from proxyctl.fleet.targets import at_all
    from proxyctl.render.digest_collect import collected_lines
    from proxyctl.render.fleet import failures
    from proxyctl.stats.store.collect import Collected, collect, forget

    def work(target: Target) -> Collected:
        with target.connect() as client:
            return collect(path, client)

    done, failed = at_all(targets, work, workers=fleet.parallel)
    if failed and not fleet.all_instances:
        raise failed[0].error
    say(
        *(line for collected in done for line in collected_lines(collected)),
        *failures(failed, style(sys.stderr)),
    )
    if keep is not None:
        forget(path, int(time.time()) - keep)
    return worst_of(failed)


# digest regressions ------------------------------------------------------------------------------
RegressionFormat = Literal["text", "json", "markdown", "prometheus"]


@dataclass(frozen=True)
class ThresholdOptions:
    """What counts as a regression."""

    PANEL: ClassVar = "Thresholds"
    slower: float = value(
        "FACTOR", "At least this many times the earlier average.", default=1.2, min=1
    )
    more_calls: float = value(
        "FACTOR", "At least this many times the earlier queries per second.", default=2.0, min=1
    )
    more_rows: float = value(
        "FACTOR", "At least this many times the earlier rows per query.", default=2.0, min=1
    )
    min_calls: int = value(
        "N", "Compare only digests with at least N queries in both periods.", default=30, min=1
    )
    min_share: float = value(
        "PERCENT", "Only digests with at least this share of the query time.", default=1.0, min=0,
        max=100,
    )  # fmt: skip


def regressions(
    selection: SelectionOptions,
    thresholds: ThresholdOptions,
    store: str = value("FILE", "The file that digest collect wrote.", default=...),
    since: int = value(
        "TIME",
        "Look at the period from 24h ago, or from a time such as 2026-11-28T14:30 (UTC).",
        default="24h",
        parser=parsed("--since", moment_of),
    ),
    until: int | None = value(
        "TIME",
        "Look at the period until this time. Default: the last collection.",
        parser=parsed("--until", moment_of),
    ),
    against: int = value(
        "TIME",
        "Compare it with a period of this length before --since.",
        default="7d",
        parser=parsed("--against", seconds_of),
    ),
    limit: int = value("N", "List at most N.", default=20, min=1, max=MOST_LISTED),
    full_text: FullTextOption = False,
    format: RegressionFormat = value(
        "FORMAT", "Output format: text, json, markdown, prometheus.", default="text"
    ),
) -> int:
    """Show which digests got slower, more frequent or heavier, are new, or vanished.

    Exit 2 if there is any.
    """
    from proxyctl.render.digest_regressions import (
        REGRESSIONS,
        regressions_markdown,
        regressions_prometheus,
        regressions_text,
    )
    from proxyctl.stats.store.regressions import RegressionOptions, find_regressions

    window = store_window(selection, store, since, until)
    options = {**vars(thresholds), "min_share": thresholds.min_share / 100}
    found = find_regressions(window, against, RegressionOptions(**options, limit=limit))
    found = replace(found, hostgroup_names=selection.hostgroup_names())
    if format in ("json", "prometheus"):
        say(*(f"note: {note}" for note in found.notes))
    emit(
        format,
        text=lambda: regressions_text(found, style(), width=columns(), has_whole_texts=full_text),
        json=lambda: REGRESSIONS.document(found),
        markdown=lambda: regressions_markdown(found),
        prometheus=lambda: regressions_prometheus(found),
    )
    return ExitCode.DIFFERENCES if found.count else ExitCode.DONE
