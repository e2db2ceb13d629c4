"""The process that fuzzes one target; `python -m tests.fuzz` starts it, and outlives it."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

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
    parser.add_argument("--guided", action="store_true")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--found", type=Path, required=True)
    options = parser.parse_args()
    atheris = None
    with ExitStack() as stack:
        if options.guided:
            import atheris

            # Before anything of proxyctl is imported, and to the end: much is imported late.
            stack.enter_context(atheris.instrument_imports(include=["proxyctl"]))
        _fuzz(options, atheris, stack)


def _fuzz(options: argparse.Namespace, atheris: Any, stack: ExitStack) -> None:
    from tests.fuzz.attempt import Slate, Watch
    from tests.fuzz.mutation import mutated
    from tests.fuzz.targets import TARGETS

    target = TARGETS[options.target]
    work: Path = options.folder / "work"
    work.mkdir()
    slate = Slate(options.folder / "slate")
    run = stack.enter_context(target.opened(work))
    watch = Watch(run, slate, options.found, options.folder / "trace")
    seeds, words = list(target.seeds()), list(target.words())
    if options.seed % 1000 == 0:
        for data in seeds[: options.inputs]:
            watch.attempt(data)
    if target.structured is not None:
        count = min(options.inputs // _SHARE_OF_STRUCTURED, _MOST_STRUCTURED)
        _try_structured(target, watch, count, options.seed)
    rest = options.inputs - slate.inputs
    if rest <= 0:
        return
    source = Random(options.seed)
    if atheris is None:
        for _ in range(rest):
            watch.attempt(mutated(source, source.choice(seeds), seeds, words))
        return
    corpus = options.folder / "corpus"
    corpus.mkdir()
    for number, data in enumerate(seeds):
        (corpus / str(number)).write_bytes(data)

    def mutator(data: bytes, max_size: int, seed: int) -> bytes:
        source = Random(seed)
        if source.random() < 0.5:
            return bytes(atheris.Mutate(data, max_size))
        return mutated(source, data, seeds, words)[:max_size]

    arguments = (
        *(f"-runs={rest}", f"-seed={options.seed + 1}", "-timeout=3600", "-rss_limit_mb=0"),
        *("-max_len=16384", "-print_final_stats=0", "-verbosity=1", str(corpus)),
    )
    atheris.Setup([sys.argv[0], *arguments], watch.attempt, custom_mutator=mutator)
    atheris.Fuzz()


def _try_structured(target: Any, watch: Any, count: int, seed: int) -> None:
    """Try what the strategy of the target makes."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded

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
