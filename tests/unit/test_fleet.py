"""In which order a fleet changes, when it counts as worse, and which exit code says so."""

import pytest

from proxyctl.errors import ExitCode, InstanceError
from proxyctl.fleet.health import Look, Span, worsened
from proxyctl.fleet.outcome import Failed, worst
from proxyctl.fleet.rollout import Rolled, Rollout, State
from proxyctl.fleet.strategy import Strategy, batches


@pytest.mark.parametrize(
    ("strategy", "most", "expected"),
    [
        (Strategy.ALL, 1, [[1, 2, 3, 4, 5]]),
        (Strategy.CANARY, 1, [[1], [2, 3, 4, 5]]),
        (Strategy.ROLLING, 1, [[1], [2], [3], [4], [5]]),
        (Strategy.ROLLING, 2, [[1, 2], [3, 4], [5]]),
        (Strategy.ROLLING, 9, [[1, 2, 3, 4, 5]]),
    ],
)
def test_batches(strategy, most, expected):
    assert [*batches([1, 2, 3, 4, 5], strategy, max_unavailable=most)] == expected


def test_there_is_no_empty_batch():
    assert [*batches([1], Strategy.CANARY, max_unavailable=1)] == [[1]]
    assert [*batches([], Strategy.ROLLING, max_unavailable=3)] == []


class TestWorsened:
    def span(
        self, *, errors=(0, 0), failed=(0, 0), shunned=(), seconds=10, began=(50, 52), now=None
    ):
        return Span(
            Look(100, errors[0], failed[0], frozenset(shunned), began),
            Look(100 + seconds, errors[1], failed[1], frozenset(shunned), now or began),
        )

    def test_rates_are_compared_not_sums(self):
        busy = self.span(errors=(0, 1000))
        assert [*worsened(busy, self.span(errors=(1000, 3000)))] == []
        assert [*worsened(busy, self.span(errors=(1000, 3020)))] == [
            "errors to clients: 202.0 a second, 100.0 before"
        ]

    def test_a_quiet_instance_may_have_an_error_now_and_then(self):
        assert [*worsened(self.span(), self.span(failed=(0, 10)))] == []
        assert [*worsened(self.span(), self.span(failed=(0, 11)))] == [
            "failed connections to servers: 1.1 a second, 0.0 before"
        ]

    def test_counters_that_were_cleared_say_nothing(self):
        assert [*worsened(self.span(errors=(0, 10)), self.span(errors=(900, 3)))] == []

    def test_nor_do_they_after_a_restart_which_is_worse(self):
        after = self.span(errors=(900, 3), now=(104, 105))
        assert [*worsened(self.span(), after)] == ["ProxySQL was restarted since"]
        between = self.span(began=(104, 105))
        assert [*worsened(self.span(), between)] == ["ProxySQL was restarted since"]
        # An answer that took long tells less of when that was.
        assert [*worsened(self.span(began=(50, 104)), after)] == []

    def test_a_server_that_was_shunned_before_is_no_news(self):
        before = self.span(shunned=["10 db1:3306"])
        assert [*worsened(before, before)] == []
        after = self.span(shunned=["10 db1:3306", "20 db2:3306"])
        assert [*worsened(before, after)] == ["SHUNNED since: 20 db2:3306"]

    def test_nor_is_one_that_its_change_brought_to_another_hostgroup(self):
        before = self.span(shunned=["10 db1:3306"])
        assert [*worsened(before, self.span(shunned=["30 db1:3306"]))] == []


def test_the_worst_exit_code_counts():
    codes = [ExitCode.DONE, ExitCode.DIFFERENCES, ExitCode.ERROR, ExitCode.REFUSED]
    assert worst(codes) == ExitCode.REFUSED
    assert worst([*codes, ExitCode.INCOMPLETE]) == ExitCode.INCOMPLETE
    assert worst([]) == ExitCode.DONE


class TestExitCodeOfARollout:
    def code(self, *states, unread=()):
        error = InstanceError("gone")
        with_error = (State.FAILED, State.NOT_ROLLED_BACK)
        return Rollout(
            [Rolled("px", "px", one, error if one in with_error else None) for one in states],
            unread=unread,
        ).exit_code

    def test_all_done(self):
        assert self.code(State.APPLIED, State.IN_SYNC) == ExitCode.DONE

    def test_nothing_was_changed(self):
        assert self.code(State.FAILED, State.NOT_TOUCHED) == ExitCode.ERROR

    def test_some_are_changed_and_others_are_not(self):
        assert self.code(State.APPLIED, State.NOT_TOUCHED) == ExitCode.INCOMPLETE
        assert self.code(State.APPLIED, State.FAILED) == ExitCode.INCOMPLETE
        assert self.code(State.UNHEALTHY, State.NOT_TOUCHED) == ExitCode.INCOMPLETE
        assert self.code(State.ROLLED_BACK, State.FAILED) == ExitCode.INCOMPLETE

    def test_one_that_could_not_be_rolled_back_is_changed_whatever_hindered_it(self):
        assert self.code(State.NOT_ROLLED_BACK, State.FAILED) == ExitCode.INCOMPLETE

    def test_one_that_could_not_be_read_is_one_that_is_not_changed(self):
        unread = [Failed("gone", "gone:6032", InstanceError("gone"))]
        assert self.code(State.IN_SYNC, unread=unread) == ExitCode.ERROR
        assert self.code(State.FAILED, unread=unread) == ExitCode.ERROR
        assert self.code(State.APPLIED, State.IN_SYNC, unread=unread) == ExitCode.INCOMPLETE
