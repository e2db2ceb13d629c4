"""Names that a sharding section stands for, and what is wrong with a section. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

MAX_NAMES = 1_000_000
"""Most names that one pattern or list may stand for."""

ONLY_FOR_TABLES = ("first_rule_id", "rule_ids", "rules", "match", "schema")
"""Keys that say something about rules, and nothing about fast routing."""

Names = str | Sequence[str] | Mapping[str, int]
"""Names as a section has them: a pattern, a list of patterns, or a mapping of them."""


Keys = tuple[str | int, ...]
"""What leads to a value in a section."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason why a section cannot be generated; `keys` lead to what has to change in it."""

    message: str
    keys: Keys
    hint: str | None = None


class ShardingError(ValueError):
    """The section cannot be generated. Shape: `problems` is never empty, one for each place."""

    def __init__(self, message: str, *keys: str | int) -> None:
        super().__init__(message)
        self.problems: tuple[Problem, ...] = (Problem(message, keys),)

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> ShardingError:
        """Return the error that carries several problems."""
        error = cls(problems[0].message)
        error.problems = tuple(problems)
        return error

    @property
    def message(self) -> str:
        """The first problem."""
        return self.problems[0].message

    @property
    def key(self) -> str:
        """The key of the section in which the first problem is."""
        return str(self.problems[0].keys[0])


_BRACE = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"([0-9]{1,18})\.\.([0-9]{1,18})(?:\.\.([0-9]{1,18}))?\Z")


def expand_names(pattern: str | Sequence[str], *, key: str = "tables") -> list[str]:
    """Return the names that a pattern, or a list of patterns, stands for, in order.

    `sbtest{1..60}` counts, `t_{0001..5000}` keeps the zeros, `{2..60..2}` has a step, `{a,b}` and
    `{1..3,7}` list, several braces multiply.

    Shape: no name twice, never empty. Raises: ShardingError, also beyond MAX_NAMES.
    """
    names, _, problems = expanded(pattern, key)
    if problems:
        raise ShardingError.of(problems)
    return list(names)


def _places(source: Names, key: str) -> list[tuple[Keys, str]]:
    """Return the patterns of a section, each with the keys that lead to it."""
    if isinstance(source, str):
        return [((key,), source)]
    if isinstance(source, Mapping):
        return [((key, pattern), pattern) for pattern in source]
    return [((key, position), pattern) for position, pattern in enumerate(source)]


def expanded(source: Names, key: str) -> tuple[dict[str, Keys], dict[str, str], list[Problem]]:
    """Return every name with its place and with the pattern that it comes from, and what is wrong.

    Shape: at most one problem for each pattern. Raises: ShardingError when it makes no sense to go
    on: no name, or too many.
    """
    names: dict[str, Keys] = {}
    patterns: dict[str, str] = {}
    problems: list[Problem] = []
    total = 0
    for keys, one in _places(source, key):
        try:
            pieces, count = _pieces(one, key)
        except ShardingError as error:
            problems.append(Problem(error.message, keys))
            continue
        total += count
        if total > MAX_NAMES:
            raise ShardingError(f"{one!r}: more than {MAX_NAMES:,} names", *keys)
        for parts in product(*pieces):
            name = "".join(parts)
            problem = None if name else f"{one!r} gives an empty name"
            problem = f"{name!r} is named twice" if name in names else problem
            if problem:
                problems.append(Problem(problem, keys))
                break
            names[name] = keys
            patterns[name] = one
    if not names and not problems:
        raise ShardingError("no name at all", key)
    return names, patterns, problems


def _pieces(pattern: str, key: str) -> tuple[list[list[str]], int]:
    """Return the parts of a pattern, each with its choices, and how many names they make.

    Raises: ShardingError before anything beyond MAX_NAMES is written out.
    """
    pieces: list[list[str]] = []
    count = 1
    for number, text in enumerate(_BRACE.split(pattern)):
        if number % 2 == 0:
            if "{" in text or "}" in text:
                raise ShardingError(f"{pattern!r}: a brace is not closed, or in another", key)
            pieces.append([text])
            continue
        items = [item.strip() for item in text.split(",")]
        ranges = [_range(item, pattern, key) for item in items]
        if ranges == [None]:
            raise ShardingError(
                f"{pattern!r}: {{{text}}} is neither a range {{1..60}} nor a list {{a,b}}", key
            )
        count *= sum(1 if found is None else len(found[0]) for found in ranges)
        if count > MAX_NAMES:
            raise ShardingError(f"{pattern!r}: more than {MAX_NAMES:,} names", key)
        choices: list[str] = []
        for item, found in zip(items, ranges, strict=True):
            choices += [item] if found is None else (str(n).zfill(found[1]) for n in found[0])
        pieces.append(choices)
    return pieces, count


def _range(item: str, pattern: str, key: str) -> tuple[range, int] | None:
    """Return the numbers of `1..60` and their width in digits, or None for any other text."""
    found = _RANGE.match(item)
    if found is None:
        if ".." in item:
            raise ShardingError(f"{pattern!r}: {item!r} is not a range of numbers", key)
        return None
    first, last, step = found[1], found[2], int(found[3] or 1)
    if int(first) > int(last):
        raise ShardingError(f"{pattern!r}: {item!r} runs backwards", key)
    if step == 0:
        raise ShardingError(f"{pattern!r}: {item!r} has a step of 0", key)
    is_padded = any(len(text) > 1 and text.startswith("0") for text in (first, last))
    return range(int(first), int(last) + 1, step), max(len(first), len(last)) if is_padded else 0
