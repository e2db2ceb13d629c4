"""How much counters grew between samples. Pure.

A counter that fell was cleared, by a restart, by somebody who read a `_reset` table, or because its
server moved. It starts again from its new value: the growth in between is not known, and counts as
none, so that no rate is negative or huge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, TypeVar

from proxyctl.harm.sample import CounterSample, DigestSample, ErrorKey

K = TypeVar("K")

_JITTER_S = 1
"""first_seen and the clock are whole seconds, computed from two clocks."""


class DigestLoad(NamedTuple):
    """Executions of one digest in one hostgroup."""

    executions: int
    """How many."""
    time_us: int
    """How long they took together. Units: microseconds."""


@dataclass(frozen=True)
class CounterGrowth:
    """What was counted in a time."""

    seconds: float = 0.0
    """The length of the time."""
    queries: int = 0
    """The queries of clients."""
    answered: Counter[int] = field(default_factory=Counter)
    """The queries that servers got, by hostgroup."""
    errors: Counter[ErrorKey] = field(default_factory=Counter)
    """The errors."""
    failures: Counter[str] = field(default_factory=Counter)
    """The connections that failed, by server."""

    @classmethod
    def between(cls, before: CounterSample, after: CounterSample) -> CounterGrowth:
        """Return the growth from one sample to the next."""
        return cls(
            seconds=max(after.at - before.at, 0.0),
            queries=max(after.queries - before.queries, 0),
            answered=_grown(before.answered, after.answered),
            errors=_grown(before.errors, after.errors),
            failures=_grown(before.failures, after.failures),
        )

    @classmethod
    def over(cls, samples: Iterable[CounterSample]) -> CounterGrowth:
        """Return the growth over consecutive samples."""
        return cls.sum(cls.between(before, after) for before, after in pairwise(samples))

    @classmethod
    def sum(cls, growths: Iterable[CounterGrowth]) -> CounterGrowth:
        """Return the growth over consecutive times."""
        total = cls()
        for growth in growths:
            total = cls(
                total.seconds + growth.seconds,
                total.queries + growth.queries,
                total.answered + growth.answered,
                total.errors + growth.errors,
                total.failures + growth.failures,
            )
        return total

    def per_s(self, count: int) -> float:
        """Return a count as a rate a second; 0 for a time without length."""
        return count / self.seconds if self.seconds else 0.0

    def errors_by_kind(self) -> Counter[str]:
        """Return the errors of each kind, over all places."""
        kinds: Counter[str] = Counter()
        for key, count in self.errors.items():
            kinds[key.kind] += count
        return kinds

    def place_of(self, kind: str) -> str:
        """Return where most errors of a kind came from; '' if not known."""
        places = {key.place: count for key, count in self.errors.items() if key.kind == kind}
        return max(places, key=lambda place: places[place], default="")


def _grown(before: Mapping[K, int], after: Mapping[K, int]) -> Counter[K]:
    """Return the growth of each counter that grew. A counter that is new began at 0."""
    return Counter(
        {
            key: count - before.get(key, 0)
            for key, count in after.items()
            if count > before.get(key, 0)
        }
    )


DigestLoads = dict[str, dict[int, DigestLoad]]
"""The executions of each digest, by hostgroup."""


def digest_loads(samples: Iterable[DigestSample]) -> DigestLoads:
    """Return the executions over consecutive samples of the digests.

    A row that the sample before lacks counts if ProxySQL first saw it since: others were idle.
    """
    loads: DigestLoads = {}
    for before, after in pairwise(samples):
        for key, now in after.rows.items():
            then = before.rows.get(key)
            if then is None and now.first_seen < before.clock - _JITTER_S:
                continue
            count = now.executions - (then.executions if then else 0)
            time_us = now.time_us - (then.time_us if then else 0)
            if count <= 0 or time_us < 0:
                continue
            by_hostgroup = loads.setdefault(key.digest, {})
            so_far = by_hostgroup.get(key.hostgroup, DigestLoad(0, 0))
            by_hostgroup[key.hostgroup] = DigestLoad(
                so_far.executions + count, so_far.time_us + time_us
            )
    return loads
