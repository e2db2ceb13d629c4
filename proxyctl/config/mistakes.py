"""Mistakes in files: collected while everything is read, raised together at the end."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import chain

from proxyctl.errors import ConfigError, Mistake
from proxyctl.state import Where

_RENDERED = "lines are those of the rendered text: see `proxyctl render --numbered`"

_NEAR = 0.65
"""Names of variables share a prefix, and that alone makes them no suggestion."""
_MOST_COMPARED = 100_000
"""So many pairs of words are compared to find what is near: about half a second."""
_FEW = 1_000
"""Of so many known words it is remembered what is near: one wrong key stands in many rows."""

_SHOWN = 40
"""Longest text of a file that a message repeats."""


class Mistakes:
    """All mistakes found so far. The same one at the same place counts once."""

    def __init__(self) -> None:
        self._found: dict[Mistake, None] = {}
        self._rendered: set[str] = set()
        self._near: dict[tuple[str, tuple[str, ...]], str | None] = {}
        self._compared = 0

    def __len__(self) -> int:
        return len(self._found)

    def all(self) -> list[Mistake]:
        """Return every mistake, in the order in which they were found."""
        return list(self._found)

    def copy(self) -> Mistakes:
        """Return the same mistakes, to be added to without changing these."""
        made = Mistakes()
        made._found, made._rendered = dict(self._found), set(self._rendered)
        return made

    def add(self, where: Where, key: str, message: str, hint: str | None = None) -> None:
        """Note one mistake at a place. Changes: self."""
        found = Mistake(where.path, where.line, where.column, key, message, hint)
        if where.path in self._rendered and where.line:
            found = replace(found, hint=f"{hint}; {_RENDERED}" if hint else _RENDERED)
        self._found[found] = None

    def did_you_mean(self, word: str, *known: Collection[str]) -> str | None:
        """Return `did you mean "weight"?`, or None when nothing known is near.

        Nor where so many words are wrong that looking for what is near would take long.
        """
        count = sum(map(len, known))
        if count > _MOST_COMPARED - self._compared and count > _FEW:
            return None
        question = (word[:100], tuple(chain.from_iterable(known)))
        if question not in self._near:
            if self._compared >= _MOST_COMPARED:
                return None
            self._compared += count
            self._near[question] = did_you_mean(*question)
        return self._near[question]

    def add_all(self, mistakes: Iterable[Mistake]) -> None:
        """Note mistakes that were found elsewhere. Changes: self."""
        for mistake in mistakes:
            where = Where(mistake.path, mistake.line, mistake.column)
            self.add(where, mistake.key, mistake.message, mistake.hint)

    def mark_rendered(self, path: str) -> None:
        """Note that places in this file are places in rendered text. Changes: self."""
        self._rendered.add(path)

    def raise_if_any(self) -> None:
        """Raise everything found as one error.

        Raises: ConfigError.
        """
        if self._found:
            raise ConfigError(self._found)


def file_place(path: str) -> Where:
    """Return the place of a file as a whole."""
    return Where(path, 0, 0)


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Return `did you mean "weight"?`, or None when nothing known is near."""
    from difflib import get_close_matches

    by_lower: dict[str, str] = {}
    for name in known:
        by_lower.setdefault(name.lower(), name)
    near = get_close_matches(word[:100].lower(), by_lower, n=1, cutoff=_NEAR)
    return f"did you mean {by_lower[near[0]]!r}?" if near else None


def key_text(keys: Sequence[str | int]) -> str:
    """Return `mysql_query_rules[5].weight`. Units: list positions count from 0."""
    text = ""
    for key in keys:
        if isinstance(key, int):
            text += f"[{key}]"
        else:
            text += f".{key}" if text else key
    return text


def shown(text: str) -> str:
    """Return a text of a file as a message may repeat it: quoted and not too long."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


def named(name: str) -> str:
    """Return the name of a file or of a variable as it is; quoted where it is odd or long."""
    is_plain = name.isprintable() and name == name.strip() != "" and len(name) <= 4 * _SHOWN
    return name if is_plain else shown(name)


def described(value: object, *, is_secret: bool = False) -> str:
    """Return what a value is, in the words of the file: `text '12'`, `a mapping`, `null`.

    A secret is described by its type alone.
    """
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean" if is_secret else ("true" if value else "false")
        case int():
            return "an integer" if is_secret else f"the integer {shortened(value)}"
        case float():
            return "a decimal number" if is_secret else f"the decimal number {value}"
        case str():
            return "text" if is_secret else f"text {shown(value)}"
        case dict():
            return "a mapping"
        case _:
            return "a list"


def shortened(value: int) -> str:
    """Return an integer as text; only its size when nobody would read it."""
    bits = value.bit_length()
    return str(value) if bits <= 128 else f"of {bits} bits"
