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
    repeat_calls: int = _number(1_000, "calls", "repeats: so many calls are very many")
    repeat_share: float = _number(0.05, "part of calls", "repeats: the share of all calls")
    repeat_average: int = _number(2_000, "us", "repeats: a longer call is not tiny")
    repeat_rows: float = _number(1.5, "rows/call", "repeats: more than about one row")
    slow_calls: int = _number(5, "calls", "slow: an average of fewer calls says little")
    slow_average: int = _number(10_000, "us", "slow: a shorter average is no trouble")
    slow_factor: float = _number(10.0, "times", "slow: so many times the median of the peers")
    slow_score: float = _number(
        3.5, "score", "slow: the modified z-score of the log of the average"
    )
    slow_peers: int = _number(5, "digests", "slow: fewer peers are no measure")
    unused_since: int = _number(86_400, "s", "unused: hits have to be counted for so long")
    most_rows: int = _number(
        50_000, "rows", "all: so many with most time, and with most calls, are replayed"
    )
    order_steps: int = _number(500_000, "rules", "order: so many rules are tried to compute it")
    order_share: float = _number(0.05, "part of calls", "order: a rule that fewer end at stays")
    order_gain: float = _number(0.1, "part", "order: the part of the tries that has to be saved")


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
