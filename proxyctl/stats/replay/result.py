"""Replays all digests of an instance: adds up the verdicts and lists the biggest changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from typing import NamedTuple

from proxyctl.proxysql.configuration import BeforeAfter
from proxyctl.stats.model import DigestTable, Load, SeenDigest
from proxyctl.stats.replay.comparison import Comparison, DifferenceKind, ReplayVerdict


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
    report = Replay(
        table.name,
        table.address,
        table.version,
        table.taken_at,
        sides.after.hostgroup_names,
        comparison.flag_rules,
        comparison.rewriting_rules,
    )

    def judged() -> Iterator[ChangedDigest]:
        for number, seen in enumerate(table.rows):
            if number % _STEP == 0:
                progress(number)
            entry = ChangedDigest(seen, comparison.verdict(seen))
            _count(report, entry)
            if entry.verdict.is_changed or entry.verdict.is_open:
                yield entry
        progress(len(table.rows))

    # nlargest of 0 entries would replay, and so count, none.
    biggest = nlargest(
        max(limit, 1), judged(), key=lambda entry: (entry.seen.sum_time, entry.seen.count_star)
    )
    report.entries = biggest[:limit]
    return report


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
