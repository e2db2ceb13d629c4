"""What all kinds of suggestions share: their result, the digests added up, and placing a rule.

A proposed rule has a free rule_id in the right place, and a replay has shown what it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from heapq import nlargest
from operator import attrgetter
from typing import NamedTuple, TypeVar

from proxyctl.catalog import TABLES, Layout, Value, layout_of
from proxyctl.routing import Source
from proxyctl.routing.sides import Sides
from proxyctl.state.configuration import Configuration, Held
from proxyctl.state.row import Row
from proxyctl.stats.counters import Tally, tally
from proxyctl.stats.model import CACHE, DigestTable, Load, SeenDigest
from proxyctl.stats.replay.comparison import Comparison, Outcome, Verdict
from proxyctl.stats.suggest.texts import makes_temporary_table, tables_in

T = TypeVar("T")
Cells = Mapping[str, Value]


class Kind(StrEnum):
    """What a suggestion is about, in the order in which they are shown."""

    READS = "reads"
    """A read on a writer that a reader could answer."""
    CACHE = "cache"
    """The same small answer, again and again."""
    SLOW = "slow"
    """An average far above that of the peers."""


@dataclass(frozen=True)
class Suggestion:
    """One proposal about a digest.

    Shape: `evidence` are numbers by name, the unit behind the name (`_us`, `_s`, `_ms`); `says` the
    same as text. `rule` are cells of mysql_query_rules to paste, what is not named has the column's
    default; None where no rule changes this digest alone, and for slow queries.
    """

    kind: Kind
    digest: str
    digest_text: str
    evidence: Mapping[str, int | float | str | None]
    says: str
    rule: Cells | None = None


@dataclass(frozen=True)
class Suggestions:
    """All of one run.

    Shape: `found` by kind, the biggest first; `left_out` counts those beyond the limit, by kind;
    `notes` say what could not be looked at, and why; `proof` what was replayed, empty where no rule
    is proposed. `layout` is that of mysql_query_rules.
    """

    table: DigestTable
    total: Load
    layout: Layout
    found: Sequence[Suggestion]
    notes: Sequence[str]
    proof: str
    left_out: Mapping[Kind, int]


# -- Rules.


RULES, _FAST = "mysql_query_rules", "mysql_query_rules_fast_routing"
_FIRST, _STEP = 100, 10
_MOST = 1_000
"""So far away from a rule a free rule_id is looked for."""


def rules_of(configuration: Configuration) -> Held:
    """Return mysql_query_rules of a configuration, empty where it has none."""
    layout = layout_of(TABLES[RULES], configuration.version)
    return configuration.tables.get(RULES) or Held(layout, {})


def rule_row(layout: Layout, cells: Cells) -> Row:
    """Return a whole row: what is not named has the column's default, and `active` is 1."""
    given = {"active": 1, **cells}
    return tuple(given.get(column.name, column.default) for column in layout.columns)


def with_rules(configuration: Configuration, rules: Iterable[Cells]) -> Configuration:
    """Return a configuration with these rules added."""
    held = rules_of(configuration)
    added = [rule_row(held.layout, cells) for cells in rules]
    rows = {**held.rows, **{held.layout.key_of(row): row for row in added}}
    return replace(configuration, tables={**configuration.tables, RULES: replace(held, rows=rows)})


# -- What the kinds work with.


class Query(NamedTuple):
    """All entries of a digest. Shape: `load` and `calls` by hostgroup are without the cache's."""

    digest: str
    text: str
    load: Load
    calls: Mapping[int, int]
    is_cached: bool

    @property
    def rows_per_call(self) -> float:
        """The rows that a call returned."""
        return self.load.sum_rows_sent / self.load.count_star

    @property
    def hostgroup(self) -> int:
        """Where most calls went."""
        return max(self.calls, key=lambda one: self.calls[one])


def _queries(seen: Tally) -> list[Query]:
    found = []
    for (digest,), bundle in seen.groups.items():
        parts = {int(key[0]): load for key, load in bundle.parts.items() if load.count_star}
        is_cached = parts.pop(CACHE, None) is not None
        load = Load()
        for part in parts.values():
            load += part
        if load.count_star:
            calls = {hostgroup: part.count_star for hostgroup, part in parts.items()}
            found.append(Query(str(digest), bundle.text, load, calls, is_cached))
    return found


