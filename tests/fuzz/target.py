"""What a target of fuzzing is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from hypothesis.strategies import SearchStrategy

Run = Callable[[bytes], None]
"""Reads an input. Raises: ProxyctlError where it is refused; anything else is a defect."""


@dataclass(frozen=True)
class Target:
    """One reader, and what it is given.

    `opened` takes an empty folder and gives what reads an input, for as long as it is needed.
    `seeds` are inputs of the kind that the reader is made for, to be changed at random; `words`
    are put in on the way, and `structured`, if there is one, makes inputs that are right or nearly
    right. A target of a `group` shares a reader, or most of one, with the others.
    """

    name: str
    group: str
    opened: Callable[[Path], AbstractContextManager[Run]]
    seeds: Callable[[], Sequence[bytes]]
    words: Callable[[], Sequence[bytes]] = tuple
    structured: Callable[[], SearchStrategy[bytes]] | None = None
