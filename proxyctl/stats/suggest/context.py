"""What all kinds of suggestions share: their result, the digests added up by query, and rules.

A proposed rule has a free rule_id in the right place, and a replay has shown what it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from heapq import nlargest
from operator import attrgetter
from typing import TypeVar

from proxyctl.catalog import TABLES, Layout, Value, layout_of
from proxyctl.routing import Source
from proxyctl.routing.sides import Sides
from proxyctl.state.configuration import Configuration, Held
from proxyctl.state.row import Row
from proxyctl.stats.model import CACHE, DigestTable, SeenDigest
from proxyctl.stats.replay.comparison import CUT, OTHER_OPTIONS, Comparison, Outcome, Verdict
from proxyctl.stats.replay.result import Replay, replay
from proxyctl.stats.suggest.texts import begins_transaction, makes_temporary_table, tables_in

T = TypeVar("T")
Cells = Mapping[str, Value]
MOST_ROWS = 50_000
"""Rows of the table that are sent through the rules one by one, those with most time."""


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
    """One proposal.

    Shape: `evidence` are numbers by name, the unit behind the name (`_us`, `_s`, `_ms`); `says` the
    same in sentences. `rules` are cells of mysql_query_rules to paste, what is not named has the
    column's default. `proof` says why there are none.
    """

    kind: Kind
    title: str
    evidence: Mapping[str, int | float | str | None]
    says: tuple[str, ...]
    digest: str = ""
    digest_text: str = ""
    rules: tuple[Cells, ...] = ()
    proof: str = ""


@dataclass(frozen=True)
class Suggestions:
    """All of one run.

    Shape: `found` by kind, the biggest first; `left_out` counts those beyond the limit, by kind;
    `notes` say what could not be looked at, and why; `proof` what was replayed, empty where no rule
    is proposed. `layout` is that of mysql_query_rules.
    Units: `taken_at` in unix seconds, `sum_time` in microseconds.
    """

    name: str
    address: str
    version: str
    taken_at: int
    digests: int
    count_star: int
    sum_time: int
    layout: Layout
    found: tuple[Suggestion, ...] = ()
    notes: tuple[str, ...] = ()
    proof: str = ""
    left_out: Mapping[Kind, int] = field(default_factory=dict)


# -- The digests, added up by query.


@dataclass(slots=True)
class Query:
    """All rows of one digest. Units: seconds and microseconds, as in SeenDigest.

    Shape: `calls` are those that went to a backend, `cached` those that the query cache answered;
    `hostgroups` are the calls by hostgroup, `sessions` the pairs of username and schemaname.
    """

    digest: str
    text: str
    first_seen: int
    last_seen: int
    calls: int = 0
    cached: int = 0
    sum_time: int = 0
    max_time: int = 0
    rows_sent: int = 0
    hostgroups: dict[int, int] = field(default_factory=dict)
    sessions: set[tuple[str, str]] = field(default_factory=set)

    def add(self, seen: SeenDigest, session: tuple[str, str]) -> None:
        """Count a row. Changes: self."""
        self.first_seen = min(self.first_seen, seen.first_seen)
        self.last_seen = max(self.last_seen, seen.last_seen)
        self.sessions.add(session)
        if seen.hostgroup == CACHE:
            self.cached += seen.count_star
            return
        self.calls += seen.count_star
        self.sum_time += seen.sum_time
        self.max_time = max(self.max_time, seen.max_time)
        self.rows_sent += seen.sum_rows_sent
        self.hostgroups[seen.hostgroup] = self.hostgroups.get(seen.hostgroup, 0) + seen.count_star

    @property
    def average(self) -> float:
        """The time of a call, in microseconds."""
        return self.sum_time / self.calls if self.calls else 0.0

    @property
    def rows_per_call(self) -> float:
        """The rows that a call returned."""
        return self.rows_sent / self.calls if self.calls else 0.0

    @property
    def seconds(self) -> int:
        """The time from the first to the last call, 1 at least."""
        return max(1, self.last_seen - self.first_seen)

    @property
    def hostgroup(self) -> int | None:
        """Where most calls went."""
        return max(self.hostgroups, key=lambda one: self.hostgroups[one], default=None)


@dataclass(frozen=True)
class Statistics:
    """Everything that the statistics hold. Units: microseconds.

    Shape: `begun` are the transactions that each user began. `followed` are the rows that are sent
    through the rules one by one: all of them, or those with most time of very many.
    """

    table: DigestTable
    queries: dict[str, Query]
    count_star: int
    sum_time: int
    begun: dict[str, int]
    followed: Sequence[SeenDigest]

    @property
    def is_whole(self) -> bool:
        """Whether every row is followed."""
        return len(self.followed) == len(self.table.rows)

    @cached_property
    def by_digest(self) -> dict[str, list[SeenDigest]]:
        """The rows that are followed, by digest."""
        found: dict[str, list[SeenDigest]] = {}
        for seen in self.followed:
            found.setdefault(seen.digest, []).append(seen)
        return found

    @cached_property
    def temporary_tables(self) -> frozenset[str]:
        """The tables that some seen statement makes for its connection alone."""
        return frozenset(
            table
            for query in self.queries.values()
            if makes_temporary_table(query.text)
            for table in tables_in(query.text)
        )

    def asks_temporary_table(self, text: str) -> bool:
        """Return whether a query names a table that may be one of its connection alone."""
        return not self.temporary_tables.isdisjoint(tables_in(text))

    @property
    def counts_rows(self) -> bool:
        """Whether rows are counted at all: an old ProxySQL does not."""
        return any(query.rows_sent for query in self.queries.values())


def add_up(table: DigestTable, most_rows: int) -> Statistics:
    """Return the rows added up by digest. `most_rows`: so many with most time are followed."""
    is_whole = len(table.rows) <= most_rows
    kept = list(table.rows) if is_whole else []
    queries: dict[str, Query] = {}
    sessions: dict[tuple[str, str], tuple[str, str]] = {}
    begun: dict[str, int] = {}
    begins: set[str] = set()
    count_star = sum_time = 0
    for seen in kept or table.rows:
        count_star += seen.count_star
        sum_time += seen.sum_time
        query = queries.get(seen.digest)
        if query is None:
            made = Query(seen.digest, seen.digest_text, seen.first_seen, seen.last_seen)
            query = queries[seen.digest] = made
            if begins_transaction(seen.digest_text):
                begins.add(seen.digest)
        # There are few of them, in very many rows.
        session = (seen.username, seen.schemaname)
        query.add(seen, sessions.setdefault(session, session))
        if seen.digest in begins:
            begun[seen.username] = begun.get(seen.username, 0) + seen.count_star
    followed = kept if is_whole else nlargest(most_rows, table.rows, key=attrgetter("sum_time"))
    return Statistics(table, queries, count_star, sum_time, begun, followed)


# -- Rules.


RULES = "mysql_query_rules"
_FIRST, _STEP = 100, 10
_MOST = 1_000
"""So far away from a rule a free rule_id is looked for."""


def rule_layout(configuration: Configuration) -> Layout:
    """Return the layout of mysql_query_rules in a configuration."""
    held = configuration.tables.get(RULES)
    return held.layout if held else layout_of(TABLES[RULES], configuration.version)


def rule_row(layout: Layout, cells: Cells) -> Row:
    """Return a whole row: what is not named has the column's default, and `active` is 1."""
    given = {"active": 1, **cells}
    return tuple(given.get(column.name, column.default) for column in layout.columns)


