"""All digests of an instance under the rules before and after, added up, the biggest listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from typing import NamedTuple

from proxyctl.routing.sides import Sides
from proxyctl.stats.model import CACHE, DigestTable, Load, SeenDigest
from proxyctl.stats.replay.comparison import Comparison, Kind, Verdict


class Entry(NamedTuple):
    """A digest that is listed."""

    seen: SeenDigest
    verdict: Verdict


class Biggest:
    """The entries that took longest."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._heap: list[tuple[int, int, int, Entry]] = []
        self._added = 0

    def add(self, entry: Entry) -> None:
        """Keep an entry if it is one of the biggest. Changes: self."""
        self._added += 1
        item = (entry.seen.sum_time, entry.seen.count_star, -self._added, entry)
        if self._limit is None or len(self._heap) < self._limit:
            heappush(self._heap, item)
        elif self._heap:
            heappushpop(self._heap, item)

    def __iter__(self) -> Iterator[Entry]:
        return (item[-1] for item in sorted(self._heap, reverse=True))

    def __len__(self) -> int:
        return len(self._heap)


class Flow(NamedTuple):
    """Where digests go before and after, and by which rules (the last that matched)."""

    before: int | None
    after: int | None
    rule_before: int | None
    rule_after: int | None


@dataclass
class Replay:
    """What a replay found out.

    Shape: `total` is the sum of `unchanged`, `changed` and `undecided`; `certain` and `possible`
    count by kind, and a digest can have several. `flows` are the digests that change hostgroup for
    sure, where both are known. `open_rules` tell what could not be told, by (rule_id, column).
    `elsewhere` went to a hostgroup that the rules in force do not choose. `texts` count what is not
    known of texts, by reason. `flag_rules` lead a session's next query to another flagIN: that is
    not followed, every query begins at 0.
    """

    name: str
    address: str
    version: str
    taken_at: int
    hostgroup_names: Mapping[int, str]
    moved: Biggest
    open: Biggest
    total: Load = field(default_factory=Load)
    unchanged: Load = field(default_factory=Load)
    changed: Load = field(default_factory=Load)
    undecided: Load = field(default_factory=Load)
    elsewhere: Load = field(default_factory=Load)
    certain: dict[Kind, Load] = field(default_factory=dict)
    possible: dict[Kind, Load] = field(default_factory=dict)
    flows: dict[Flow, Load] = field(default_factory=dict)
    open_rules: dict[tuple[int, str], Load] = field(default_factory=dict)
    texts: Counter[str] = field(default_factory=Counter)
    flag_rules: tuple[int, ...] = ()

    @property
    def moves(self) -> bool:
        """Whether anything changes, or may."""
        return bool(self.changed.entries or self.undecided.entries)

    def share(self, tally: Load | SeenDigest) -> float:
        """Return the part of the query time; of the queries where no time was measured."""
        if self.total.sum_time:
            return tally.sum_time / self.total.sum_time
        return tally.count_star / self.total.count_star if self.total.count_star else 0.0


def replay(
    table: DigestTable,
    sides: Sides,
    *,
    limit: int | None = 20,
    progress: Callable[[int], None] = lambda _done: None,
) -> Replay:
    """Return what becomes of every digest. `limit`: entries to list of each kind; None is all.

    `progress`: called with the number of digests that are done.
    Raises: ProxyctlError for variables that ProxySQL refuses, or under which it ends.
    """
    report = Replay(
        table.name,
        table.address,
        table.version,
        table.taken_at,
        sides.after.hostgroup_names,
        Biggest(limit),
        Biggest(limit),
    )
    comparison = Comparison(sides, table.variables)
    report.flag_rules = tuple(comparison.flag_rules)
    for number, seen in enumerate(table.rows):
        if number % _STEP == 0:
            progress(number)
        _count(report, seen, comparison.verdict(seen))
    progress(len(table.rows))
    return report


_STEP = 500


def _count(report: Replay, seen: SeenDigest, verdict: Verdict) -> None:
    report.total.add(seen)
    report.texts.update(verdict.notes)
    if verdict.is_changed:
        report.changed.add(seen)
        report.moved.add(Entry(seen, verdict))
        _count_flow(report, seen, verdict)
    elif verdict.is_open:
        report.undecided.add(seen)
        report.open.add(Entry(seen, verdict))
    else:
        report.unchanged.add(seen)
    for kinds, tallies in (
        (verdict.certain, report.certain),
        (verdict.possible, report.possible),
    ):
        for kind in kinds:
            tallies.setdefault(kind, Load()).add(seen)
    for rule in verdict.undecided:
        report.open_rules.setdefault(rule, Load()).add(seen)
    expected = verdict.expected
    if expected is not None and seen.hostgroup not in (CACHE, *expected):
        report.elsewhere.add(seen)


def _count_flow(report: Replay, seen: SeenDigest, verdict: Verdict) -> None:
    if Kind.HOSTGROUP not in verdict.certain:
        return
    ends = {(b.hostgroup, a.hostgroup) for b in verdict.before for a in verdict.after}
    if len(ends) == 1:
        before, after = verdict.before[0], verdict.after[0]
        flow = Flow(before.hostgroup, after.hostgroup, before.rule_id, after.rule_id)
        report.flows.setdefault(flow, Load()).add(seen)
