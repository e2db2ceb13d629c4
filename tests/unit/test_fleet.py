"""In which order instances change, and which exit code says what became of them."""

import pytest

from proxyctl.errors import ApplyError, ExitCode, InstanceError
from proxyctl.fleet.outcome import Failed, Rolled, Rollout, State, worst
from proxyctl.fleet.rollout import batches


@pytest.mark.parametrize(
    ("most", "has_canary", "expected"),
    [
        (1, True, [[1], [2, 3, 4, 5]]),
        (1, False, [[1], [2], [3], [4], [5]]),
        (2, False, [[1, 2], [3, 4], [5]]),
        (9, False, [[1, 2, 3, 4, 5]]),
    ],
)
def test_batches(most, has_canary, expected):
    assert [*batches([1, 2, 3, 4, 5], most, has_canary=has_canary)] == expected


def test_there_is_no_empty_batch():
    assert [*batches([1], 1, has_canary=True)] == [[1]]
    assert [*batches([], 1, has_canary=True)] == []
    assert [*batches([], 3)] == []


def test_the_worst_exit_code_counts():
    codes = [ExitCode.DONE, ExitCode.DIFFERENCES, ExitCode.ERROR, ExitCode.REFUSED]
    assert worst(codes) == ExitCode.REFUSED
    assert worst([*codes, ExitCode.INCOMPLETE]) == ExitCode.INCOMPLETE
    assert worst([]) == ExitCode.DONE


class TestExitCodeOfARollout:
    def code(self, *states, unread=(), error=None, shunned=()):
        first, *rest = states
        rolled = [Rolled("px1", "px1", first, error=error, shunned=shunned)]
        rolled += [Rolled(f"px{n}", f"px{n}", one) for n, one in enumerate(rest, 2)]
        return Rollout(rolled, unread=unread).exit_code

    def test_all_done(self):
        assert self.code(State.APPLIED, State.FOLLOWED, State.IN_SYNC) == ExitCode.DONE

    def test_nothing_was_changed(self):
        failed = InstanceError("gone")
        assert self.code(State.FAILED, State.NOT_TOUCHED, error=failed) == ExitCode.ERROR

    def test_some_are_changed_and_others_are_not(self):
        assert self.code(State.APPLIED, State.NOT_TOUCHED) == ExitCode.INCOMPLETE
        assert self.code(State.FAILED, State.APPLIED, error=InstanceError("x")) == (
            ExitCode.INCOMPLETE
        )
        assert self.code(State.FAILED, State.NOT_TOUCHED, error=ApplyError("x")) == (
            ExitCode.INCOMPLETE
        )

    def test_a_server_that_got_shunned_is_no_success(self):
        assert self.code(State.APPLIED, shunned=["db1:3306"]) == ExitCode.INCOMPLETE

    def test_one_that_could_not_be_read_is_one_that_is_not_changed(self):
        unread = [Failed("gone", "gone:6032", InstanceError("gone"))]
        assert self.code(State.IN_SYNC, unread=unread) == ExitCode.ERROR
        assert self.code(State.APPLIED, State.IN_SYNC, unread=unread) == ExitCode.INCOMPLETE
