"""Counters before and after a change, second by second, and what is harm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from proxyctl.harm.bounds import HarmBound, bounds_of
from proxyctl.harm.counters import errors_in
from proxyctl.harm.growth import CounterGrowth, digest_loads
from proxyctl.harm.judgement import HarmJudge, HarmJudgement, HarmVerdict
from proxyctl.harm.sample import (
    CounterSample,
    DigestCount,
    DigestKey,
    DigestSample,
    ErrorKey,
)
from proxyctl.harm.watching import HarmWatch, Pace, samples_before, watch_for_harm

MISSING = ErrorKey("error 1146", "db1:3306 in hostgroup 20")
SERVER = "db1:3306 in hostgroup 20"


class Instance:
    """An instance whose counters a test moves, a second at a time."""

    def __init__(self) -> None:
        self.sample = CounterSample(at=1000.0, answered={20: 0})
        self.clock = 5000

    def second(
        self,
        queries: int = 100,
        *,
        errors: int = 0,
        failures: int = 0,
        kind: ErrorKey = MISSING,
        answers: bool = True,
        waiting: dict[int, int] | None = None,
        shunned: Sequence[str] = (),
    ) -> CounterSample:
        """Let a second pass with these queries and errors, and return the sample after it."""
        last = self.sample
        self.clock += 1
        self.sample = replace(
            last,
            at=last.at + 1,
            queries=last.queries + queries,
            answered={20: last.answered[20] + queries * answers},
            errors={**last.errors, kind: last.errors.get(kind, 0) + errors},
            failures={SERVER: last.failures.get(SERVER, 0) + failures},
            waiting=waiting or {},
            shunned=frozenset(shunned),
            digests=None,
        )
        return self.sample

    def digests(self, **times_ms: tuple[int, int, int]) -> CounterSample:
        """Return a sample with digests. Shape: hostgroup, executions and their sum of times."""
        rows = {
            DigestKey(hostgroup, "shop", "app", "", digest.rstrip("_")): DigestCount(
                count, time_ms * 1000, 0
            )
            for digest, (hostgroup, count, time_ms) in times_ms.items()
        }
        return replace(self.second(), digests=DigestSample(self.clock, rows))


def judge_of(
    instance: Instance, *bounds: str, errors: int = 0, queries: int = 100, seconds: int = 10
) -> HarmJudge:
    """Return a judge after some seconds with these counters."""
    before = [instance.second(queries, errors=errors) for _ in range(seconds + 1)]
    return HarmJudge(before, bounds_of(map(HarmBound.of, bounds)))


def verdicts(judge: HarmJudge, samples: Iterator[CounterSample]) -> list[HarmJudgement]:
    return [judge.add(sample) for sample in samples]


def last_of(judge: HarmJudge, samples: Iterator[CounterSample]) -> HarmJudgement:
    return verdicts(judge, samples)[-1]


def test_equal_counters_are_within_the_bounds() -> None:
    instance = Instance()
    judgement = last_of(
        judge_of(instance, errors=2), (instance.second(errors=2) for _ in range(60))
    )
    assert judgement.verdict is HarmVerdict.WITHIN
    assert judgement.reasons == []
    assert judgement.before == judgement.after.__class__(10.0, 100.0, 2.0, 0, 0.0)
    assert judgement.after.errors_per_s == 2.0


def test_new_errors_in_three_samples_are_harm() -> None:
    instance = Instance()
    judge = judge_of(instance)
    found = verdicts(judge, (instance.second(errors=7) for _ in range(3)))
    assert [verdict.is_harm for verdict in found] == [False, False, True]
    assert found[-1].reasons == ["error 1146 at db1:3306 in hostgroup 20: 7/s, before 0/s"]


def test_a_spike_is_no_harm() -> None:
    instance = Instance()
    judge = judge_of(instance)
    numbers = [500, 500, 0, 0, 0, 0, 500, 0, 0, 0, 0, 0]
    found = verdicts(judge, (instance.second(errors=number) for number in numbers))
    assert not any(verdict.is_harm for verdict in found)


def test_few_errors_a_second_are_harm_after_a_while() -> None:
    instance = Instance()
    judge = judge_of(instance)
    found = verdicts(judge, (instance.second(errors=2) for _ in range(30)))
    begin = next(number for number, verdict in enumerate(found) if verdict.is_harm)
    assert 18 <= begin <= 21
    assert found[begin].reasons == ["error 1146 at db1:3306 in hostgroup 20: 2/s, before 0/s"]


def test_a_burst_is_no_slow_harm() -> None:
    instance = Instance()
    judge = judge_of(instance)
    numbers = [0] * 15 + [60] + [0] * 20
    found = verdicts(judge, (instance.second(errors=number) for number in numbers))
    assert not any(verdict.is_harm for verdict in found)


@pytest.mark.parametrize(("errors", "is_harm"), [(29, False), (40, True)])
def test_errors_that_were_there_before(errors: int, is_harm: bool) -> None:
    instance = Instance()
    judge = judge_of(instance, errors=10)
    assert last_of(judge, (instance.second(errors=errors) for _ in range(40))).is_harm is is_harm


def test_more_traffic_may_have_more_errors() -> None:
    instance = Instance()
    judge = judge_of(instance, errors=10)
    more = last_of(judge, (instance.second(500, errors=60) for _ in range(40)))
    assert not more.is_harm


def test_less_traffic_excuses_nothing() -> None:
    instance = Instance()
    judge = judge_of(instance, errors=10)
    assert last_of(judge, (instance.second(10, errors=40) for _ in range(5))).is_harm


def test_errors_that_move_with_their_queries_are_no_harm() -> None:
    instance = Instance()
    judge = judge_of(instance, errors=20)
    elsewhere = ErrorKey("error 1146", "db2:3306 in hostgroup 30")
    found = last_of(judge, (instance.second(errors=20, kind=elsewhere) for _ in range(40)))
    assert not found.is_harm


def test_an_absolute_bound_of_errors() -> None:
    instance = Instance()
    judge = judge_of(instance, "errors>3/s", errors=4)
    judgement = last_of(judge, (instance.second(errors=4) for _ in range(3)))
    assert judgement.reasons == ["4/s errors, before 4/s; errors>3/s"]
    judge = judge_of(instance, "errors>5/s", errors=4)
    assert not last_of(judge, (instance.second(errors=4) for _ in range(40))).is_harm


def test_a_session_that_waits_where_nobody_is_answered() -> None:
    instance = Instance()
    judge = judge_of(instance)
    found = verdicts(judge, (instance.second(waiting={99: 1}) for _ in range(3)))
    assert [verdict.is_harm for verdict in found] == [False, False, True]
    assert found[-1].reasons == [
        "1 session waits for a connection in hostgroup 99, which answers no queries; before 0"
    ]


@pytest.mark.parametrize(("waiting", "is_harm"), [(4, False), (5, True)])
def test_sessions_that_wait_in_a_busy_hostgroup(waiting: int, is_harm: bool) -> None:
    instance = Instance()
    judge = judge_of(instance)
    found = last_of(judge, (instance.second(waiting={20: waiting}) for _ in range(9)))
    assert found.is_harm is is_harm
    assert found.after.waiting == waiting


def test_sessions_that_waited_before() -> None:
    instance = Instance()
    before = [instance.second(waiting={20: 8}) for _ in range(5)]
    judge = HarmJudge(before, bounds_of([]))
    assert not last_of(judge, (instance.second(waiting={20: 24}) for _ in range(9))).is_harm
    assert last_of(judge, (instance.second(waiting={20: 25}) for _ in range(3))).is_harm


def test_an_absolute_bound_of_waiting() -> None:
    instance = Instance()
    judge = judge_of(instance, "waiting>10")
    samples = [instance.second(answers=False, waiting={20: 10}) for _ in range(9)]
    assert not last_of(judge, iter(samples)).is_harm
    assert last_of(judge, (instance.second(waiting={20: 11}) for _ in range(3))).is_harm


def test_connections_that_fail_and_a_server_that_is_shunned() -> None:
    instance = Instance()
    judge = judge_of(instance)
    samples = (instance.second(failures=5, shunned=[SERVER]) for _ in range(3))
    assert last_of(judge, samples).reasons == [
        f"connections to {SERVER} fail: 5/s, before 0/s",
        f"{SERVER} is SHUNNED, but was not before",
    ]


def test_a_server_that_was_shunned_before() -> None:
    instance = Instance()
    before = [instance.second(shunned=[SERVER]) for _ in range(5)]
    judge = HarmJudge(before, bounds_of([]))
    assert not last_of(judge, (instance.second(shunned=[SERVER]) for _ in range(9))).is_harm


def test_a_server_that_was_shunned_now_and_then_before() -> None:
    instance = Instance()
    before = [instance.second(shunned=[SERVER]), *(instance.second() for _ in range(4))]
    judge = HarmJudge(before, bounds_of([]))
    assert not last_of(judge, (instance.second(shunned=[SERVER]) for _ in range(9))).is_harm


def test_no_query_before_or_since_is_never_fine() -> None:
    instance = Instance()
    judge = judge_of(instance, queries=0)
    assert last_of(judge, (instance.second() for _ in range(9))).verdict is HarmVerdict.NO_TRAFFIC
    judge = judge_of(instance)
    quiet = (instance.second(queries=0) for _ in range(9))
    assert last_of(judge, quiet).verdict is HarmVerdict.NO_TRAFFIC


def test_counters_that_fall_start_again() -> None:
    instance = Instance()
    for _ in range(5):
        instance.second(1000, errors=500, failures=50)
    before = [instance.sample, *(instance.second(errors=1) for _ in range(5))]
    judge = HarmJudge(before, bounds_of([]))
    restarted = CounterSample(
        at=instance.sample.at + 1,
        queries=3,
        answered={20: 3},
        errors={MISSING: 2},
        failures={SERVER: 1},
    )
    growth = CounterGrowth.between(instance.sample, restarted)
    assert (growth.queries, growth.errors.total(), growth.failures.total()) == (0, 0, 0)
    assert growth.answered == {}
    instance.sample = restarted
    assert not judge.add(restarted).is_harm
    found = last_of(judge, (instance.second(errors=1) for _ in range(9)))
    assert not found.is_harm
    assert found.after.errors_per_s == pytest.approx(0.9)


def test_errors_that_vanish_begin_at_zero_again() -> None:
    before = CounterSample(at=1, errors={MISSING: 500})
    cleared = CounterSample(at=2)
    again = CounterSample(at=3, errors={MISSING: 2})
    assert CounterGrowth.over([before, cleared, again]).errors == {MISSING: 2}


# -- times ----------------------------------------------------------------------------------------


def times(instance: Instance, *bounds: str) -> HarmJudge:
    """Return a judge that has seen 100 executions of 2 ms each of two digests in hostgroup 20."""
    before = [
        instance.digests(A=(20, 100, 200), B=(20, 100, 200)),
        instance.digests(A=(20, 200, 400), B=(20, 200, 400)),
    ]
    return HarmJudge(before, bounds_of(map(HarmBound.of, bounds)))


def test_queries_that_got_slower_elsewhere() -> None:
    instance = Instance()
    judge = times(instance)
    samples = (
        instance.digests(A=(20, 200 + 5000 * n, 400 + 9999 * n), B_=(30, 50 * n, 5000 * n))
        for n in (0, 1, 2, 3)
    )
    assert last_of(judge, samples).reasons == [
        "queries that go to a different hostgroup than before take 100 ms on average, before 2.00"
        " ms"
    ]


@pytest.mark.parametrize(("bounds", "is_harm"), [((), False), (("time>2x",), True)])
def test_a_given_bound_has_a_lower_least_value(bounds: tuple[str, ...], is_harm: bool) -> None:
    instance = Instance()
    judge = times(instance, *bounds)
    samples = (instance.digests(A=(20, 200 + 100 * n, 400 + 1500 * n)) for n in (1, 2, 3))
    judgement = last_of(judge, samples)
    assert judgement.is_harm is is_harm
    assert judgement.time_ratio == pytest.approx(7.5)


def test_another_mix_of_equally_fast_queries_is_no_harm() -> None:
    instance = Instance()
    before = [
        instance.digests(fast=(20, 1000, 1000), slow=(20, 10, 10_000)),
        instance.digests(fast=(20, 2000, 2000), slow=(20, 20, 20_000)),
    ]
    judge = HarmJudge(before, bounds_of([HarmBound.of("time>2x")]))
    samples = (
        instance.digests(fast=(20, 2000, 2000), slow=(20, 20 + 100 * n, 20_000 + 100_000 * n))
        for n in (1, 2, 3)
    )
    judgement = last_of(judge, samples)
    assert not judgement.is_harm
    assert judgement.time_ratio == pytest.approx(1.0)


def test_a_row_that_was_idle_counts_from_its_next_reading() -> None:
    key = DigestKey(20, "shop", "app", "", "A")
    old = DigestCount(1_000_000, 5_000_000, 100)
    first, second = DigestSample(5000, {}), DigestSample(5010, {key: old})
    third = DigestSample(5020, {key: DigestCount(1_000_010, 5_000_100, 100)})
    assert digest_loads([first, second]) == {}
    assert digest_loads([first, second, third]) == {"A": {20: (10, 100)}}
    new = DigestSample(5010, {key: DigestCount(3, 30, 5004)})
    assert digest_loads([first, new]) == {"A": {20: (3, 30)}}
    assert digest_loads([third, second]) == {}


def test_errors_of_the_metrics() -> None:
    text = """\
