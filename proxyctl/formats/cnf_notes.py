"""What could not be carried over from a proxysql.cnf, with its place."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from proxyctl.formats.libconfig import Place
from proxyctl.text import Nearest

_NEAR = 0.7


class Note(NamedTuple):
    """Something that was not carried over, or that the file hardly means."""

    place: Place
    text: str

    def __str__(self) -> str:
        path, line, _ = self.place
        return f"{path}:{line}: {self.text}"


@dataclass
class Notes:
    """The notes on one file."""

    found: list[Note] = field(default_factory=list)
    _nearest: Nearest = field(default_factory=lambda: Nearest(_NEAR))

    def add(self, place: Place, text: str) -> None:
        """Add one note. The text never holds a secret. Changes: self."""
        self.found.append(Note(place, text))

    def like(self, word: str, known: Collection[str]) -> str:
        """Return `; did you mean threads?` or nothing."""
        near = self._nearest.of(word, sorted(known))
        return f"; did you mean {near}?" if near else ""
