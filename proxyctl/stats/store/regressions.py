"""Compares a window of a store with the time before it: what got worse, what is new, what vanished.

A digest counts if its part of the load is large enough, and if no single slow call explains the
difference. Instances that were collected in only one of the two times are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from proxyctl.stats.diff import (
    LEAST_CALLS,
    LEAST_CHANGE,
    LEAST_EXPECTED,
    GrownGroup,
    SideLoad,
    added_up,
    is_moved,
    is_slower,
)
from proxyctl.stats.model import Group
from proxyctl.stats.store.caught import CaughtQueries, RulesOfWindow, sessions_of
from proxyctl.stats.store.grown import compared_instances, grown_keys
from proxyctl.stats.store.window import StoredInstance, StoreWindow
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
    total: SideLoad
    """The load of all digests; the rates of each instance are over its own time."""

    def share(self, side: SideLoad) -> float:
        """Return the part of the query time, from 0 to 1."""
        return side.busy / self.total.busy if self.total.busy else 0.0


@dataclass(frozen=True)
class Regression:
    """A digest that got worse, is new, or vanished."""

    digest: str
    """The digest."""
    digest_text: str
    """The digest text."""
    kinds: tuple[RegressionKind, ...]
    """In what it got worse."""
    before: SideLoad
    """The load before."""
    after: SideLoad
    """The load after."""
    caught_before: Sequence[CaughtQueries] | None = None
    """What the rules before did with it, or would have done; None if the store has no rules."""
    caught_after: Sequence[CaughtQueries] | None = None
    """What the rules after do with it, or would do; None if the store has no rules."""

    @property
    def is_moved(self) -> bool:
        """Whether its queries are spread over the hostgroups differently."""
        return is_moved(self.before.hostgroups, self.after.hostgroups)


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
        compared = compared_instances(pair)
        before = ComparedWindow(
            pair.before.window, added_up(instance.before.counted for instance in compared.values())
        )
        after = ComparedWindow(
            pair.after.window, added_up(instance.after.counted for instance in compared.values())
        )
        found: list[Regression] = []
        for (digest,), grown in grown_keys(pair, compared, [Group.DIGEST]):
            if kinds := tuple(_kinds(grown, before, after, options)):
                found.append(Regression(str(digest), grown.text, kinds, grown.before, grown.after))
        found.sort(key=_place)
        listed = found[: options.limit]
        notes = [*pair.notes()]
        if listed:
            listed, notes_on_rules = _with_rules(listed, pair)
            notes += notes_on_rules
        return Regressions(
            options=options,
            before=before,
            after=after,
            instances=pair.after.instances,
            entries=listed,
            counts={
                kind: sum(kind in regression.kinds for regression in found)
                for kind in RegressionKind
            },
            count=len(found),
            notes=notes,
        )


def _kinds(
    grown: GrownGroup, before: ComparedWindow, after: ComparedWindow, options: RegressionOptions
) -> Iterator[RegressionKind]:
    """Yield in what a digest got worse."""
    was, now = grown.before, grown.after
    if not now.load.count_star:
        if was.expected >= LEAST_EXPECTED and before.share(was) >= options.min_share:
            yield RegressionKind.VANISHED
        return
    if after.share(now) < options.min_share:
        return
    if not was.load.count_star:
        if now.expected >= LEAST_EXPECTED:
            yield RegressionKind.NEW
        return
    if min(was.load.count_star, now.load.count_star) < options.min_calls:
        return
    # The slowest call is known only if it was slower than all calls before.
    slowest = grown.slowest if grown.is_slowest_after else None
    if is_slower(now.evened, slowest, was.evened, factor=options.slower):
        yield RegressionKind.SLOWER
    if now.rate >= options.more_calls * was.rate:
        yield RegressionKind.MORE_CALLS
    rows = was.rows_per_query, now.rows_per_query
    if rows[1] >= max(options.more_rows * rows[0], rows[0] + _LEAST_ROWS):
        yield RegressionKind.MORE_ROWS


def _place(regression: Regression) -> tuple[bool, float, str]:
    """Return the sort key: the largest growth of time per second first, vanished digests last."""
    more = regression.after.busy - regression.before.busy
    if regression.after.load.count_star:
        return False, -more, regression.digest
    return True, more, regression.digest


def _with_rules(
    listed: Sequence[Regression], pair: WindowPair
) -> tuple[list[Regression], list[str]]:
    """Return the digests with the rules that caught them, and notes about these rules."""
    rules_before = RulesOfWindow(pair.before, "the period before")
    rules_after = RulesOfWindow(pair.after, "this period")
    evaluated = []
    for regression in listed:
        then, now = (sessions_of(reader, regression.digest) for reader in (pair.before, pair.after))
        caught_before = rules_before.catching(
            regression.digest, regression.digest_text, then or now
        )
        caught_after = rules_after.catching(regression.digest, regression.digest_text, now or then)
        evaluated.append(
            replace(regression, caught_before=caught_before, caught_after=caught_after)
        )
    return evaluated, [*rules_before.notes(), *rules_after.notes()]
