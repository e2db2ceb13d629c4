"""The result of `digest suggest`: suggestions with their evidence, and what they leave out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from proxyctl.catalog import Layout, Value


class Kind(StrEnum):
    """What a suggestion is about, in the order in which they are shown."""

    READS = "reads"
    """A read on a writer that a reader could answer."""
    CACHE = "cache"
    """The same small answer, again and again."""
    SLOW = "slow"
    """An average far above that of the peers."""


UNKNOWN: Mapping[Kind, tuple[str, ...]] = {
    Kind.READS: (
        "Whether a query ran in a transaction. With transaction_persistent 1 ProxySQL keeps a"
        " transaction on its hostgroup, whatever the rules say.",
        "Whether a table is a temporary table of the connection, or locked by LOCK TABLES, unless"
        " the statistics hold the CREATE TEMPORARY TABLE.",
        "Whether a reader lags behind: a session that reads its own write may not find it there.",
    ),
    Kind.CACHE: (
        "Whether procedures, triggers or events write to the tables: writes are counted by the"
        " names"
        " in digest texts.",
        "Whether the application tolerates answers as old as cache_ttl, even after its own session"
        " changed the rows.",
        "How many different values each `?` stands for: the cache keeps one answer per query text."
        " The estimate assumes a single value, so it is an upper limit.",
        "Whether the calls are prepared statements: ProxySQL does not cache those.",
        "Whether answers are empty: mysql-query_cache_stores_empty_result says whether those are"
        " cached.",
    ),
    Kind.SLOW: (
        "Why it is slow: ask EXPLAIN on the server. Time spent waiting for locks counts as query"
        " time, too.",
        "Whether all calls are slow or only a few: ProxySQL keeps an average and a maximum, no"
        " percentiles.",
    ),
}
"""What digests do not tell."""


@dataclass(frozen=True)
class Thresholds:
    """What is worth a suggestion. Each name begins with the kind; docs/how-to/suggest.md explains.

    Units: `cache_rate` in calls a second, `cache_ttl` in milliseconds, `slow_average` in
    microseconds; the others are counts and factors.
    """

    reads_calls: int = 100
    cache_rate: float = 1.0
    cache_calls: int = 1_000
    cache_rows: float = 100.0
    cache_reads_per_write: float = 10.0
    cache_ttl: int = 1_000
    slow_calls: int = 5
    slow_average: int = 10_000
    slow_factor: float = 10.0
    slow_score: float = 3.5
    slow_peers: int = 5
    most_rows: int = 50_000


@dataclass(frozen=True)
class Suggestion:
    """One proposal.

    Shape: `evidence` are numbers by name, the unit behind the name (`_us`, `_s`, `_ms`); `says` the
    same in sentences. `rules` are cells of mysql_query_rules to paste, what is not named has the
    column's default. `proof` says what a replay of the seen digests left open about them, or why
    there are none.
    """

    kind: Kind
    title: str
    evidence: Mapping[str, int | float | str | None]
    says: tuple[str, ...]
    digest: str = ""
    digest_text: str = ""
    rules: tuple[Mapping[str, Value], ...] = ()
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
    thresholds: Thresholds
    found: tuple[Suggestion, ...] = ()
    notes: tuple[str, ...] = ()
    proof: str = ""
    left_out: Mapping[Kind, int] = field(default_factory=dict)

    @property
    def unknown(self) -> dict[Kind, tuple[str, ...]]:
        """What digests do not tell, for the kinds that were found."""
        return {kind: UNKNOWN[kind] for kind in Kind if any(one.kind is kind for one in self.found)}
