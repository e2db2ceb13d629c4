"""The short form of `make test-faults`: each kind of fault at a few fixed statements."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest

from tests.faults.promises import broken
from tests.faults.rig import COURSES, WATCHED, Boundary, Rig
from tests.faults.stops import STOPS, Stops, broken_by_stop
from tests.faults.trying import REAL, SANDBOX, rig_for
from tests.support.protocol.fault_kinds import KINDS, can_happen
from tests.support.servers.instances import NO_BINARY, proxysql_binary

SEED = 5
READS = 1
WRITES = 2
PUT_BACK = 1
"""How many statements are tried: while an apply plans, from the first that writes on, and while it
is put back."""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(SANDBOX, marks=pytest.mark.sweep),
        pytest.param(REAL, marks=pytest.mark.real),
    ],
)
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    if request.param == REAL and proxysql_binary() is None:
        pytest.skip(NO_BINARY)
    with rig_for(request.param) as made:
        yield made


@pytest.fixture(scope="module")
def boundaries(rig: Rig) -> list[list[Boundary]]:
    """The statements of an apply that plans, of one that writes, and of one that is rolled back."""
    apply, *put_back = (rig.boundaries(course) for course in COURSES)
    begin = next(at for at, boundary in enumerate(apply) if "staging MEMORY" in boundary.sql)
    return [apply[:begin], apply[begin:], [*itertools.chain(*put_back)]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_leaves_nothing_half_done(
    rig: Rig, boundaries: list[list[Boundary]], kind: str
) -> None:
    choice = random.Random(f"{SEED} {kind}")
    for some, count in zip(boundaries, (READS, WRITES, PUT_BACK), strict=True):
        possible = [boundary for boundary in some if can_happen(kind, boundary.sql)]
        for boundary in choice.sample(possible, min(count, len(possible))):
            case = rig.attempt(boundary, kind)
            assert broken(case) == [], f"{kind} at {boundary.text()}\n{case.outcome.text}"


@pytest.fixture(scope="module")
def watched(rig: Rig) -> list[Boundary]:
    """The statements of a watch that sees harm, and of the rollback."""
    return rig.boundaries(WATCHED)


@pytest.mark.parametrize("kind", ["lost after", "error", "killed before", "killed after"])
def test_a_fault_while_harm_is_rolled_back(rig: Rig, watched: list[Boundary], kind: str) -> None:
    choice = random.Random(f"{SEED} watched {kind}")
    boundary = choice.choice(watched)
    case = rig.attempt(boundary, kind)
    assert broken(case) == [], f"{kind} at {boundary.text()}\n{case.outcome.text}"


@pytest.mark.parametrize("kind", STOPS)
def test_an_apply_that_stands_still_takes_nothing_from_others(
    rig: Rig, boundaries: list[list[Boundary]], kind: str
) -> None:
    """Before a LOAD or a SAVE: whoever goes on then could publish what is not theirs."""
    choice, stops = random.Random(f"{SEED} {kind}"), Stops(rig)
    commands = [
        boundary
        for boundary in boundaries[1]
        if "stage='LOAD" in boundary.sql or "stage='SAVE" in boundary.sql
    ]
    for boundary in choice.sample(commands, WRITES):
        case = stops.attempt(boundary, kind)
        assert [*broken_by_stop(case)] == [], f"{kind} at {boundary.text()}"
