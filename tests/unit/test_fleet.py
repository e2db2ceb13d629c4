"""The order in which instances change, and the exit code of a rollout."""

import pytest

from proxyctl.errors import ApplyError, ExitCode, InstanceError
from proxyctl.fleet.failed import Failed, worst
from proxyctl.fleet.outcome import Rolled, Rollout, State
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


GONE = InstanceError("gone")


@pytest.mark.parametrize(
    ("states", "more", "code"),
    [
        ([State.APPLIED, State.FOLLOWED, State.IN_SYNC], {}, ExitCode.DONE),
        ([State.FAILED, State.NOT_TOUCHED], {"error": GONE}, ExitCode.ERROR),
        ([State.APPLIED, State.NOT_TOUCHED], {}, ExitCode.INCOMPLETE),
        ([State.FAILED, State.APPLIED], {"error": GONE}, ExitCode.INCOMPLETE),
        ([State.FAILED, State.NOT_TOUCHED], {"error": ApplyError("x")}, ExitCode.INCOMPLETE),
        ([State.APPLIED], {"shunned": ["db1:3306"]}, ExitCode.INCOMPLETE),
        ([State.IN_SYNC, "unread"], {}, ExitCode.ERROR),
        ([State.APPLIED, State.IN_SYNC, "unread"], {}, ExitCode.INCOMPLETE),
    ],
    ids=str,
)
def test_the_exit_code_of_a_rollout(states, more, code):
    """A partly changed instance is incomplete; an unreadable one is unchanged."""
    unread = [Failed("gone", "gone:6032", GONE)] if "unread" in states else ()
    first, *rest = (state for state in states if state != "unread")
    rolled = [Rolled("px1", "px1", first, **more)]
    rolled += [Rolled(f"px{n}", f"px{n}", state) for n, state in enumerate(rest, 2)]
    assert Rollout("1f0c2a9e", rolled, unread=unread).exit_code == code
