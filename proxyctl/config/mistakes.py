"""Mistakes in files: collected while the files are read, raised together at the end."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from proxyctl.errors import ConfigError, Mistake
from proxyctl.rows.row import Where
from proxyctl.text import Nearest, nearest, shown

_RENDERED = "count lines in the text that the template renders to"

_NEAR = 0.65
"""High enough that the shared prefix of two variables alone makes no suggestion."""

_TWINS = {"schemaname": "database", "database": "schemaname"}
"""Columns of MySQL tables and their names in PostgreSQL tables, both ways."""


class ValueProblem(ValueError):  # noqa: N818 - an answer; its caller knows the place
    """Why a value cannot be used, and the fix; a caller that knows the place notes a mistake."""

    def __init__(self, message: str, fix: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix


MOST_MISTAKES = 10_000


class Mistakes:
    """All mistakes found so far. Equal mistakes at one place count once."""

    def __init__(self) -> None:
        self._found: dict[Mistake, None] = {}
        self._rendered: set[str] = set()
        self._nearest = Nearest(_NEAR)

    def __len__(self) -> int:
        return len(self._found)

    def all(self) -> list[Mistake]:
        """Return every mistake, in the order of the calls of `add`."""
        return list(self._found)

    def copy(self) -> Mistakes:
        """Return a copy that can take more mistakes without a change of this one."""
        copied = Mistakes()
        copied._found, copied._rendered = dict(self._found), set(self._rendered)
        return copied

    def add(self, where: Where, key: str, message: str, fix: str | None = None) -> None:
        """Note one mistake at a place. Changes: self.

        Raises: ConfigError where there are more than anybody reads; they would fill the memory.
        """
        if len(self._found) == MOST_MISTAKES:
            text = f"reading ends here: there are more than {MOST_MISTAKES:,} mistakes"
            last = Mistake(where.path, where.line, where.column, "", text)
            raise ConfigError([*self._found, last])
        if where.path in self._rendered and where.line:
            fix = f"{fix}; {_RENDERED}" if fix else _RENDERED
        self._found[Mistake(where.path, where.line, where.column, key, message, fix)] = None

    def did_you_mean(self, word: str, *known: Collection[str]) -> str | None:
        """Return `did you mean 'weight'?`; None if no known word is near.

        Also None once there were so many wrong words that the search would take long.
        """
        twin = _TWINS.get(word)
        if twin is not None and any(twin in names for names in known):
            return _question(twin)
        return _question(self._nearest.of(word, *known))

    def mark_rendered(self, path: str) -> None:
        """Note that lines of this file are lines of the rendered text. Changes: self."""
        self._rendered.add(path)

    def raise_if_any(self) -> None:
        """Raise all mistakes as one error. Raises: ConfigError."""
        if self._found:
            raise ConfigError(self._found)


def file_place(path: str) -> Where:
    """Return the place of a file as a whole."""
    return Where(path, 0, 0)


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Return `did you mean 'weight'?`; None if no known word is near."""
    return _question(nearest(word, known, cutoff=_NEAR))


def _question(near: str | None) -> str | None:
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
    """Return a value in the words of a file: `text '12'`, `a mapping`, `null`.

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