# TYPE mysql_error_total counter
mysql_error_total{address="127.0.0.1",code="2002",hostgroup="99",port="1"} 75
mysql_error_total{address="127.0.0.1",code="1213",hostgroup="10",port="19161"} 1e+06
proxysql_mysql_error_total{address="127.0.0.2",code="2002",hostgroup="0",port="19161"} 61
"""
    assert errors_in(text) == {
        ErrorKey("error 2002", "127.0.0.1:1 in hostgroup 99"): 75,
        ErrorKey("error 1213", "127.0.0.1:19161 in hostgroup 10"): 1_000_000,
    }


# -- the loop -------------------------------------------------------------------------------------


class Time:
    """A clock that moves when somebody sleeps, and when a sample is taken."""

    def __init__(self, took_s: float = 0.1) -> None:
        self.now, self._took_s = 0.0, took_s
        self.pace = Pace(lambda: self.now, self.sleep)
        self.queries = 0

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.now += seconds

    def take(self, waiting: int = 0) -> CounterSample:
        self.now += self._took_s
        self.queries += 100
        return CounterSample(
            at=self.now, queries=self.queries, waiting={99: waiting} if waiting else {}
        )


@pytest.mark.parametrize(("span", "before"), [(8.0, 8.0), (300.0, 30.0)])
def test_the_time_before_is_as_long_as_the_watch_or_thirty_seconds(
    span: float, before: float
) -> None:
    time = Time()
    samples = samples_before(time.take(), time.take, HarmWatch(span), time.pace)
    assert before <= samples[-1].at - samples[0].at < before + 0.5
    assert len(samples) >= before * 0.9


def test_the_time_of_an_approval_counts() -> None:
    time = Time()
    first = time.take()
    time.sleep(100)
    assert len(samples_before(first, time.take, HarmWatch(60.0), time.pace)) == 2
    assert time.now < 101


@pytest.mark.parametrize(("took_s", "samples"), [(0.01, 61), (0.5, 31), (10.0, 6)])
def test_a_slow_instance_is_asked_less_often(took_s: float, samples: int) -> None:
    time = Time(took_s)
    before = [time.take(), time.take()]
    shown: list[float] = []
    watch = HarmWatch(60.0)
    judgement = watch_for_harm(
        time.take,
        HarmJudge(before, watch.bounds),
        watch,
        lambda _judgement, seconds: shown.append(seconds),
        time.pace,
    )
    assert judgement.verdict is HarmVerdict.WITHIN
    assert abs(len(shown) - samples) <= 2
    assert 60 <= shown[-1] < 71


def test_harm_ends_the_watch() -> None:
    time = Time()
    before = [time.take(), time.take()]
    watch = HarmWatch(300.0)
    judge = HarmJudge(before, watch.bounds)
    judgement = watch_for_harm(lambda: time.take(waiting=2), judge, watch, pace=time.pace)
    assert judgement.is_harm
    assert time.now < 4


@pytest.mark.parametrize(("lasts", "is_harm"), [(1, False), (2, False), (3, True)])
def test_what_begins_at_the_end_is_still_decided(lasts: int, is_harm: bool) -> None:
    time = Time()
    before = [time.take(), time.take()]
    watch = HarmWatch(10.0)
    begin = time.now + 9.5
    waiting = iter([2] * lasts)

    def take() -> CounterSample:
        return time.take(waiting=next(waiting, 0) if time.now >= begin else 0)

    judge = HarmJudge(before, watch.bounds)
    judgement = watch_for_harm(take, judge, watch, pace=time.pace)
    assert judgement.is_harm is is_harm
    assert bool(judgement.beyond) is is_harm
    assert time.now < 10 + lasts + 2


@pytest.mark.parametrize("span", [10.0, 13.0, 30.0])
def test_times_are_decided_after_a_short_watch(span: float) -> None:
    time, slow_ms, read_at = Time(), 2, -5.0
    executions = time_us = 0

    def take() -> CounterSample:
        nonlocal executions, time_us, read_at
        sample = time.take()
        executions, time_us = executions + 100, time_us + 100_000 * slow_ms
        if time.now < read_at + 5:
            return sample
        read_at = time.now
        count = DigestCount(executions, time_us, 0)
        rows = {DigestKey(20, "shop", "app", "", "A"): count}
        return replace(sample, digests=DigestSample(int(time.now), rows))

    watch = HarmWatch(span)
    before = samples_before(take(), take, watch, time.pace)
    slow_ms = 200
    judge = HarmJudge(before, watch.bounds)
    judgement = watch_for_harm(take, judge, watch, pace=time.pace)
    assert judgement.is_harm
    assert judgement.after.seconds < 25
