"""The process that fuzzes one target; `python -m tests.fuzz` starts it, and outlives it."""

from __future__ import annotations

import argparse
from pathlib import Path
from random import Random

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded

from tests.fuzz.attempt import Slate, Watch
from tests.fuzz.mutation import mutated
from tests.fuzz.target import Target
from tests.fuzz.targets import TARGETS

_SHARE_OF_STRUCTURED = 20
"""One input of so many is made by the target's own strategy, if it has one."""
_MOST_STRUCTURED = 1_000
"""They are slow to make, and many more of them find little more."""
_CHUNK = 500
"""Examples that hypothesis makes in one go: it keeps what it knows of them."""


def main() -> None:
    """Fuzz one target until the inputs are used up."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", required=True)
    parser.add_argument("--inputs", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--found", type=Path, required=True)
    options = parser.parse_args()
    target = TARGETS[options.target]
    work: Path = options.folder / "work"
    work.mkdir()
    slate = Slate(options.folder / "slate")
    seeds, words = list(target.seeds()), list(target.words())
    source = Random(options.seed)
    with target.opened(work) as run:
        watch = Watch(run, slate, options.found, options.folder / "trace")
        if options.seed % 1000 == 0:
            for data in seeds[: options.inputs]:
                watch.attempt(data)
        if target.structured is not None:
            count = min(options.inputs // _SHARE_OF_STRUCTURED, _MOST_STRUCTURED)
            _try_structured(target, watch, count, options.seed)
        while slate.inputs < options.inputs:
            watch.attempt(mutated(source, source.choice(seeds), seeds, words))


def _try_structured(target: Target, watch: Watch, count: int, seed: int) -> None:
    """Try what the strategy of the target makes."""
    assert target.structured is not None
    strategy = target.structured()
    for start in range(0, count, _CHUNK):

        @seeded(seed + start)
        @settings(
            max_examples=min(_CHUNK, count - start),
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(strategy)
        def attempt(data: bytes) -> None:
            watch.attempt(data)

        attempt()


if __name__ == "__main__":
    main()
