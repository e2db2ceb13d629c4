"""What a target of fuzzing is, and the files of the project that inputs start from."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hypothesis.strategies import SearchStrategy

from proxyctl.errors import InternalError, ProxyctlError

ROOT = Path(__file__).parents[2]

Run = Callable[[bytes], None]
"""Reads an input. Raises: ProxyctlError where it is refused; anything else is a defect."""


@dataclass(frozen=True)
class Target:
    """One reader, and what it is given.

    `opened` takes an empty folder and gives what reads an input, for as long as it is needed.
    `seeds` are inputs of the kind that the reader is made for, to be changed at random; `words`
    are put in on the way, and `structured`, if there is one, makes inputs that are right or nearly
    right.
    """

    name: str
    opened: Callable[[Path], AbstractContextManager[Run]]
    seeds: Callable[[], Sequence[bytes]]
    words: Callable[[], Sequence[bytes]] = tuple
    structured: Callable[[], SearchStrategy[bytes]] | None = None


@cache
def files_like(*patterns: str) -> tuple[bytes, ...]:
    """Return what the files of the project hold whose paths fit. Shape: sorted, each text once."""
    found = sorted(path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file())
    texts = dict.fromkeys(path.read_bytes() for path in found)
    if not texts:
        raise FileNotFoundError(f"no file fits {patterns}")
    return tuple(texts)


def defect_in(run: Run, data: bytes) -> str | None:
    """Return the defect that an input shows: the traceback. A refusal with a reason is none."""
    try:
        run(data)
    except InternalError:
        return traceback.format_exc()
    except ProxyctlError as error:
        if not all(line.strip() for line in error.lines()):
            return f"an empty message: {error.lines()}"
    except Exception:
        return traceback.format_exc()
    return None
