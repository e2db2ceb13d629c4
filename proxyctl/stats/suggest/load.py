"""The digests of an instance, added up for each query: what the suggestions look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nlargest

from proxyctl.stats.model import CACHE, DigestTable, SeenDigest
from proxyctl.stats.suggest.texts import begins_transaction, makes_temporary_table, tables_in


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
class Load:
    """Everything that was seen. Units: microseconds.

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


def load_of(table: DigestTable, most_rows: int) -> Load:
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
    followed = kept if is_whole else nlargest(most_rows, table.rows, key=_time)
    return Load(table, queries, count_star, sum_time, begun, followed)


def _time(seen: SeenDigest) -> int:
    return seen.sum_time
