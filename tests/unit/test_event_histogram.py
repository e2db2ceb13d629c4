"""Percentiles of durations: at most 1 % away from the exact ones."""

from __future__ import annotations

from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st

from proxyctl.stats.events.histogram import RELATIVE_ERROR, bucket_of, percentiles

PERCENTS = (1, 50, 95, 99, 100)
DURATIONS = st.lists(
    st.one_of(st.integers(0, 100), st.integers(0, 10**6), st.integers(0, 10**12)), min_size=1
)


@given(DURATIONS)
@example([0])
@example([1, 1, 10**12])
@example(list(range(101)))
def test_a_percentile_is_at_most_one_percent_away(durations: list[int]) -> None:
    buckets = Counter(map(bucket_of, durations))
    ordered = sorted(durations)
    for percent, estimate in zip(PERCENTS, percentiles(buckets, PERCENTS), strict=True):
        rank = next(n for n in range(1, len(ordered) + 1) if 100 * n >= percent * len(ordered))
        exact = ordered[rank - 1]
        assert abs(estimate - exact) <= exact * RELATIVE_ERROR


def test_short_durations_are_exact() -> None:
    assert [percentiles({bucket_of(us): 1}, (50,)) for us in range(51)] == [
        [us] for us in range(51)
    ]


def test_the_buckets_of_an_hour_are_few() -> None:
    assert bucket_of(3_600_000_000) < 1_113