def with_rules(configuration: Configuration, rules: Iterable[Cells]) -> Configuration:
    """Return a configuration with these rules added."""
    layout = rule_layout(configuration)
    held = configuration.tables.get(RULES)
    kept = dict(held.rows if held else {})
    for cells in rules:
        row = rule_row(layout, cells)
        kept[layout.key_of(row)] = row
    return replace(configuration, tables={**configuration.tables, RULES: Held(layout, kept)})


class RuleIds:
    """Free rule_ids. `may_use` says which the files may use; a rule_id is given out once."""

    def __init__(self, configuration: Configuration, may_use: Callable[[int], bool]) -> None:
        held = configuration.tables.get(RULES)
        self._rules = [int(value or 0) for value in (held.column("rule_id") if held else ())]
        self._taken = set(self._rules)
        self._may_use = may_use

    def take(self, rule_id: int) -> None:
        """Give out a rule_id. Changes: self."""
        self._taken.add(rule_id)

    def before(self, rule_id: int) -> int | None:
        """Return the nearest free one before a rule."""
        return self._free(range(rule_id - 1, max(0, rule_id - _MOST), -1))

    def first(self) -> int | None:
        """Return a free one before all rules, or before the others."""
        return self.before(min(self._rules, default=_FIRST))

    def last(self) -> int | None:
        """Return a free one behind all rules."""
        last = max(self._rules, default=_FIRST)
        return self._free(range(last + _STEP, last + _MOST))

    def _free(self, wanted: range) -> int | None:
        free = (one for one in wanted if one not in self._taken and self._may_use(one))
        return next(free, None)


