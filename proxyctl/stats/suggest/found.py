"""What `digest suggest` finds: suggestions with their evidence, and what was not looked at."""

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


def _number(value: float, unit: str, says: str) -> Any:  # noqa: ANN401 - what a field is given
    return field(default=value, metadata={"unit": unit, "says": says})


@dataclass(frozen=True)
class Thresholds:
    """What is worth a suggestion. Units: as each field says, where `threshold_rows` shows it."""

    reads_calls: int = _number(
        100, "calls", "reads: fewer calls on the writer are not worth a rule"
    )
    cache_rate: float = _number(1.0, "calls/s", "cache: the rate from the first to the last call")
    cache_calls: int = _number(1_000, "calls", "cache: fewer calls tell too little")
    cache_rows: float = _number(100.0, "rows/call", "cache: a larger result is not small")
    cache_reads_per_write: float = _number(
        10.0, "calls", "cache: reads for each write that names one of its tables"
    )
    cache_ttl: int = _number(1_000, "ms", "cache: the cache_ttl that is proposed")
    slow_calls: int = _number(5, "calls", "slow: an average of fewer calls says little")
    slow_average: int = _number(10_000, "us", "slow: a shorter average is no trouble")
    slow_factor: float = _number(10.0, "times", "slow: so many times the median of the peers")
    slow_score: float = _number(
        3.5, "score", "slow: the modified z-score of the log of the average"
    )
    slow_peers: int = _number(5, "digests", "slow: fewer peers are no measure")
    most_rows: int = _number(
        50_000, "rows", "all: so many with most time, and with most calls, are replayed"
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
    same in sentences; `unknown` what it cannot know. `rules` are cells of mysql_query_rules to
    paste, what is not named has the column's default. `proof` says what was shown of them on the
    seen digests, or why there are none.
    Units: `weight_us`, the query time that it is about, in microseconds.
    """

    kind: Kind
    title: str
    evidence: Mapping[str, int | float | str | None]
    says: tuple[str, ...]
    unknown: tuple[str, ...]
    weight_us: int = 0
    digest: str = ""
    digest_text: str = ""
    rules: tuple[Mapping[str, Value], ...] = ()
    proof: str = ""


@dataclass(frozen=True)
class Suggestions:
    """All of one run.

    Shape: `found` by kind, the biggest first; `left_out` counts those beyond the limit, by kind;
    `notes` say what could not be looked at, and why. `layout` is that of mysql_query_rules.
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
    left_out: Mapping[Kind, int] = field(default_factory=dict)
