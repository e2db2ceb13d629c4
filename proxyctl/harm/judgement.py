"""Judge whether counters after a change show harm. Pure.

A bound is broken when three of the last five samples are beyond it: one spike is not harm. Each
bound relative to the time before also has a least value, below which nothing is harm.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from proxyctl.harm.bounds import DEFAULTS, ERRORS, FAILURES, TIME, WAITING, HarmBound
from proxyctl.harm.growth import CounterGrowth, DigestLoads, digest_loads
from proxyctl.harm.sample import CounterSample, DigestSample
from proxyctl.stats.units import number_text, time_text
from proxyctl.text import counted

RECENT, BEYOND = 5, 3
"""A bound is broken when so many of the recent samples are beyond it."""
_LEAST_ERRORS, _LEAST_ERRORS_LONG = 5.0, 1.0
"""Errors of one kind, a second, from one sample to the next, and over the long time."""
_LONG_S, _LONG_AT_LEAST_S = 30.0, 20.0
_LEAST_WAITING = 5
"""Sessions that wait in a hostgroup that answers others; where it answers nobody, one is enough."""
_LEAST_FAILURES = 2.0
_LEAST_EXECUTIONS = 20
_LEAST_SLOWER_US, _LEAST_SLOWER_ASKED_US = 50_000, 1_000
"""How much slower an execution is on average: for the default bound, and for one of --abort-if. An
instance without processor time for a second slows all queries as much as a missing index."""
_RECENT_TIMES = 3


class HarmVerdict(StrEnum):
    """What the counters say about a change."""

    HARM = "harm"
    WITHIN = "within the bounds"
    NO_TRAFFIC = "no traffic"


@dataclass(frozen=True)
class HarmFigures:
    """The counters of a period."""

    seconds: float
    """The length of the time."""
    queries_per_s: float
    """The queries of clients."""
    errors_per_s: float
    """Errors of all kinds."""
    waiting: int
    """The most sessions that waited for a connection at the same time."""
    failures_per_s: float
    """Connections to servers that failed."""


@dataclass(frozen=True)
class HarmJudgement:
    """What the counters say so far."""

    verdict: HarmVerdict
    """Harm, or why there is none to see."""
    reasons: Sequence[str]
    """With harm: what was seen, a sentence each."""
    before: HarmFigures
    """The counters before the change."""
    after: HarmFigures
    """The counters since."""
    time_ratio: float | None
    """How long the queries take, relative to the same queries before; None if not known."""
    beyond: Sequence[str] = ()
    """What is beyond a bound in the last sample: the next ones decide whether that is harm."""

    @property
    def is_harm(self) -> bool:
        """Whether the change has to be taken back."""
        return self.verdict is HarmVerdict.HARM


class HarmJudge:
    """Judges one instance, sample after sample."""

    def __init__(self, before: Sequence[CounterSample], bounds: Mapping[str, HarmBound]) -> None:
        """`before`: at least two samples, in order; the last one right before the change."""
        self._bounds = bounds
        self._last = before[-1]
        self._before = CounterGrowth.over(before)
        self._waited_before = _most_waiting(before)
        digests = [sample.digests for sample in before if sample.digests is not None]
        self._loads_before = digest_loads(digests)
        self._last_digests = digests[-1] if digests else None
        self._shunned_before = frozenset[str]().union(*(sample.shunned for sample in before))
        self._after = CounterGrowth()
        self._waiting_after = 0
        self._recent: deque[dict[str, str]] = deque(maxlen=RECENT)
        self._recent_times: deque[dict[str, str]] = deque(maxlen=_RECENT_TIMES)
        self._long: deque[CounterGrowth] = deque()
        self._expected_us = self._actual_us = 0.0

    def add(self, sample: CounterSample) -> HarmJudgement:
        """Take the next sample after the change, and return the judgement so far."""
        growth = CounterGrowth.between(self._last, sample)
        self._last = sample
        self._after = CounterGrowth.sum((self._after, growth))
        self._waiting_after = max(self._waiting_after, *sample.waiting.values(), 0)
        self._recent.append(
            {**self._errors(growth), **self._waiting(growth, sample), **self._failures(growth)}
            | self._shunned(sample)
        )
        reasons = [*_lasting(self._recent, BEYOND), *self._lasting_errors(growth)]
        if sample.digests is not None:
            self._recent_times.append(dict(self._slower(sample.digests)))
        reasons += _lasting(self._recent_times, _RECENT_TIMES)
        return HarmJudgement(
            self._verdict(reasons),
            reasons,
            _figures(self._before, max(self._waited_before.values(), default=0)),
            _figures(self._after, self._waiting_after),
            self._actual_us / self._expected_us if self._expected_us else None,
            beyond=[text for last in self._last_readings() for text in last.values()],
        )

    def _last_readings(self) -> list[dict[str, str]]:
        return [readings[-1] for readings in (self._recent, self._recent_times) if readings]

    def _verdict(self, reasons: Sequence[str]) -> HarmVerdict:
        if reasons:
            return HarmVerdict.HARM
        if not self._before.queries or not self._after.queries:
            return HarmVerdict.NO_TRAFFIC
        return HarmVerdict.WITHIN

    # -- each counter: what is beyond its bound, by what it is about ------------------------------

    def _expected(self, growth: CounterGrowth, kind: str) -> float:
        """Return the errors of a kind a second that the traffic of `growth` would have had."""
        before = self._before.per_s(self._before.errors_by_kind()[kind])
        queries_before = self._before.per_s(self._before.queries)
        more = growth.per_s(growth.queries) / queries_before if queries_before else 1.0
        return before * max(more, 1.0)

    def _errors(self, growth: CounterGrowth) -> dict[str, str]:
        bound = self._bounds[ERRORS]
        if not bound.is_ratio:
            rate = growth.per_s(growth.errors.total())
            before = self._before.per_s(self._before.errors.total())
            text = f"{_rate(rate)} errors, before {_rate(before)}; {bound.text()}"
            return {ERRORS: text} if rate > bound.limit else {}
        return dict(self._errors_of_kinds(growth, _LEAST_ERRORS))

    def _errors_of_kinds(self, growth: CounterGrowth, least: float) -> Iterator[tuple[str, str]]:
        limit = self._bounds[ERRORS].limit
        for kind, count in growth.errors_by_kind().items():
            rate = growth.per_s(count)
            if rate >= least and rate > limit * self._expected(growth, kind):
                before = self._before.per_s(self._before.errors_by_kind()[kind])
                place = growth.place_of(kind)
                where = f" at {place}" if place else ""
                yield kind, f"{kind}{where}: {_rate(rate)}, before {_rate(before)}"

    def _lasting_errors(self, growth: CounterGrowth) -> list[str]:
        """Return errors that come slowly: over the long time, and in half of its samples."""
        self._long.append(growth)
        while sum(part.seconds for part in self._long) - self._long[0].seconds > _LONG_S:
            self._long.popleft()
        whole = CounterGrowth.sum(self._long)
        if not self._bounds[ERRORS].is_ratio or whole.seconds < _LONG_AT_LEAST_S:
            return []
        return [
            text
            for kind, text in self._errors_of_kinds(whole, _LEAST_ERRORS_LONG)
            if sum(kind in part.errors_by_kind() for part in self._long) * 2 >= len(self._long)
            and kind not in self._recent[-1]
        ]

    def _waiting(self, growth: CounterGrowth, sample: CounterSample) -> dict[str, str]:
        bound, beyond = self._bounds[WAITING], {}
        for hostgroup, count in sample.waiting.items():
            before = self._waited_before.get(hostgroup, 0)
            is_dead = not growth.answered[hostgroup]
            if bound.is_ratio:
                least = 1 if is_dead and not before else _LEAST_WAITING
                is_beyond = count >= least and count > bound.limit * before
            else:
                is_beyond = count > bound.limit
            if is_beyond:
                verb = "waits" if count == 1 else "wait"
                where = f"hostgroup {hostgroup}{', which answers no queries' if is_dead else ''}"
                beyond[f"waiting {hostgroup}"] = (
                    f"{counted(count, 'session')} {verb} for a connection in {where};"
                    f" before {before}"
                )
        return beyond

    def _failures(self, growth: CounterGrowth) -> dict[str, str]:
        bound, beyond = self._bounds[FAILURES], {}
        for server, count in growth.failures.items():
            rate, before = growth.per_s(count), self._before.per_s(self._before.failures[server])
            limit = max(bound.limit * before, _LEAST_FAILURES) if bound.is_ratio else bound.limit
            if rate > limit:
                beyond[f"failures {server}"] = (
                    f"connections to {server} fail: {_rate(rate)}, before {_rate(before)}"
                )
        return beyond

    def _shunned(self, sample: CounterSample) -> dict[str, str]:
        if not self._bounds[FAILURES].is_ratio:
            return {}
        newly = sorted(sample.shunned - self._shunned_before)
        return {f"shunned {server}": f"{server} is SHUNNED, but was not before" for server in newly}

    def _slower(self, digests: DigestSample) -> Iterator[tuple[str, str]]:
        """Yield which executions since the last sample of the digests are too slow."""
        if self._last_digests is None:
            self._last_digests = digests
            return
        loads = digest_loads((self._last_digests, digests))
        self._last_digests = digests
        bound = self._bounds[TIME]
        least_us = _LEAST_SLOWER_US if bound in DEFAULTS else _LEAST_SLOWER_ASKED_US
        for moved, text in (
            (True, "queries that go to a different hostgroup than before"),
            (False, "queries"),
        ):
            count, actual_us, expected_us = _compared(loads, self._loads_before, moved=moved)
            if not moved:
                self._actual_us += actual_us
                self._expected_us += expected_us
            if count < _LEAST_EXECUTIONS or actual_us - expected_us < least_us * count:
                continue
            if actual_us > bound.limit * expected_us:
                yield (
                    text,
                    f"{text} take {time_text(actual_us / count)} on average,"
                    f" before {time_text(expected_us / count)}",
                )


def _compared(loads: DigestLoads, before: DigestLoads, *, moved: bool) -> tuple[int, float, float]:
    """Return the executions, their time, and the time that as many took before. Units: us.

    Only digests that were executed before count. `moved`: only in hostgroups where they were not.
    """
    count, actual_us, expected_us = 0, 0.0, 0.0
    for digest, by_hostgroup in loads.items():
        known = before.get(digest)
        if known is None:
            continue
        average_us = sum(load.time_us for load in known.values()) / sum(
            load.executions for load in known.values()
        )
        for hostgroup, load in by_hostgroup.items():
            if not moved or hostgroup not in known:
                count += load.executions
                actual_us += load.time_us
                expected_us += load.executions * average_us
    return count, actual_us, expected_us


def _lasting(recent: Sequence[Mapping[str, str]], least: int) -> list[str]:
    """Return what the last sample shows, if enough of the recent ones show it."""
    if not recent:
        return []
    return [
        text
        for subject, text in recent[-1].items()
        if sum(subject in reading for reading in recent) >= least
    ]


def _most_waiting(samples: Sequence[CounterSample]) -> dict[int, int]:
    most: dict[int, int] = {}
    for sample in samples:
        for hostgroup, count in sample.waiting.items():
            most[hostgroup] = max(most.get(hostgroup, 0), count)
    return most


def _figures(growth: CounterGrowth, waiting: int) -> HarmFigures:
    return HarmFigures(
        seconds=growth.seconds,
        queries_per_s=growth.per_s(growth.queries),
        errors_per_s=growth.per_s(growth.errors.total()),
        waiting=waiting,
        failures_per_s=growth.per_s(growth.failures.total()),
    )


def _rate(per_s: float) -> str:
    return f"{number_text(round(per_s, 2))}/s"
