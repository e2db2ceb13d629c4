"""All digests of an instance under the rules before and after, added up, the biggest listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from typing import NamedTuple

from proxyctl.routing.sides import Sides
from proxyctl.stats.model import DigestTable, Load, SeenDigest
from proxyctl.stats.replay.comparison import Comparison, Kind, Verdict


class Entry(NamedTuple):
    """A digest that is listed."""

    seen: SeenDigest
    verdict: Verdict


class Flow(NamedTuple):
    """The hostgroups where digests go before and after; None where no user and no rule has one."""

    current: int | None
    desired: int | None


@dataclass
class Replay:
    """What a replay found out.

    Shape: `entries` are the biggest that change or may. `total` is the sum of `unchanged`,
    `changed` and `undecided`; `kinds` are in what digests change for sure, and one can have
    several. `flows` are the digests that change hostgroup for sure, where both are known.
    `open_rules` tell what could not be told, by (rule_id, column). `texts` count what is not known
    of texts, by reason. `flag_rules` lead a session's next query to another flagIN: that is not
    followed, every query begins at 0. `rewriting_rules` make digests of others.
    """

    name: str
    address: str
    version: str
    taken_at: int
    hostgroup_names: Mapping[int, str]
    flag_rules: Sequence[int]
    rewriting_rules: Sequence[int]
    entries: Sequence[Entry] = ()
    total: Load = field(default_factory=Load)
    unchanged: Load = field(default_factory=Load)
    changed: Load = field(default_factory=Load)
    undecided: Load = field(default_factory=Load)
    kinds: dict[Kind, Load] = field(default_factory=dict)
    flows: dict[Flow, Load] = field(default_factory=dict)
    open_rules: dict[tuple[int, str], Load] = field(default_factory=dict)
    texts: Counter[str] = field(default_factory=Counter)

    @property
    def moves(self) -> bool:
        """Whether anything changes, or may."""
        return bool(self.changed.entries or self.undecided.entries)

    def share(self, tally: Load | SeenDigest) -> float:
        """Return the part of the query time; of the queries where no time was measured."""
        if self.total.sum_time:
            return tally.sum_time / self.total.sum_time
        return tally.count_star / self.total.count_star if self.total.count_star else 0.0


_STEP = 500


def replay(
    table: DigestTable,
    sides: Sides,
    *,
    limit: int = 20,
    progress: Callable[[int], None] = lambda _done: None,
) -> Replay:
    """Return what becomes of every digest. `limit`: of those listed, the biggest by query time.

    `progress`: called with the number of digests that are done.
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

    def judged() -> Iterator[Entry]:
        for number, seen in enumerate(table.rows):
            if number % _STEP == 0:
                progress(number)
            entry = Entry(seen, comparison.verdict(seen))
            _count(report, entry)
            if entry.verdict.is_changed or entry.verdict.is_open:
                yield entry
        progress(len(table.rows))

    # With 0 nothing would be counted.
    biggest = nlargest(
        max(limit, 1), judged(), key=lambda one: (one[0].sum_time, one[0].count_star)
    )
    report.entries = biggest[:limit]
    return report


def _count(report: Replay, entry: Entry) -> None:
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
    if Kind.HOSTGROUP in verdict.certain:
        ends = {(b.hostgroup, a.hostgroup) for b in verdict.before for a in verdict.after}
        if len(ends) == 1:
            report.flows.setdefault(Flow(*ends.pop()), Load()).add(seen)
