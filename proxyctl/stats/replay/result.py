"""Replays all digests of an instance, or the queries of an event log.

It adds up the verdicts and lists the biggest changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import nlargest
from typing import NamedTuple

from proxyctl.proxysql.configuration import BeforeAfter
from proxyctl.stats.events.event import EventTally, QueryEvent
from proxyctl.stats.events.group import EventGroup, refuse_more_groups, seconds
from proxyctl.stats.model import DigestTable, Load, SeenDigest
from proxyctl.stats.replay.comparison import Comparison, DifferenceKind, ReplayVerdict
from proxyctl.stats.replay.event_comparison import EventComparison


class ChangedDigest(NamedTuple):
    """A digest in the list of changes."""

    seen: SeenDigest
    verdict: ReplayVerdict


class Flow(NamedTuple):
    """The hostgroups of digests before and after; None if neither a user nor a rule names one."""

    current: int | None
    desired: int | None


@dataclass
class Replay:
    """The result of a replay."""

    name: str
    """The name of the instance in the files, or its address."""
    address: str
    """The address of the admin interface."""
    version: str
    """The version as the instance reports it."""
    taken_at: int
    """When the digests were read. Units: unix seconds."""
    hostgroup_names: Mapping[int, str]
    """The names of hostgroups, by number."""
    flag_rules: Sequence[int]
    """The rules that set next_query_flagIN, which the replay ignores: every query begins at flagIN
    0."""
    rewriting_rules: Sequence[int]
    """The rules that rewrite queries, so that the statistics hold the digests of the rewritten
    queries."""
    entries: Sequence[ChangedDigest] = ()
    """The biggest digests that change or may change."""
    total: Load = field(default_factory=Load)
    """The sum of `unchanged`, `changed` and `undecided`."""
    unchanged: Load = field(default_factory=Load)
    """The digests that do not change."""
    changed: Load = field(default_factory=Load)
    """The digests that change for sure."""
    undecided: Load = field(default_factory=Load)
    """The digests that may change."""
    kinds: dict[DifferenceKind, Load] = field(default_factory=dict)
    """The digests that change for sure, by kind; a digest can have several kinds."""
    flows: dict[Flow, Load] = field(default_factory=dict)
    """The digests that change hostgroup for sure, if both hostgroups are known."""
    open_rules: dict[tuple[int, str], Load] = field(default_factory=dict)
    """The undecided digests, by (rule_id, column) of the undecided condition."""
    texts: Counter[str] = field(default_factory=Counter)
    """The number of digests with an uncertain text, by reason."""
    events: EventTally | None = None
    """What the event log holds; None if digests were replayed. The queries of a digest with
    different verdicts are an entry for each verdict."""

    plugins: Sequence[str] = ()
    """The plugins of the instance that own rows: they may choose other hostgroups after rules."""

    @property
    def may_change(self) -> bool:
        """Whether any digest changes or may change."""
        return bool(self.changed.entries or self.undecided.entries)

    def share(self, tally: Load | SeenDigest) -> float:
        """Return the share of the query time, or of the queries if no time was measured."""
        if self.total.sum_time:
            return tally.sum_time / self.total.sum_time
        return tally.count_star / self.total.count_star if self.total.count_star else 0.0


_STEP = 500


def replay(
    table: DigestTable,
    sides: BeforeAfter,
    *,
    limit: int = 20,
    progress: Callable[[int], None] = lambda _done: None,
) -> Replay:
    """Replay every digest. `limit`: the most digests to list, the biggest by query time.

    `progress`: called with the number of digests done.
    Raises: ProxyctlError for variables that ProxySQL refuses, or under which it ends.
    """
    comparison = Comparison(sides, table.variables)

    def judged() -> Iterator[ChangedDigest]:
        for number, seen in enumerate(table.rows):
            if number % _STEP == 0:
                progress(number)
            yield ChangedDigest(seen, comparison.verdict(seen))
        progress(len(table.rows))

    report = _empty_report(table, sides, comparison)
    _add(report, judged(), limit)
    return report


def replay_events(
    events: Iterable[QueryEvent],
    tally: EventTally,
    table: DigestTable,
    sides: BeforeAfter,
    *,
    limit: int = 20,
) -> Replay:
    """Replay every query of an event log by its text; see `replay`.

    `tally`: of the events, which fills as they are read. `table`: the instance and its digest
    variables; its rows are not used. Raises: also what reading the events raises.
    """
    judge = EventComparison(sides, table.variables)
    groups: dict[tuple[str, int, str, str, str, int], EventGroup] = {}
    verdicts: dict[int, ReplayVerdict] = {}
    texts: dict[str, str] = {}
    for event in events:
        verdict = judge.verdict(event)
        # Equal verdicts are the same object, and `verdicts` keeps each of them.
        key = (*event[:4], judge.client_of(event), id(verdict))
        group = groups.get(key)
        if group is None:
            refuse_more_groups(groups)
            group = groups[key] = EventGroup()
            verdicts[id(verdict)] = verdict
            if event.digest not in texts:
                texts[event.digest] = judge.digest_text(event)
        group.add(event)
    last = max((group.last_at for group in groups.values()), default=0)
    report = _empty_report(replace(table, taken_at=seconds(last)), sides, judge.comparison)
    report.events = tally
    judged = (
        ChangedDigest(
            SeenDigest(*_row_key(key), texts[key[0]], *group.counters()), verdicts[key[-1]]
        )
        for key, group in groups.items()
    )
    _add(report, judged, limit)
    return report


def _row_key(
    key: tuple[str, int, str, str, str, int],
) -> tuple[int, str, str, str, str]:
    digest, hostgroup, schemaname, username, client_address, _ = key
    return hostgroup, schemaname, username, client_address, digest


def _empty_report(table: DigestTable, sides: BeforeAfter, comparison: Comparison) -> Replay:
    return Replay(
        table.name,
        table.address,
        table.version,
        table.taken_at,
        sides.after.hostgroup_names,
        comparison.flag_rules,
        comparison.rewriting_rules,
        plugins=sides.after.plugins,
    )


def _add(report: Replay, entries: Iterable[ChangedDigest], limit: int) -> None:
    """Count all entries, and list the biggest that change or may change. Changes: report."""

    def changes() -> Iterator[ChangedDigest]:
        for entry in entries:
            _count(report, entry)
            if entry.verdict.is_changed or entry.verdict.is_open:
                yield entry

    # nlargest of 0 entries would replay, and so count, none.
    biggest = nlargest(
        max(limit, 1), changes(), key=lambda entry: (entry.seen.sum_time, entry.seen.count_star)
    )
    report.entries = biggest[:limit]


def _count(report: Replay, entry: ChangedDigest) -> None:
    seen, verdict = entry
    report.total.add(seen)
    report.texts.update(verdict.notes)
    load = report.changed if verdict.is_changed else report.unchanged
    load = report.undecided if verdict.is_open else load
    load.add(seen)
    for kind in verdict.certain:
        report.kinds.setdefault(kind, Load()).add(seen)
    for rule in verdict.undecided:
        report.open_rules.setdefault(rule, Load()).add(seen)
    if DifferenceKind.HOSTGROUP in verdict.certain:
        ends = {(b.hostgroup, a.hostgroup) for b in verdict.before for a in verdict.after}
        if len(ends) == 1:
            report.flows.setdefault(Flow(*ends.pop()), Load()).add(seen)
