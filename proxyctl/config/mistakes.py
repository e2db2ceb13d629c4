"""Mistakes in files: collected while everything is read, raised together at the end."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from proxyctl.errors import ConfigError, Mistake
from proxyctl.state.row import Where
from proxyctl.text import Nearest, nearest, shown

_RENDERED = "the line number counts in the text that the template renders to"

_NEAR = 0.65
"""Names of variables share a prefix, and that alone makes them no suggestion."""

_TWINS = {"schemaname": "database", "database": "schemaname"}
"""What a column of the MySQL side is called on the PostgreSQL side, and the other way round."""


class Refusal(ValueError):  # noqa: N818 - an answer; its caller knows the place
    """Why a value cannot be used, and the fix; whoever knows the place makes a mistake of it."""

    def __init__(self, message: str, fix: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix


class Mistakes:
    """All mistakes found so far. The same one at the same place counts once."""

    def __init__(self) -> None:
        self._found: dict[Mistake, None] = {}
        self._rendered: set[str] = set()
        self._nearest = Nearest(_NEAR)

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

    def add(self, where: Where, key: str, message: str, fix: str | None = None) -> None:
        """Note one mistake at a place. Changes: self."""
        if where.path in self._rendered and where.line:
            fix = f"{fix}; {_RENDERED}" if fix else _RENDERED
        self._found[Mistake(where.path, where.line, where.column, key, message, fix)] = None

    def did_you_mean(self, word: str, *known: Collection[str]) -> str | None:
        """Return `did you mean "weight"?`, or None when no known word is near.

        Also None after so many wrong words that the search would take long.
        """
        twin = _TWINS.get(word)
        if twin is not None and any(twin in names for names in known):
            return _asked(twin)
        return _asked(self._nearest.of(word, *known))

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
    return _asked(nearest(word, known, cutoff=_NEAR))


def _asked(near: str | None) -> str | None:
    return None if near is None else f"did you mean {near!r}?"


def key_text(keys: Sequence[str | int]) -> str:
    """Return `mysql_query_rules[5].weight`. Units: list positions count from 0."""
    text = ""
    for key in keys:
        if isinstance(key, int):
            text += f"[{key}]"
        else:
            text += f".{key}" if text else key
    return text


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
            return "an integer" if is_secret else f"the integer {value}"
        case float():
            return "a decimal number" if is_secret else f"the decimal number {value}"
        case str():
            return "text" if is_secret else f"text {shown(value)}"
        case dict():
            return "a mapping"
        case _:
            return "a list"
