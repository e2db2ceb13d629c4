"""What all kinds of suggestions share: the result, the sums per digest, and placing a rule.

A proposed rule has a free rule_id in the right place, and a replay has shown what the rule changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import nlargest
from operator import attrgetter
from typing import NamedTuple, TypeVar

from proxyctl.catalog import TABLES, Layout, layout_of
from proxyctl.proxysql.configuration import BeforeAfter, ConfigTable, Configuration
from proxyctl.routing.result import HostgroupOrigin
from proxyctl.rows.row import ColumnValues, Row
from proxyctl.stats.counters import Tally, tally
from proxyctl.stats.model import CACHE, DigestTable, Load, SeenDigest
from proxyctl.stats.replay.comparison import Comparison, QueryTreatment, ReplayVerdict
from proxyctl.stats.suggest.kind import SuggestionKind
from proxyctl.stats.suggest.texts import makes_temporary_table, tables_in

T = TypeVar("T")


@dataclass(frozen=True)
class Suggestion:
    """A proposal about a digest."""

    kind: SuggestionKind
    """The kind of the suggestion."""
    digest: str
    """The digest."""
    digest_text: str
    """The digest text."""
    evidence: Mapping[str, int | float | str | None]
    """Numbers by name, with the unit as suffix (`_us`, `_s`, `_ms`)."""
    says: str
    """The evidence as text."""
    rule: ColumnValues | None = None
    """Cells of mysql_query_rules to paste, without columns that have their defaults. None if no
    rule changes this digest alone, and for slow queries."""


@dataclass(frozen=True)
class Suggestions:
    """All suggestions of a run."""

    table: DigestTable
    """The digests."""
    total: Load
    """The load of all digests."""
    layout: Layout
    """The layout of mysql_query_rules."""
    suggestions: Sequence[Suggestion]
    """The suggestions, sorted by kind, then largest first."""
    notes: Sequence[str]
    """Sentences about what was not checked, and why."""
    proof: str
    """The sentence about what was replayed; '' without a proposed rule."""
    left_out: Mapping[SuggestionKind, int]
    """The number of suggestions beyond the limit, by kind."""


# -- Rules.


RULES, _FAST = "mysql_query_rules", "mysql_query_rules_fast_routing"
_FIRST, _STEP = 100, 10
_MOST = 1_000
"""How far from a rule to search for a free rule_id."""


def rules_of(configuration: Configuration) -> ConfigTable:
    """Return mysql_query_rules of a configuration, empty if the table is missing."""
    layout = layout_of(TABLES[RULES], configuration.version)
    return configuration.tables.get(RULES) or ConfigTable(layout, {})


def rule_row(layout: Layout, cells: ColumnValues) -> Row:
    """Return a whole row: missing columns have their defaults, and `active` is 1."""
    cells = {"active": 1, **cells}
    return tuple(cells.get(column.name, column.default) for column in layout.columns)


def with_rules(configuration: Configuration, rules: Iterable[ColumnValues]) -> Configuration:
    """Return a configuration with these rules added."""
    held = rules_of(configuration)
    added = [rule_row(held.layout, cells) for cells in rules]
    rows = {**held.rows, **{held.layout.key_of(row): row for row in added}}
    return replace(configuration, tables={**configuration.tables, RULES: replace(held, rows=rows)})


# -- The digests and the rules.


class Query(NamedTuple):
    """All entries of a digest."""

    digest: str
    """The digest."""
    text: str
    """The digest text."""
    load: Load
    """The load, without the query cache."""
    calls: Mapping[int, int]
    """The calls by hostgroup, without the query cache."""
    is_cached: bool
    """Whether the query cache answered any of the calls."""

    @property
    def rows_per_call(self) -> float:
        """The average number of rows that a call returned."""
        return self.load.sum_rows_sent / self.load.count_star

    @property
    def hostgroup(self) -> int:
        """The hostgroup that most calls went to."""
        return max(self.calls, key=lambda hostgroup: self.calls[hostgroup])


def _queries(by_digest: Tally) -> list[Query]:
    queries = []
    for (digest,), bundle in by_digest.groups.items():
        parts = {int(key[0]): load for key, load in bundle.parts.items() if load.count_star}
        is_cached = parts.pop(CACHE, None) is not None
        load = Load()
        for part in parts.values():
            load += part
        if load.count_star:
            calls = {hostgroup: part.count_star for hostgroup, part in parts.items()}
            queries.append(Query(str(digest), bundle.text, load, calls, is_cached))
    return queries


class SuggestContext:
    """The digests, the rules in force, and the results so far."""

    def __init__(
        self,
        table: DigestTable,
        configuration: Configuration,
        *,
        limit: int,
        most_rows: int,
        may_use: Callable[[int], bool],
        seconds: int | None = None,
    ) -> None:
        self.table = table
        rows = table.rows
        if len(rows) <= most_rows:
            self.followed = list(rows)
            self.tally = tally(replace(table, rows=self.followed))
        else:
            self.tally = tally(table)
            self.followed = nlargest(most_rows, rows, key=attrgetter("sum_time"))
        """The rows that are evaluated against the rules: all, or those with most time."""
        self.queries = _queries(self.tally)
        self.seconds = seconds or max(table.taken_at - self.tally.began_at, 1)
        """How long the digests were counted for, summed up over instances."""
        self.total = Load()
        for bundle in self.tally.groups.values():
            self.total += bundle.total()
        self.configuration = configuration
        self.proposed = configuration
        """The configuration with the rules proposed so far."""
        self.now = self._compared(configuration, configuration)
        self.notes: list[str] = []
        self.left_out: dict[SuggestionKind, int] = {}
        self._limit, self._may_use = limit, may_use

    def _compared(self, before: Configuration, after: Configuration) -> Comparison:
        return Comparison(BeforeAfter(before, after), self.table.variables)

    @cached_property
    def by_digest(self) -> dict[str, list[SeenDigest]]:
        """The rows in `followed`, by digest."""
        by_digest: dict[str, list[SeenDigest]] = {}
        for seen in self.followed:
            by_digest.setdefault(seen.digest, []).append(seen)
        return by_digest

    @cached_property
    def _temporary_tables(self) -> frozenset[str]:
        texts = (query.text for query in self.queries if makes_temporary_table(query.text))
        return frozenset(table for text in texts for table in tables_in(text))

    def asks_temporary_table(self, text: str) -> bool:
        """Return whether a query names a table that may be a temporary table of its connection."""
        return not self._temporary_tables.isdisjoint(tables_in(text))

    def listed(self, kind: SuggestionKind, candidates: Sequence[T]) -> Sequence[T]:
        """Return the first candidates of a kind, and count the others. Changes: self."""
        if len(candidates) > self._limit:
            self.left_out[kind] = len(candidates) - self._limit
        return candidates[: self._limit]

    def called(self, hostgroup: object) -> str:
        """Return the name of a hostgroup: `hostgroup 10 (writer)`."""
        name = self.configuration.hostgroup_names.get(hostgroup)  # type: ignore[call-overload]
        return f"hostgroup {hostgroup}" + (f" ({name})" if name else "")

    def share(self, sum_time: int) -> float:
        """Return the share of all query time, between 0 and 1."""
        return round(sum_time / self.total.sum_time, 6) if self.total.sum_time else 0.0

    def is_vague(self, seen: SeenDigest) -> bool:
        """Return whether the text of a digest leaves open what the query was."""
        return bool(self.now.verdict(seen).notes)

    def outcomes(self, seen: SeenDigest) -> tuple[QueryTreatment, ...]:
        """Return the possible outcomes of a digest under the rules in force and proposed."""
        return self.now.verdict(seen).before

    def placed_rule(
        self,
        digest: str,
        attempts: Iterable[ColumnValues],
        is_right: Callable[[ReplayVerdict], bool],
    ) -> ColumnValues | None:
        """Return the first rule whose replay `is_right` accepts for all rows of a digest.

        `attempts`: the cells of rules without rule_id. Changes: adds the rule to `proposed`.
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
        """Return free rule_ids for a new rule, the best first.

        The best place is right before the rule that decides now, or after all rules if no rule
        decides; then before all rules.
        """
        taken = rules_of(self.proposed).rows
        ids = [int(str(key[0])) for key in taken]
        first, last = min(ids, default=_FIRST), max(ids, default=_FIRST)
        deciding = [
            outcome.rule_id
            for seen in rows
            for outcome in self.outcomes(seen)
            if outcome.source is HostgroupOrigin.RULE and outcome.rule_id is not None
        ]
        wanted = [range(first - 1, max(0, first - _MOST), -1)]
        if deciding:
            wanted.insert(0, range(min(deciding) - 1, max(0, min(deciding) - _MOST), -1))
        elif not any(True for _ in self.proposed.rows(_FAST)):
            # A last rule with apply would stop fast routing for everybody.
            wanted.insert(0, range(last + _STEP, last + _MOST))
        free = [
            next((n for n in rule_ids if (n,) not in taken and self._may_use(n)), None)
            for rule_ids in wanted
        ]
        return list(dict.fromkeys(rule_id for rule_id in free if rule_id is not None))
