"""The rule for significant differences, and the calculation of times and rates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from proxyctl.errors import UsageError
from proxyctl.stats.counters import Tally, tally
from proxyctl.stats.diff import DiffSort, DigestTrend, compare, is_moved, verdict
from proxyctl.stats.diff_of_fleet import compare_fleet
from proxyctl.stats.model import DigestTable, Group, Load, SeenDigest


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (Load(1, 0, 0), Load(1, 10, 5), DigestTrend.NEW),
        (Load(1, 10, 5), Load(1, 0, 0), DigestTrend.VANISHED),
        # Too few were to be expected on the other side, to miss them there.
        (Load(1, 0, 0), Load(1, 9, 5), DigestTrend.FEW_CALLS),
        (Load(1, 9, 5), Load(1, 0, 0), DigestTrend.FEW_CALLS),
        (Load(1, 29, 29), Load(1, 1000, 10**9), DigestTrend.FEW_CALLS),
        (Load(1, 1000, 10**9), Load(1, 29, 29), DigestTrend.FEW_CALLS),
        (Load(1, 100, 1000), Load(1, 100, 1190), DigestTrend.SAME),
        (Load(1, 100, 1000), Load(1, 100, 1200), DigestTrend.SLOWER),
        (Load(1, 100, 1200), Load(1, 100, 1000), DigestTrend.FASTER),
        (Load(1, 100, 1190), Load(1, 100, 1000), DigestTrend.SAME),
        # One call of the slower side has made all of the difference.
        (Load(1, 100, 2000, max_time=1200), Load(1, 100, 1000), DigestTrend.SAME),
        (Load(1, 100, 2000, max_time=100), Load(1, 100, 1000), DigestTrend.FASTER),
        # The maximum is of a call before the time that is compared.
        (Load(1, 100, 2000, max_time=5000), Load(1, 100, 1000), DigestTrend.FASTER),
        # Answered by ProxySQL itself: no time at all.
        (Load(1, 100, 0), Load(1, 100, 0), DigestTrend.SAME),
        (Load(1, 100, 0), Load(1, 100, 100), DigestTrend.SLOWER),
    ],
)
def test_the_rule(before: Load, after: Load, expected: DigestTrend) -> None:
    calls = max(before.count_star, after.count_star)
    assert verdict(before, after, expected=calls, slowest_after=None) is expected


def test_one_slow_call_after_is_left_out_where_it_is_known() -> None:
    before, after = Load(1, 100, 1000, max_time=20), Load(1, 100, 2000, max_time=1000)
    assert verdict(before, after, expected=0, slowest_after=1000) is DigestTrend.SAME
    assert verdict(before, after, expected=0, slowest_after=30) is DigestTrend.SLOWER


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({10: 100}, {10: 100}, False),
        ({10: 100}, {20: 1}, True),
        ({10: 100}, {}, False),
        ({10: 100}, {10: 91, 20: 9}, False),
        ({10: 100}, {10: 90, 20: 10}, True),
        ({10: 10}, {10: 5, 20: 5}, False),
    ],
)
def test_moves(before: dict[int, int], after: dict[int, int], expected: bool) -> None:
    assert is_moved(before, after) is expected


def row(calls: int, time: int, **other: object) -> SeenDigest:
    made = SeenDigest(10, "shop", "app", "", "0xAA", "SELECT ?", calls, 100, 200, time, 1, 5)
    return made._replace(**other)  # type: ignore[arg-type]


def at(
    moment: int,
    *rows: SeenDigest,
    uptime: int | None = None,
    variables: Mapping[str, str] | None = None,
) -> Tally:
    return tally(DigestTable("px1", "px1:6032", "2.7.1", moment, rows, variables or {}, uptime))


def test_rates_are_those_of_the_time_that_was_counted() -> None:
    found = compare(at(1100, row(2000, 10**6)), at(1200, row(2500, 2 * 10**6)))
    [instance] = found.instances
    assert (instance.before.seconds, instance.after.seconds) == (1000, 100)
    [entry] = found.entries
    assert (entry.before.rate, entry.after.rate) == (found.before.rate, found.after.rate) == (2, 5)
    assert (entry.before.busy, entry.after.busy) == (1000, 10_000)


@dataclass(frozen=True)
class TrendCase:
    """The calls of a digest and the seconds before and after, and the verdict on it."""

    calls_before: int
    calls_after: int
    seconds_before: int
    seconds_after: int
    expected: DigestTrend


@pytest.mark.parametrize(
    "case",
    [
        # A call a minute for an hour, and none in nine minutes; nor in ten.
        TrendCase(
            calls_before=60,
            calls_after=0,
            seconds_before=3600,
            seconds_after=540,
            expected=DigestTrend.FEW_CALLS,
        ),
        TrendCase(
            calls_before=60,
            calls_after=0,
            seconds_before=3600,
            seconds_after=600,
            expected=DigestTrend.VANISHED,
        ),
        # The same digest, that begins after some minutes.
        TrendCase(
            calls_before=0,
            calls_after=60,
            seconds_before=540,
            seconds_after=3600,
            expected=DigestTrend.FEW_CALLS,
        ),
        TrendCase(
            calls_before=0,
            calls_after=60,
            seconds_before=600,
            seconds_after=3600,
            expected=DigestTrend.NEW,
        ),
        # What ran once in a week has not vanished in the next hour.
        TrendCase(
            calls_before=1,
            calls_after=0,
            seconds_before=604_800,
            seconds_after=3600,
            expected=DigestTrend.FEW_CALLS,
        ),
    ],
    ids=lambda case: f"{case.expected.name} after {case.seconds_before}, {case.seconds_after} s",
)
def test_a_digest_is_missed_where_calls_were_to_be_expected(case: TrendCase) -> None:
    began, middle = 1000, 1000 + case.seconds_before
    before, total = case.calls_before, case.calls_before + case.calls_after
    counted = [row(before, before, first_seen=began)] if before else []
    both = [*counted, row(5, 5, digest="0xBB", first_seen=began)]
    later = [row(total, total, first_seen=began), both[-1]._replace(count_star=6)]
    found = compare(at(middle, *both), at(middle + case.seconds_after, *later))
    assert {entry.key: entry.verdict for entry in found.entries}["0xAA",] is case.expected


def test_after_a_restart_the_time_begins_with_the_oldest_digest() -> None:
    before = at(1100, row(2000, 10**6), uptime=1050)
    after = at(1200, row(40, 400, first_seen=1160), uptime=50)
    found = compare(before, after)
    [instance] = found.instances
    assert instance.is_cleared
    assert instance.after.seconds == 40
    assert found.entries[0].after.rate == 1


def test_a_clock_that_was_set_is_no_restart() -> None:
    before = at(1100, row(2000, 10**6), uptime=1000)
    found = compare(before, at(9000, row(2040, 10**6 + 40, first_seen=7900), uptime=1100))
    assert (found.notes, found.after.load.count_star) == ([], 40)


OTHER = row(5, 5, digest="0xBB")


@pytest.mark.parametrize(
    ("after", "was_cleared"),
    [
        pytest.param([row(9, 9), OTHER], False, id="it grew"),
        pytest.param([row(9, 9, first_seen=102), OTHER], False, id="times jitter"),
        pytest.param([row(4, 9), OTHER], True, id="a counter fell"),
        pytest.param([row(9, 9)], True, id="a digest is missing"),
        pytest.param([row(9, 9), row(9, 9, digest="0xCC")], True, id="another is there instead"),
        pytest.param([row(9, 9, hostgroup=20), OTHER], True, id="a hostgroup's row is missing"),
        pytest.param([row(9, 9, first_seen=1101)], True, id="counted anew and past"),
        pytest.param([], True, id="nothing is left"),
    ],
)
def test_counters_that_somebody_cleared(after: list[SeenDigest], was_cleared: bool) -> None:
    before, later = at(1100, row(5, 5), OTHER), at(1200, *after)
    assert later.was_cleared_since(before) is was_cleared
    found = compare(before, later)
    assert (found.instances[0].is_cleared, len(found.notes)) == (was_cleared, was_cleared)
    counted = sum(entry.count_star for entry in after)
    assert found.after.load.count_star == counted - (0 if was_cleared else 10)


@pytest.mark.parametrize("after", [1100, 1099])
def test_without_time_in_between_nothing_is_compared(after: int) -> None:
    with pytest.raises(UsageError, match="no time passed") as refused:
        compare(at(1100, row(5, 5)), at(after, row(5, 5)))
    assert refused.value.fix


SWITCHED = {"mysql-query_digests": "false"}
"""The variables of an instance that counts no digests."""
COUNTS = {"mysql-query_digests": "true", "mysql-query_digests_track_hostname": "false"}
LOWER = {**COUNTS, "mysql-query_digests_lowercase": "true"}


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (COUNTS, SWITCHED, "is or was false"),
        (SWITCHED, COUNTS, "is or was false"),
        ({**LOWER, "mysql-query_digests_lowercase": "false"}, LOWER, "may be counted as another"),
    ],
)
def test_variables_that_changed(
    before: dict[str, str], after: dict[str, str], message: str
) -> None:
    found = compare(at(1100, row(5, 5), variables=before), at(1200, row(9, 9), variables=after))
    [note] = found.notes
    assert message in note


def test_of_counters_that_were_just_cleared_nothing_has_vanished() -> None:
    found = compare(at(1100, row(100_000, 10**6)), at(1200))
    assert [entry.verdict for entry in found.entries] == [DigestTrend.FEW_CALLS]


def test_the_order() -> None:
    quick, slow = row(0, 0), row(0, 0, digest="0xBB")
    before = at(1100, quick._replace(count_star=9, sum_time=9), slow._replace(count_star=9))
    after = at(
        1200,
        quick._replace(count_star=900, sum_time=900),
        slow._replace(count_star=10, sum_time=10**6),
    )
    first = {sort: compare(before, after, sort=sort, limit=1).entries[0].key for sort in DiffSort}
    assert first[DiffSort.COUNT] == ("0xAA",)
    assert first[DiffSort.TIME] == first[DiffSort.AVG] == first[DiffSort.CHANGE] == ("0xBB",)
    found = compare(before, after, limit=0)
    assert (found.entries, found.count, found.after.load.count_star) == ([], 2, 892)


def _table(name: str, moment: int, row: SeenDigest) -> DigestTable:
    return DigestTable(name, f"{name}:6032", "2.7.1", moment, [row])


@pytest.mark.parametrize(
    ("slowest_before", "expected"), [(20, DigestTrend.SAME), (5000, DigestTrend.SLOWER)]
)
def test_one_slow_call_of_one_instance_is_left_out_where_it_is_known(
    slowest_before: int, expected: DigestTrend
) -> None:
    """A slower call that another instance had before may hide a slow one of its own after."""
    usual = row(100, 1000, max_time=20)
    other = usual._replace(max_time=slowest_before)
    found = compare_fleet(
        {"px1": _table("px1", 1100, usual), "px2": _table("px2", 1100, other)},
        {
            "px1": _table(
                "px1", 1200, usual._replace(count_star=200, sum_time=3000, max_time=1000)
            ),
            "px2": _table("px2", 1200, other._replace(count_star=200, sum_time=2000)),
        },
        [Group.DIGEST],
    )
    [entry] = found.entries
    assert (entry.before.load.average, entry.after.load.average) == (10, 15)
    assert entry.verdict is expected
