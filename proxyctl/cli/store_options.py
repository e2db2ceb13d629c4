"""Options that choose a store of digests and a time, shared by the commands that read one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from proxyctl.cli.connect import ADDRESS, SelectionOptions
from proxyctl.cli.option_kinds import parsed, spelled, value
from proxyctl.cli.output import say
from proxyctl.errors import UsageError
from proxyctl.stats.units import microseconds_of

if TYPE_CHECKING:
    from proxyctl.fleet.targets import Target
    from proxyctl.instance.client import AdminClient
    from proxyctl.stats.model import DigestTable
    from proxyctl.stats.rows_of_fleet import HeldDigests
    from proxyctl.stats.store.window import StoreWindow


def moment_of(text: str) -> int:
    """Return unix seconds of `24h` (so long ago) or of an ISO 8601 time, UTC by default.

    Raises: ValueError.
    """
    try:
        return int(time.time() - microseconds_of(text) / 1e6)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a time such as 24h or 2026-11-28T14:30") from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def seconds_of(text: str) -> int:
    """Return the seconds of a duration such as `10min`, at least 1. Raises: ValueError."""
    seconds = microseconds_of(text) // 1_000_000
    if seconds < 1:
        raise ValueError("at least 1s")
    return seconds


@dataclass(frozen=True)
class StoreOptions:
    """A store to read instead of an instance, and the time to read."""

    PANEL: ClassVar = "History"
    store: str | None = value(
        "FILE",
        "Read what digest collect stored in this file, instead of an instance. --instance chooses"
        " one of its instances.",
    )
    since: int | None = value(
        "TIME",
        "With --store: from 24h ago, or from a time such as 2026-11-28T14:30 (UTC)."
        " Default: everything.",
        parser=parsed("--since", moment_of),
    )
    until: int | None = value(
        "TIME",
        "With --store: until this time. Default: the last collection.",
        parser=parsed("--until", moment_of),
    )

    def window(self, selection: SelectionOptions, *, connects: bool = False) -> StoreWindow | None:
        """Return what to read; None without --store.

        `connects`: the command reads the rules of an instance, too. Raises: UsageError for options
        that do not go together.
        """
        if self.store is None:
            for name in ("since", "until"):
                if getattr(self, name) is not None:
                    raise UsageError(f"--{name} needs --store", fix="name the file with --store")
            return None
        since, until = self.since or 0, self.until
        return store_window(selection, self.store, since, until, connects=connects)

    def table(self, selection: SelectionOptions, digests: str | None) -> DigestTable | None:
        """Return the digests of one instance: of the store, or of a snapshot; None if not named.

        Notes about the store are written to stderr. Raises: UsageError, ProxyctlError.
        """
        from proxyctl.stats.digest_file import read_digest_file
        from proxyctl.stats.store.window import read_window_table

        window = self.window(selection, connects=True)
        if window is None:
            return None if digests is None else read_digest_file(Path(digests), "--digests")
        table, notes = read_window_table(window, needs_one=True)
        say(*(f"note: {note}" for note in notes))
        return table

    def source_of_fleet(
        self, selection: SelectionOptions, targets: Sequence[Target]
    ) -> Callable[[AdminClient], HeldDigests]:
        """Return a function that returns the digests of an instance: of the store, or its own.

        Notes about the store are written to stderr. Raises: UsageError, ProxyctlError.
        """
        from proxyctl.stats.rows_of_fleet import hold_digests
        from proxyctl.stats.store.held import read_stored_digests

        window = self.window(selection, connects=True)
        if window is None:
            return hold_digests
        window = replace(window, instance=None)
        stored = read_stored_digests(window, [target.name for target in targets])
        say(*(f"note: {note}" for note in stored.notes))
        return stored.of


@dataclass(frozen=True)
class ComparedStoreOptions(StoreOptions):
    """As StoreOptions, and the time before, to compare with."""

    since: int | None = value(
        "TIME",
        "With --store: compare the period from 24h ago, or from a time such as 2026-11-28T14:30"
        " (UTC).",
        parser=parsed("--since", moment_of),
    )
    against: int | None = value(
        "TIME",
        "With --store: compare it with a period of this length before --since. Default: the same"
        " length.",
        parser=parsed("--against", seconds_of),
    )

    def windows(self, selection: SelectionOptions) -> tuple[StoreWindow, int] | None:
        """Return a time, and the seconds before it to compare with; None without --store.

        Raises: UsageError for options that do not go together.
        """
        if self.store is None and self.against is not None:
            raise UsageError("--against needs --store", fix="name the file with --store")
        window = self.window(selection)
        if window is None:
            return None
        if self.since is None:
            raise UsageError(
                "--store: --since is missing",
                fix="add it, such as --since 24h: against the 24h before",
            )
        return window, self.against or window.until - window.since


def store_window(
    selection: SelectionOptions,
    store: str,
    since: int,
    until: int | None,
    *,
    connects: bool = False,
) -> StoreWindow:
    """Return what to read of a store.

    `connects`: the command reads an instance, too. Raises: UsageError, also for the address of an
    instance that would not be read.
    """
    from proxyctl.stats.store.window import StoreWindow

    typed = selection.connection.typed & (ADDRESS - {"instance"})
    if typed and not connects:
        raise UsageError(
            f"--store does not read an instance: leave out {spelled(min(typed))}",
            fix="choose one of the instances in the store with --instance",
        )
    end = int(time.time()) if until is None else until
    if since >= end:
        raise UsageError("--since is not before --until")
    instance = selection.connection.instance
    return StoreWindow(Path(store), since, end, instance, has_end=until is not None)
