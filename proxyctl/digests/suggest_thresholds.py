"""When something is worth a suggestion: every number in one place, with its unit and meaning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple


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
