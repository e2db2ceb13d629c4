"""A moment of fuzzing with every run of the tests; `make fuzz` is the long one."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.properties.fuzz.mutation import LONGEST, mutated
from tests.properties.fuzz.readers import TARGETS
from tests.properties.fuzz.target import defect_in

pytestmark = pytest.mark.sweep

INPUTS = 30
"""Of each kind: seeds, changed seeds, and what the strategy of a target makes."""


@pytest.mark.parametrize("name", TARGETS)
def test_whatever_is_read_is_taken_or_refused(name: str) -> None:
    target = TARGETS[name]
    # Not the folder of pytest: the path of a Unix socket has to be short.
    with tempfile.TemporaryDirectory() as folder, target.opened(Path(folder)) as run:

        def meets_no_defect(data: bytes) -> None:
            defect = defect_in(run, data)
            assert defect is None, f"{data!r}\n{defect}"

        source, seeds, words = Random(name), list(target.seeds()), list(target.words())
        for data in source.sample(seeds, min(INPUTS, len(seeds))):
            meets_no_defect(data)
        for _ in range(INPUTS):
            meets_no_defect(mutated(source, source.choice(seeds), seeds, words)[:4096])
        if target.structured is not None:
            few = settings(
                max_examples=INPUTS,
                derandomize=True,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            few(given(target.structured())(meets_no_defect))()


def test_seeds_are_worth_changing() -> None:
    """Where a reader refuses all of its seeds, fuzzing only reaches its first lines."""
    for target in TARGETS.values():
        seeds = target.seeds()
        assert seeds, target.name
        assert all(len(seed) <= LONGEST for seed in seeds), target.name
