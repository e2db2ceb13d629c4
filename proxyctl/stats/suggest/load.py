"""The digests of an instance, added up for each query: what the suggestions look at."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappush, heapreplace

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

    Shape: `begun` are the transactions that each user began. `close` are the rows that are looked
    at one by one: all of them, or those with most time and those with most calls of very many.
    """

    table: DigestTable
    queries: dict[str, Query]
    digests: int
    count_star: int
    sum_time: int
    begun: dict[str, int]
    close: Collection[SeenDigest]

    @property
    def is_whole(self) -> bool:
        """Whether every row is looked at one by one."""
        return len(self.close) == self.digests

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


class _Most:
    """The rows that have most of something, of those that were offered."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._heap: list[tuple[int, int, SeenDigest]] = []

    def offer(self, measure: int, number: int, seen: SeenDigest) -> None:
        """Take a row in if it is one of them. `number` is its own. Changes: self."""
        if len(self._heap) < self._count:
            heappush(self._heap, (measure, -number, seen))
        elif measure > self._heap[0][0]:
            heapreplace(self._heap, (measure, -number, seen))

    def by_number(self) -> dict[int, SeenDigest]:
        """Return the rows."""
        return {-number: seen for _, number, seen in self._heap}


def load_of(table: DigestTable, most_rows: int) -> Load:
    """Return the rows added up by digest, gone through once.

    `most_rows`: so many with most time, and as many with most calls, are kept to be looked at.
    """
    queries: dict[str, Query] = {}
    sessions: dict[tuple[str, str], tuple[str, str]] = {}
    begun: dict[str, int] = {}
    begins: set[str] = set()
    digests = count_star = sum_time = 0
    longest, frequent = _Most(most_rows), _Most(most_rows)
    for seen in table.rows:
        digests += 1
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
        longest.offer(seen.sum_time, digests, seen)
        frequent.offer(seen.count_star, digests, seen)
    close = longest.by_number() | frequent.by_number()
    rows = [close[number] for number in sorted(close)]
    return Load(table, queries, digests, count_star, sum_time, begun, rows)
