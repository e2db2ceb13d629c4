"""The options that choose the query event log, and the events that they choose."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from proxyctl.cli.option_kinds import value
from proxyctl.errors import UsageError

if TYPE_CHECKING:
    from proxyctl.instance.client import AdminClient
    from proxyctl.stats.events.event import EventTally, QueryEvent


@dataclass(frozen=True)
class EventOptions:
    """Which events to read instead of the digest statistics."""

    events: list[str] | None = value(
        "FILE",
        "Read ProxySQL's query event log (JSON, also .gz; - for stdin), or the table"
        " stats_mysql_query_events or history_mysql_query_events.",
    )
    further: list[str] | None = typer.Argument(
        None, metavar="FILE...", help="With --events: further files of the log."
    )

    def names(self) -> str:
        """Return the names of what is read, for a heading."""
        from proxyctl.render.style import listed_names

        names = ["stdin" if name == "-" else name for name in self._names]
        return f"events of {listed_names(names)}"

    @property
    def _names(self) -> list[str]:
        return [*(self.events or ()), *(self.further or ())]

    @property
    def are_asked(self) -> bool:
        """Whether to read events. Raises: UsageError for files without --events."""
        if self.further and not self.events:
            raise UsageError(
                f"{self.further[0]}: a file without --events", fix="write --events before the files"
            )
        return bool(self.events)

    @property
    def table(self) -> str | None:
        """The events table that is named; None for files. Raises: UsageError for both."""
        from proxyctl.stats.events.table import TABLES

        names = self._names
        table = next((name for name in names if name in TABLES), None)
        if table is not None and len(names) > 1:
            raise UsageError(
                f"--events {table}: a table together with other events could count events twice",
                fix="read one after the other",
            )
        return table

    @contextmanager
    def reading(
        self, client: AdminClient | None, tally: EventTally
    ) -> Iterator[Iterator[QueryEvent]]:
        """Yield the events as a stream. `client`: needed for a table.

        Changes: tally. Raises: UsageError, ProxyctlError, InstanceError; the stream, too.
        """
        from proxyctl.stats.events.log import read_files
        from proxyctl.stats.events.table import table_events

        table = self.table
        if table is not None and client is not None:
            with table_events(client, table, tally) as events:
                yield events
            return
        # Python sets a closed stdin to None.
        stdin = None if sys.stdin is None else sys.stdin.buffer
        yield read_files(self._names, tally, stdin=stdin)
