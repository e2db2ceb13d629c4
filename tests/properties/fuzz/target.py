"""A target of fuzzing, and the files of the repository that serve as seeds."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hypothesis.strategies import SearchStrategy

from proxyctl.errors import InternalError, ProxyctlError
from tests.support.paths import ROOT

Run = Callable[[bytes], None]
"""Reads an input. Raises: ProxyctlError where it is refused; anything else is a defect."""


@dataclass(frozen=True)
class Target:
    """One reader, and its inputs.

    `opened` takes an empty folder and yields a function that reads an input. `seeds` are valid
    inputs, to be changed at random by inserting `words` among others. `structured`, if given, makes
    valid and nearly valid inputs.
    """

    name: str
    opened: Callable[[Path], AbstractContextManager[Run]]
    seeds: Callable[[], Sequence[bytes]]
    words: Callable[[], Sequence[bytes]] = tuple
    structured: Callable[[], SearchStrategy[bytes]] | None = None


@cache
def files_like(*patterns: str) -> tuple[bytes, ...]:
    """Return the texts of the repository's files whose paths fit. Shape: sorted, each text once."""
    found = sorted(path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file())
    texts = dict.fromkeys(path.read_bytes() for path in found)
    if not texts:
        raise FileNotFoundError(f"no file fits {patterns}")
    return tuple(texts)


def defect_in(run: Run, data: bytes) -> str | None:
    """Return the traceback if an input shows a defect. A refusal with a reason is no defect."""
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
