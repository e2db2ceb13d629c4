"""The known word that a wrong one is like. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import chain

_LONGEST = 100
"""Of a longer word this much is looked at. Units: characters."""
_MOST_COMPARED = 100_000
"""So many pairs of words are compared: about half a second."""
_FEW = 1_000
"""Of so many known words it is remembered what is near: one wrong key stands in many rows."""


def nearest(word: str, known: Iterable[str], *, cutoff: float) -> str | None:
    """Return the known word that is nearest, in its own spelling; None when none is near.

    Units: `cutoff` from 0, everything is near, to 1, only the same letters are.
    """
    from difflib import get_close_matches

    by_lower: dict[str, str] = {}
    for name in known:
        by_lower.setdefault(name.lower(), name)
    near = get_close_matches(word[:_LONGEST].lower(), by_lower, n=1, cutoff=cutoff)
    return by_lower[near[0]] if near else None


class Nearest:
    """Finds near words for a whole file: after very many wrong ones it finds no more."""

    def __init__(self, cutoff: float) -> None:
        self._cutoff = cutoff
        self._found: dict[tuple[str, tuple[str, ...]], str | None] = {}
        self._compared = 0

    def of(self, word: str, *known: Collection[str]) -> str | None:
        """Return what `nearest` does, or None where it was asked too often."""
        count = sum(map(len, known))
        if count > _MOST_COMPARED - self._compared and count > _FEW:
            return None
        question = (word[:_LONGEST], tuple(chain.from_iterable(known)))
        if question not in self._found:
            if self._compared >= _MOST_COMPARED:
                return None
            self._compared += count
            self._found[question] = nearest(*question, cutoff=self._cutoff)
        return self._found[question]
