"""In which order the instances of a fleet change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TypeVar

T = TypeVar("T")


class Strategy(StrEnum):
    """How many instances change before anybody looks how they do."""

    ALL = "all"
    ROLLING = "rolling"
    CANARY = "canary"


def batches(
    targets: Sequence[T], strategy: Strategy, *, max_unavailable: int
) -> Iterator[Sequence[T]]:
    """Yield the instances that change at the same time, one batch after the other.

    `canary`: the first one alone, then the others at once. `rolling`: at most `max_unavailable`.
    """
    match strategy:
        case Strategy.ALL:
            sizes = [len(targets)]
        case Strategy.CANARY:
            sizes = [1, len(targets) - 1]
        case Strategy.ROLLING:
            sizes = [max_unavailable] * -(-len(targets) // max_unavailable)
    start = 0
    for size in sizes:
        if targets[start : start + size]:
            yield targets[start : start + size]
        start += size
