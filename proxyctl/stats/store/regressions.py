"""Compares a window of a store with the time before it: what got worse, what is new, what vanished.

A digest counts if its part of the load is large enough, and if no single slow call explains the
difference. Instances that were collected in only one of the two times are left out.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum

from proxyctl.stats.diff import LEAST_CALLS, LEAST_CHANGE, LEAST_EXPECTED, is_moved, is_slower
from proxyctl.stats.model import Load
from proxyctl.stats.store.caught import CaughtQueries, RulesOfWindow, sessions_of
from proxyctl.stats.store.window import StoredInstance, StoreWindow, WindowReader
from proxyctl.stats.store.window_pair import WindowPair, opened_pair

_LEAST_ROWS = 1.0
"""The rows per query that a digest must have more, so that 0.1 after 0.01 is no regression."""


class RegressionKind(StrEnum):
    """In what a digest got worse."""

    SLOWER = "slower"
    MORE_CALLS = "more_calls"
    MORE_ROWS = "more_rows"
    NEW = "new"
    VANISHED = "vanished"


@dataclass(frozen=True)
class RegressionOptions:
    """What counts as a regression."""

    slower: float = 1 + LEAST_CHANGE
    """The average is at least this many times what it was."""
    more_calls: float = 2.0
    """There are at least this many times the queries per second."""
    more_rows: float = 2.0
    """A query sends or affects at least this many times the rows."""
    min_calls: int = LEAST_CALLS
    """The queries that both times need before they are compared."""
    min_share: float = 0.01
    """The least part of the query time, from 0 to 1; for a vanished digest, of the time before."""
    limit: int = 20
    """The most digests to list."""


@dataclass(frozen=True)
class ComparedWindow:
    """One of the two times and its load."""

    window: StoreWindow
    """The time."""
    seconds: int
    """The time that was counted, as an average of the instances, at least 1. Units: seconds."""
    total: Load
    """The load of all digests."""

    def share(self, load: Load) -> float:
        """Return the part of the query time, from 0 to 1."""
        return load.sum_time / self.total.sum_time if self.total.sum_time else 0.0


@dataclass(frozen=True)
class Regression:
    """A digest that got worse, is new, or vanished."""

    digest: str
    """The digest."""
    digest_text: str
    """The digest text."""
    kinds: tuple[RegressionKind, ...]
    """In what it got worse."""
    before: Load
    """The load before."""
    after: Load
    """The load after."""
    hostgroups_before: Mapping[int, int] = field(default_factory=dict)
    """The queries before, by hostgroup; -1 is the query cache."""
    hostgroups_after: Mapping[int, int] = field(default_factory=dict)
    """The queries after, by hostgroup; -1 is the query cache."""
    caught_before: Sequence[CaughtQueries] | None = None
    """What the rules before did with it, or would have done; None if the store has no rules."""
    caught_after: Sequence[CaughtQueries] | None = None
    """What the rules after do with it, or would do; None if the store has no rules."""

    @property
    def is_moved(self) -> bool:
        """Whether its queries are spread over the hostgroups differently."""
        return is_moved(self.hostgroups_before, self.hostgroups_after)


@dataclass(frozen=True)
class Regressions:
    """The result of a comparison."""

    options: RegressionOptions
    """What counted."""
    before: ComparedWindow
    """The time before."""
    after: ComparedWindow
    """The time that is compared with it."""
    instances: Sequence[StoredInstance]
    """The instances that were compared."""
    entries: Sequence[Regression]
    """The digests, those that cost most more first and the vanished last, at most the limit."""
    counts: Mapping[RegressionKind, int]
    """The number of digests of each kind, listed or not."""
    count: int
    """The number of digests, listed or not."""
    notes: Sequence[str]
    """Why the comparison may mislead."""
    hostgroup_names: Mapping[int, str] = field(default_factory=dict)
    """The names that the files give to hostgroups, by number."""


def find_regressions(
    window: StoreWindow, against_s: int, options: RegressionOptions
) -> Regressions:
    """Compare a window with the `against_s` seconds before it.

    Raises: as `opened_pair`.
    """
    with opened_pair(window, against_s) as pair:
        sides = _added_up(pair.before), _added_up(pair.after)
        store = pair.after.store
        found = sorted(_found(store, *sides, options), key=lambda one: _place(one, *sides))
        listed = [_with_hostgroups(one, pair.before, pair.after) for one in found[: options.limit]]
        notes = [*pair.notes()]
        if listed:
            listed, notes_on_rules = _with_rules(listed, pair)
            notes += notes_on_rules
        return Regressions(
            options=options,
            before=sides[0],
            after=sides[1],
            instances=pair.after.instances,
            entries=listed,
            counts={kind: sum(kind in one.kinds for one in found) for kind in RegressionKind},
            count=len(found),
            notes=notes,
        )


def _added_up(reader: WindowReader) -> ComparedWindow:
    """Add up a window by digest, and return its load."""
    by_digest = f"{reader.sums}_by_digest"
    reader.store.execute(
        f"CREATE TEMP TABLE {by_digest} (digest TEXT PRIMARY KEY, entries, count_star, sum_time,"
        " max_time, sum_rows_sent, sum_rows_affected) WITHOUT ROWID"
    )
    sums = f"{reader.sums} AS sums"
    reader.store.execute(
        f"INSERT INTO {by_digest} SELECT digest, count(*), sum(sums.count_star),"
        " sum(sums.sum_time), max(sums.max_time), sum(sums.sum_rows_sent),"
        f" sum(sums.sum_rows_affected) FROM {sums} JOIN series ON series.id = sums.series"
        " GROUP BY digest"
    )
    [total] = reader.store.execute(
        "SELECT ifnull(sum(entries), 0), ifnull(sum(count_star), 0), ifnull(sum(sum_time), 0),"
        " ifnull(max(max_time), 0), ifnull(sum(sum_rows_sent), 0),"
        f" ifnull(sum(sum_rows_affected), 0) FROM {by_digest}"
    ).fetchall()
    seconds = round(sum(one.seconds for one in reader.instances) / len(reader.instances))
    return ComparedWindow(reader.window, max(seconds, 1), Load(*total))


def _found(
    store: sqlite3.Connection,
    before: ComparedWindow,
    after: ComparedWindow,
    options: RegressionOptions,
) -> Iterator[Regression]:
    """Yield the regressions, without their hostgroups."""
    figures = [part.name for part in fields(Load)]
    columns = [f"ifnull({side}.{name}, 0)" for side in ("b", "a") for name in figures]
    cursor = store.execute(
        f"SELECT digest.digest, digest_text, {', '.join(columns)} FROM digest"
        " LEFT JOIN sums_before_by_digest AS b ON b.digest = digest.digest"
        " LEFT JOIN sums_after_by_digest AS a ON a.digest = digest.digest"
        " WHERE b.sum_time >= ? OR a.sum_time >= ?",
        [options.min_share * side.total.sum_time for side in (before, after)],
    )
    for digest, text, *cells in cursor:
        was, now = Load(*cells[: len(figures)]), Load(*cells[len(figures) :])
        if kinds := tuple(_kinds(was, now, before, after, options)):
            yield Regression(digest, text, kinds, was, now)


def _kinds(
    was: Load,
    now: Load,
    before: ComparedWindow,
    after: ComparedWindow,
    options: RegressionOptions,
) -> Iterator[RegressionKind]:
    """Yield in what a digest got worse."""
    if not now.count_star:
        expected = was.count_star * after.seconds / before.seconds
        if expected >= LEAST_EXPECTED and before.share(was) >= options.min_share:
            yield RegressionKind.VANISHED
        return
    if after.share(now) < options.min_share:
        return
    if not was.count_star:
        if now.count_star * before.seconds / after.seconds >= LEAST_EXPECTED:
            yield RegressionKind.NEW
        return
    if min(was.count_star, now.count_star) < options.min_calls:
        return
    # The slowest call is known only if it was slower than all calls before.
    slowest = now.max_time if now.max_time > was.max_time else None
    if is_slower(now, slowest, was, factor=options.slower):
        yield RegressionKind.SLOWER
    rates = was.count_star / before.seconds, now.count_star / after.seconds
    if rates[1] >= options.more_calls * rates[0]:
        yield RegressionKind.MORE_CALLS
    rows = was.rows / was.count_star, now.rows / now.count_star
    if rows[1] >= max(options.more_rows * rows[0], rows[0] + _LEAST_ROWS):
        yield RegressionKind.MORE_ROWS


def _place(one: Regression, before: ComparedWindow, after: ComparedWindow) -> tuple[bool, float]:
    """Return the sort key: the largest growth of time per second first, vanished digests last."""
    more = one.after.sum_time / after.seconds - one.before.sum_time / before.seconds
    return (False, -more) if one.after.count_star else (True, more)


def _with_hostgroups(one: Regression, before: WindowReader, after: WindowReader) -> Regression:
    return replace(
        one,
        hostgroups_before=_hostgroups(before, one.digest),
        hostgroups_after=_hostgroups(after, one.digest),
    )


def _hostgroups(reader: WindowReader, digest: str) -> dict[int, int]:
    rows = reader.store.execute(
        f"SELECT hostgroup, sum(sums.count_star) FROM instance JOIN series"
        " ON series.instance = instance.id AND series.digest = ?"
        f" JOIN {reader.sums} AS sums ON sums.series = series.id"
        " GROUP BY hostgroup ORDER BY hostgroup",
        [digest],
    )
    return dict(rows.fetchall())


def _with_rules(
    listed: Sequence[Regression], pair: WindowPair
) -> tuple[list[Regression], list[str]]:
    """Return the digests with the rules that caught them, and notes about these rules."""
    rules_before = RulesOfWindow(pair.before, "the time before")
    rules_after = RulesOfWindow(pair.after, "this time")
    evaluated = []
    for one in listed:
        then, now = (sessions_of(reader, one.digest) for reader in (pair.before, pair.after))
        caught_before = rules_before.catching(one.digest, one.digest_text, then or now)
        caught_after = rules_after.catching(one.digest, one.digest_text, now or then)
        evaluated.append(replace(one, caught_before=caught_before, caught_after=caught_after))
    return evaluated, [*rules_before.notes(), *rules_after.notes()]