class Context:
    """The digests, the rules in force, and what has been found so far.

    Shape: `followed` are the rows that are sent through the rules one by one: all of them, or those
    with most time of very many. `proposed` has the rules that are proposed so far.
    """

    def __init__(
        self,
        table: DigestTable,
        configuration: Configuration,
        *,
        limit: int,
        most_rows: int,
        may_use: Callable[[int], bool],
    ) -> None:
        self.table = table
        rows = table.rows
        if len(rows) <= most_rows:
            self.followed = list(rows)
            self.tally = tally(replace(table, rows=self.followed))
        else:
            self.tally = tally(table)
            self.followed = nlargest(most_rows, rows, key=attrgetter("sum_time"))
        self.queries = _queries(self.tally)
        self.total = Load()
        for bundle in self.tally.groups.values():
            self.total += bundle.total()
        self.configuration = self.proposed = configuration
        self.now = self._compared(configuration, configuration)
        self.notes: list[str] = []
        self.left_out: dict[Kind, int] = {}
        self._limit, self._may_use = limit, may_use

    def _compared(self, before: Configuration, after: Configuration) -> Comparison:
        return Comparison(Sides(before, after), self.table.variables)

    @cached_property
    def by_digest(self) -> dict[str, list[SeenDigest]]:
        """The rows that are followed, by digest."""
        found: dict[str, list[SeenDigest]] = {}
        for seen in self.followed:
            found.setdefault(seen.digest, []).append(seen)
        return found

    @cached_property
    def _temporary_tables(self) -> frozenset[str]:
        texts = (one.text for one in self.queries if makes_temporary_table(one.text))
        return frozenset(table for text in texts for table in tables_in(text))

    def asks_temporary_table(self, text: str) -> bool:
        """Return whether a query names a table that may be one of its connection alone."""
        return not self._temporary_tables.isdisjoint(tables_in(text))

    def listed(self, kind: Kind, found: Sequence[T]) -> Sequence[T]:
        """Return the first suggestions of a kind, and count the rest. Changes: self."""
        if len(found) > self._limit:
            self.left_out[kind] = len(found) - self._limit
        return found[: self._limit]

    def called(self, hostgroup: object) -> str:
        """Return a hostgroup as `hostgroup 10 (writer)`."""
        name = self.configuration.hostgroup_names.get(hostgroup)  # type: ignore[call-overload]
        return f"hostgroup {hostgroup}" + (f" ({name})" if name else "")

    def share(self, sum_time: int) -> float:
        """Return the part of all query time."""
        return round(sum_time / self.total.sum_time, 6) if self.total.sum_time else 0.0

    def is_vague(self, seen: SeenDigest) -> bool:
        """Return whether the text of a digest does not say what the query was."""
        return bool(self.now.verdict(seen).notes)

    def outcomes(self, seen: SeenDigest) -> tuple[Outcome, ...]:
        """Return what may become of a digest under the rules in force, and those proposed."""
        return self.now.verdict(seen).before

    def placed_rule(
        self, digest: str, attempts: Iterable[Cells], is_right: Callable[[Verdict], bool]
    ) -> Cells | None:
        """Return the first rule whose replay `is_right` accepts for all rows of a digest.

        `attempts`: cells of a rule without its rule_id. Changes: self, the rule is proposed.
        """
        rows = self.by_digest[digest]
        for cells in attempts:
            for rule_id in self._places(rows):
                rule = {"rule_id": rule_id, **cells}
                after = with_rules(self.proposed, [rule])
                comparison = self._compared(self.proposed, after)
                if all(is_right(comparison.verdict(seen)) for seen in rows):
                    self.proposed, self.now = after, self._compared(after, after)
                    return rule
        return None

    def _places(self, rows: Iterable[SeenDigest]) -> list[int]:
        """Return the free rule_ids where a rule may stand, the best first.

        That is right before the rule that decides now, else behind all; else before all.
        """
        taken = rules_of(self.proposed).rows
        ids = [int(str(key[0])) for key in taken]
        first, last = min(ids, default=_FIRST), max(ids, default=_FIRST)
        deciding = [
            outcome.rule_id
            for seen in rows
            for outcome in self.outcomes(seen)
            if outcome.source is Source.RULE and outcome.rule_id is not None
        ]
        wanted = [range(first - 1, max(0, first - _MOST), -1)]
        if deciding:
            wanted.insert(0, range(min(deciding) - 1, max(0, min(deciding) - _MOST), -1))
        elif not any(True for _ in self.proposed.rows(_FAST)):
            # A last rule with apply would end fast routing for everybody.
            wanted.insert(0, range(last + _STEP, last + _MOST))
        free = [
            next((one for one in some if (one,) not in taken and self._may_use(one)), None)
            for some in wanted
        ]
        return list(dict.fromkeys(one for one in free if one is not None))
