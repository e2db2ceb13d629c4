"""The result of `digest suggest`: suggestions with their evidence, and what they leave out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, NamedTuple

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


def _number(value: float, unit: str, says: str) -> Any:  # noqa: ANN401 - what a field is given
    return field(default=value, metadata={"unit": unit, "says": says})


@dataclass(frozen=True)
class Thresholds:
    """What is worth a suggestion. Units: as each field says, where `threshold_rows` shows it."""

    reads_calls: int = _number(
        100, "calls", "reads: the fewest calls on the writer that are worth a rule"
    )
    cache_rate: float = _number(1.0, "calls/s", "cache: the rate from the first to the last call")
    cache_calls: int = _number(1_000, "calls", "cache: the fewest calls that tell enough")
    cache_rows: float = _number(
        100.0, "rows/call", "cache: the largest result that is worth caching"
    )
    cache_reads_per_write: float = _number(
        10.0, "calls", "cache: reads for each write that names one of its tables"
    )
    cache_ttl: int = _number(1_000, "ms", "cache: the cache_ttl that is proposed")
    slow_calls: int = _number(5, "calls", "slow: the fewest calls whose average says something")
    slow_average: int = _number(10_000, "µs", "slow: the shortest average that is reported")
    slow_factor: float = _number(10.0, "times", "slow: average divided by the median of the peers")
    slow_score: float = _number(
        3.5, "score", "slow: the modified z-score of the log of the average"
    )
    slow_peers: int = _number(5, "digests", "slow: the fewest peers to compare with")
    most_rows: int = _number(
        50_000, "rows", "all: the most rows to replay, those with most time first"
    )


class ThresholdRow(NamedTuple):
    """One number, for people."""

    name: str
    value: float
    unit: str
    says: str


def threshold_rows(thresholds: Thresholds) -> Iterator[ThresholdRow]:
    """Yield every number, in order."""
    for one in fields(thresholds):
        value = getattr(thresholds, one.name)
        yield ThresholdRow(one.name, value, one.metadata["unit"], one.metadata["says"])


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
