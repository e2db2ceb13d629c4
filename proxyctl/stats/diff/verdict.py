"""When a difference means something: one plain rule, which the documentation states too.

ProxySQL keeps a count, a sum and a maximum of each digest, and no spread: so no test of statistics
can be made. The rule asks for enough calls, a difference that matters, and one that a single slow
call has not made; and of a digest that one side lacks, that it was to be expected there.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from proxyctl.stats.diff.tally import Cost

LEAST_CALLS = 30
"""So many calls on either side, or nothing is said about the average."""
LEAST_EXPECTED = 10
"""So many calls had to be expected on a side without any, at the rate of the other side."""
LEAST_CHANGE = 0.2
"""The slower average is at least this much above the faster one."""
LEAST_MOVE = 0.1
"""A hostgroup has this much more or less of the calls."""


class Verdict(StrEnum):
    """What became of a digest."""

    NEW = "new"
    VANISHED = "vanished"
    SLOWER = "slower"
    FASTER = "faster"
    SAME = "same"
    FEW_CALLS = "few_calls"


def verdict(
    before: Cost, after: Cost, *, seconds: tuple[int, int], slowest_after: int | None
) -> Verdict:
    """Return what became of a digest.

    Units: `seconds` over which either side was counted; `slowest_after` in microseconds, None where
    the slowest call after is not known.
    """
    if not before.calls:
        expected = after.calls * seconds[0] / seconds[1]
        return Verdict.NEW if expected >= LEAST_EXPECTED else Verdict.FEW_CALLS
    if not after.calls:
        expected = before.calls * seconds[1] / seconds[0]
        return Verdict.VANISHED if expected >= LEAST_EXPECTED else Verdict.FEW_CALLS
    if min(before.calls, after.calls) < LEAST_CALLS:
        return Verdict.FEW_CALLS
    if _is_above(after, slowest_after, before):
        return Verdict.SLOWER
    if _is_above(before, before.max_time, after):
        return Verdict.FASTER
    return Verdict.SAME


def _is_above(slow: Cost, slowest: int | None, fast: Cost) -> bool:
    """Return whether an average is clearly above another, also without its slowest call."""
    least = fast.average * (1 + LEAST_CHANGE)
    without = slow.average if slowest is None else (slow.time - slowest) / (slow.calls - 1)
    return slow.average > fast.average and min(slow.average, without) >= least


def is_moved(before: Mapping[int, int], after: Mapping[int, int]) -> bool:
    """Return whether calls by hostgroup are spread in another way."""
    total, total_after = sum(before.values()), sum(after.values())
    if not total or not total_after:
        return False
    if not before.keys() & after.keys():
        return True
    if min(total, total_after) < LEAST_CALLS:
        return False
    return any(
        abs(before.get(number, 0) / total - after.get(number, 0) / total_after) >= LEAST_MOVE
        for number in before.keys() | after.keys()
    )
