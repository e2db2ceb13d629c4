"""What could not be carried over from a proxysql.cnf, with its place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from proxyctl.formats.libconfig import Place


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

    def add(self, place: Place, text: str) -> None:
        """Add one note. The text never holds a secret. Changes: self."""
        self.found.append(Note(place, text))


def like(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean threads?` or nothing."""
    from difflib import get_close_matches

    spelled = {name.lower(): name for name in sorted(known)}
    found = get_close_matches(word.lower(), spelled, n=1, cutoff=0.7)
    return f"; did you mean {spelled[found[0]]}?" if found else ""
