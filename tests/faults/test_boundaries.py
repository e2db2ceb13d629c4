"""The short form of `make test-faults`: each kind of fault at a few statements, always the same."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.conftest import _binary
from tests.faults.courses import COURSES
from tests.faults.kinds import KINDS
from tests.faults.promises import broken
from tests.faults.rig import Boundary, Rig, rig_on
from tests.faults.trying import REAL, SANDBOX, served

SEED = 5
READS = 1
WRITES = 2
"""How many statements of an apply are tried: while it plans, and from the first that writes on."""


@pytest.fixture(scope="module", params=[SANDBOX, pytest.param(REAL, marks=pytest.mark.real)])
def rig(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    if request.param == REAL:
        _binary()
    folder = tmp_path_factory.mktemp("faults")
    with served(request.param, folder) as instance, rig_on(instance, folder) as made:
        yield made


@pytest.fixture(scope="module")
def boundaries(rig: Rig) -> list[list[Boundary]]:
    """The statements to choose from, those of an apply that is put back last."""
    apply, *put_back = (rig.boundaries(course) for course in COURSES)
    begin = next(at for at, one in enumerate(apply) if "staging MEMORY" in one.sql)
    return [apply[:begin], apply[begin:], *put_back]


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_leaves_nothing_half_done(
    rig: Rig, boundaries: list[list[Boundary]], kind: str
) -> None:
    choice = random.Random(f"{SEED} {kind}")
    reads, writes, *put_back = boundaries
    chosen = [*choice.sample(reads, READS), *choice.sample(writes, WRITES)]
    chosen += [choice.choice(one) for one in put_back]
    for boundary in chosen:
        case = rig.attempt(boundary, kind)
        assert broken(case) == [], f"{kind} at {boundary.text()}\n{case.outcome.text}"
