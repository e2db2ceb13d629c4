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
    """The result of a replay.

    Shape: `entries` are the biggest digests that change or may change. `total` is the sum of
    `unchanged`, `changed` and `undecided`. `kinds` are the digests that change for sure, by kind; a
    digest can have several kinds. `flows` are the digests that change hostgroup for sure, if both
    hostgroups are known. `open_rules` are the undecided digests, by (rule_id, column) of the
    undecided condition. `texts` count digests with an uncertain text, by reason. `flag_rules` set
    next_query_flagIN, which the replay ignores: every query begins at flagIN 0. `rewriting_rules`
    rewrite queries, so the statistics hold the digests of the rewritten queries.
    """

    name: str
    address: str
    version: str
    taken_at: int
    hostgroup_names: Mapping[int, str]
    flag_rules: Sequence[int]
    rewriting_rules: Sequence[int]
    entries: Sequence[ChangedDigest] = ()
    total: Load = field(default_factory=Load)
    unchanged: Load = field(default_factory=Load)
    changed: Load = field(default_factory=Load)
    undecided: Load = field(default_factory=Load)
    kinds: dict[DifferenceKind, Load] = field(default_factory=dict)
    flows: dict[Flow, Load] = field(default_factory=dict)
    open_rules: dict[tuple[int, str], Load] = field(default_factory=dict)
    texts: Counter[str] = field(default_factory=Counter)

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