# -- What the kinds work with.


@dataclass
class Context:
    """The digests, the rules in force, and what has been found so far. `limit`: of each kind."""

    statistics: Statistics
    configuration: Configuration
    limit: int | None = None
    may_use: Callable[[int], bool] = lambda _rule_id: True
    progress: Callable[[int], None] = lambda _done: None
    notes: list[str] = field(default_factory=list)
    read_rules: dict[str, int] = field(default_factory=dict)
    """The first rule_id that is proposed for the reads of a digest."""
    left_out: dict[Kind, int] = field(default_factory=dict)

    @cached_property
    def rule_ids(self) -> RuleIds:
        """The rule_ids that are free."""
        return RuleIds(self.configuration, self.may_use)

    @cached_property
    def now(self) -> Comparison:
        """What becomes of the digests under the rules in force."""
        return Comparison(
            Sides(self.configuration, self.configuration), self.statistics.table.variables
        )

    def note(self, text: str) -> None:
        """Note what the suggestions leave out. Changes: self."""
        if text not in self.notes:
            self.notes.append(text)

    def listed(self, kind: Kind, found: Sequence[T]) -> Sequence[T]:
        """Return the first suggestions of a kind, and count the rest. Changes: self."""
        kept = found if self.limit is None else found[: self.limit]
        if len(found) > len(kept):
            self.left_out[kind] = len(found) - len(kept)
        return kept

    def called(self, hostgroup: object) -> str:
        """Return a hostgroup as `hostgroup 10 (writer)`."""
        name = self.configuration.hostgroup_names.get(hostgroup)  # type: ignore[call-overload]
        return f"hostgroup {hostgroup}" + (f" ({name})" if name else "")

    def share(self, sum_time: int) -> float:
        """Return the part of all query time."""
        return round(sum_time / self.statistics.sum_time, 6) if self.statistics.sum_time else 0.0

    def is_vague(self, seen: SeenDigest) -> bool:
        """Return whether the text of a digest does not say what the query was."""
        notes = self.now.verdict(seen).notes
        return CUT in notes or OTHER_OPTIONS in notes

    def outcomes(self, seen: SeenDigest) -> tuple[Outcome, ...]:
        """Return what may become of a digest under the rules in force."""
        return self.now.verdict(seen).before

    def deciding_rules(self, rows: Iterable[SeenDigest]) -> set[int]:
        """Return the rules in force that choose the hostgroup of any of these rows."""
        return {
            outcome.rule_id
            for seen in rows
            for outcome in self.outcomes(seen)
            if outcome.source is Source.RULE and outcome.rule_id is not None
        }

    def loose_users(self) -> frozenset[str]:
        """Return the users whose transactions rules may tear apart: transaction_persistent 0."""
        held = self.configuration.tables.get("mysql_users")
        if held is None:
            return frozenset()
        at = held.layout.index
        return frozenset(
            str(row[at["username"]])
            for row in held.rows.values()
            if row[at["transaction_persistent"]] == 0 and row[at["frontend"]] != 0
        )

    def replayed(self, after: Configuration) -> Replay:
        """Replay the rows that are followed under other rules."""
        table = replace(self.statistics.table, rows=self.statistics.followed)
        sides = Sides(self.configuration, after)
        return replay(table, sides, limit=None, progress=self.progress)

    def placed_rule(
        self,
        rows: Sequence[SeenDigest],
        attempts: Iterable[tuple[Cells, Iterable[int | None]]],
        is_right: Callable[[Verdict], bool],
    ) -> Cells | None:
        """Return the first rule whose replay `is_right` accepts for all rows; None without one.

        `attempts`: cells of a rule, and the rule_ids that it may have; None is none. Changes: self,
        the rule_id is given out.
        """
        for cells, places in attempts:
            for rule_id in dict.fromkeys(places):
                if rule_id is None:
                    continue
                rule = {"rule_id": rule_id, **cells}
                sides = Sides(self.configuration, with_rules(self.configuration, [rule]))
                comparison = Comparison(sides, self.statistics.table.variables)
                if all(is_right(comparison.verdict(seen)) for seen in rows):
                    self.rule_ids.take(rule_id)
                    return rule
        return None
