"""Percentiles of durations in bounded memory.

A duration is counted in a bucket; each bucket is 2 % wider than the one below. So a percentile is
at most 1 % away from the exact one, and a group with durations from 1 us to one hour has at most
1,114 buckets, however many queries it has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import ceil, log

RELATIVE_ERROR = 0.01
"""The largest error of a percentile, as a part of its value."""

_GROWTH = 1.02
_SCALE = 1 / log(_GROWTH)
_EXACT_BELOW_US = 50
"""Up to here a bucket holds at most one whole number, which rounding its middle gives."""
ZERO = -1
"""The bucket of the duration 0."""


@lru_cache(maxsize=1 << 14)  # most durations are short, and the same again
def bucket_of(duration: int) -> int:
    """Return the bucket of a duration in microseconds."""
    return ceil(log(duration) * _SCALE) if duration else ZERO


def percentiles(buckets: Mapping[int, int], percents: Sequence[int]) -> list[float]:
    """Return the percentiles of the durations in buckets, in microseconds.

    The 95th percentile is the smallest duration that at least 95 % of all durations do not exceed.
    Shape: `buckets` maps a bucket to its number of durations, at least one; `percents` ascend, from
    1 to 100.
    """
    total = sum(buckets.values())
    ordered = iter(sorted(buckets.items()))
    bucket, seen = next(ordered)
    found = []
    for percent in percents:
        rank = -(-percent * total // 100)  # rounded up
        while seen < rank:
            bucket, count = next(ordered)
            seen += count
        found.append(_middle(bucket))
    return found


def _middle(bucket: int) -> float:
    """Return the duration that is nearest, as a ratio, to both ends of a bucket."""
    if bucket == ZERO:
        return 0
    middle: float = 2 * _GROWTH**bucket / (1 + _GROWTH)
    return middle if middle >= _EXACT_BELOW_US else round(middle)
