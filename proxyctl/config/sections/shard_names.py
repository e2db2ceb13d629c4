r"""Names of sharded tables: brace patterns, and one regular expression for a set of names. Pure.

Of the expression, `sbtest([135][02468]|[24][02468]?|60?|8)`, common beginnings and endings are
written once, and characters that lead on alike become a class. A plain list of alternatives grows
until ProxySQL's PCRE refuses it silently. Only syntax that PCRE (bytes) and RE2 (UTF-8) read alike
is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from os.path import commonprefix

from proxyctl.config.mistakes import Refusal

MAX_NAMES = 1_000_000
"""Most names that one pattern or list may stand for."""

Names = str | Sequence[str] | Mapping[str, int]
"""Names as a section has them: a pattern, a list of patterns, or a mapping of them."""


Keys = tuple[str | int, ...]
"""What leads to a value in a section."""


class ShardingError(Refusal):
    """A reason why a section cannot be generated; `keys` lead to what has to change in it."""

    def __init__(self, message: str, *keys: str | int, fix: str | None = None) -> None:
        super().__init__(message, fix)
        self.keys = keys


_BRACE = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"([0-9]{1,18})\.\.([0-9]{1,18})(?:\.\.([0-9]{1,18}))?\Z")


def _places(source: Names, key: str) -> list[tuple[Keys, str]]:
    """Return the patterns of a section, each with the keys that lead to it."""
    if isinstance(source, str):
        return [((key,), source)]
    if isinstance(source, Mapping):
        return [((key, pattern), pattern) for pattern in source]
    return [((key, position), pattern) for position, pattern in enumerate(source)]


def expanded(source: Names, key: str) -> tuple[dict[str, Keys], list[ShardingError]]:
    """Return every name with the keys that lead to its pattern, and what is wrong.

    `sbtest{1..60}` counts, `t_{0001..5000}` keeps the zeros, `{2..60..2}` has a step, `{a,b}` and
    `{1..3,7}` list, several braces multiply.

    Shape: at most one problem for each pattern. Raises: ShardingError when it makes no sense to go
    on: no name, or too many.
    """
    names: dict[str, Keys] = {}
    problems: list[ShardingError] = []
    total = 0
    for keys, pattern in _places(source, key):
        try:
            pieces, count = _pieces(pattern, keys)
            total += count
            if total > MAX_NAMES:
                break
            for parts in product(*pieces):
                name = "".join(parts)
                if not name:
                    raise ShardingError(f"{pattern!r} gives an empty name", *keys)
                if name in names:
                    raise ShardingError(f"{name!r} is named twice", *keys)
                names[name] = keys
        except ShardingError as problem:
            problems.append(problem)
    if total > MAX_NAMES:
        raise ShardingError(f"{pattern!r}: more than {MAX_NAMES:,} names", *keys)
    if not names and not problems:
        raise ShardingError("no name at all", key)
    return names, problems


def _pieces(pattern: str, keys: Keys) -> tuple[list[list[str]], int]:
    """Return the parts of a pattern, each with its choices, and how many names they make.

    Raises: ShardingError before anything beyond MAX_NAMES is written out.
    """
    pieces: list[list[str]] = []
    count = 1
    for number, text in enumerate(_BRACE.split(pattern)):
        if number % 2 == 0:
            if "{" in text or "}" in text:
                message = f"{pattern!r}: a brace is not closed, or inside another"
                raise ShardingError(message, *keys)
            pieces.append([text])
            continue
        items = [item.strip() for item in text.split(",")]
        try:
            ranges = [_range(item) for item in items]
        except ShardingError as error:
            raise ShardingError(f"{pattern!r}: {error}", *keys) from None
        if ranges == [None]:
            message = f"{pattern!r}: {{{text}}} is neither a range {{1..60}} nor a list {{a,b}}"
            raise ShardingError(message, *keys)
        count *= sum(1 if found is None else len(found[0]) for found in ranges)
        if count > MAX_NAMES:
            raise ShardingError(f"{pattern!r}: more than {MAX_NAMES:,} names", *keys)
        choices: list[str] = []
        for item, found in zip(items, ranges, strict=True):
            choices += [item] if found is None else (str(n).zfill(found[1]) for n in found[0])
        pieces.append(choices)
    return pieces, count


def _range(item: str) -> tuple[range, int] | None:
    """Return the numbers of `1..60` and their width in digits, or None for any other text."""
    found = _RANGE.match(item)
    if found is None:
        if ".." in item:
            raise ShardingError(f"{item!r} is not a range of numbers")
        return None
    first, last, step = found[1], found[2], int(found[3] or 1)
    if int(first) > int(last):
        raise ShardingError(f"{item!r} runs backwards")
    if step == 0:
        raise ShardingError(f"{item!r} has a step of 0")
    is_padded = any(len(text) > 1 and text.startswith("0") for text in (first, last))
    return range(int(first), int(last) + 1, step), max(len(first), len(last)) if is_padded else 0


# One expression for a set of names ----------------------------------------------------------------

MAX_PATTERN = 8192
"""Longest pattern of one rule in bytes. Units: bytes of UTF-8."""

_MAX_COMPILED = 48_000
"""PCRE compiles to at most 64 KB, and a longer pattern never matches; this leaves room."""

_CLASS_CHARACTERS = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")
"""Characters that may stand in a class: one byte each, and nothing that needs an escape there."""

_SPECIAL = re.compile(r"([^0-9A-Za-z_\x80-\U0010FFFF ])")


def escape(text: str) -> str:
    """Return `text` so that it matches itself. Text beyond ASCII stays: both engines read it."""
    return _SPECIAL.sub(r"\\\1", text)


def alternatives(names: Iterable[str]) -> str:
    """Return an expression that matches exactly these names, usable behind and before others."""
    return _expression(tuple(sorted(set(names))), {})


def _expression(names: tuple[str, ...], known: dict[tuple[str, ...], str]) -> str:
    """Return the expression for sorted, different names; '' among them makes the rest optional."""
    found = known.get(names)
    if found is not None:
        return found
    begin = _beginning([names[0], names[-1]])
    cut = len(begin)
    rest = [name[cut:] for name in names] if cut else list(names)
    end = _beginning([text[::-1] for text in rest])[::-1] if len(rest) > 1 and rest[0] else ""
    middle = sorted(text[: len(text) - len(end)] for text in rest) if end else rest
    result = escape(begin) + _branches(middle, known) + escape(end)
    known[names] = result
    return result


def _beginning(texts: Sequence[str]) -> str:
    return commonprefix(texts)  # noqa: RUF071 - letter by letter is meant


def _branches(texts: Sequence[str], known: dict[tuple[str, ...], str]) -> str:
    """Return the alternatives of sorted texts that share neither beginning nor end."""
    optional = texts[0] == ""
    tails: dict[str, list[str]] = {}
    for text in texts[1:] if optional else texts:
        tails.setdefault(text[0], []).append(text[1:])
    if not tails:
        return ""
    leads: dict[tuple[str, ...], list[str]] = {}
    for first, group in tails.items():
        leads.setdefault(tuple(group), []).append(first)
    parts: list[str] = []
    for tail, firsts in leads.items():
        behind = _expression(tail, known)
        classed = [first for first in firsts if first in _CLASS_CHARACTERS]
        if classed:
            parts.append(_character_class(classed) + behind)
        parts += [escape(first) + behind for first in firsts if first not in _CLASS_CHARACTERS]
    if len(parts) == 1 and _is_atom(parts[0]):
        return parts[0] + ("?" if optional else "")
    return "(" + "|".join(parts) + (")?" if optional else ")")


def _is_atom(part: str) -> bool:
    """Return whether a `?` behind the expression means all of it."""
    if part.startswith("["):
        return part.index("]") == len(part) - 1
    return len(part) == 1 and part.isascii()


def _character_class(characters: Sequence[str]) -> str:
    """Return a class of sorted characters; three or more in a row become a range."""
    if len(characters) == 1:
        return characters[0]
    runs: list[list[str]] = []
    for character in characters:
        if runs and ord(character) == ord(runs[-1][-1]) + 1:
            runs[-1].append(character)
        else:
            runs.append([character])
    return (
        "[" + "".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else "".join(run) for run in runs) + "]"
    )


def fits(pattern: str) -> bool:
    """Return whether the pattern is short enough as text, and compiled.

    Source: PCRE 8 with its usual link size of 2: a class takes 33 bytes, a character 2, a group or
    an alternative 3 to 8.
    """
    length = len(pattern.encode("utf-8", "surrogateescape"))
    return length <= MAX_PATTERN and 3 * length + 33 * pattern.count("[") <= _MAX_COMPILED


def split(names: Sequence[str], before: str, after: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return patterns that together match the names, each with its names, in order.

    Shape: consecutive parts of nearly equal size, as few as fit.
    """
    count = 1
    while True:
        parts = [
            tuple(names[len(names) * i // count : len(names) * (i + 1) // count])
            for i in range(count)
        ]
        patterns = [before + alternatives(part) + after for part in parts]
        if count >= len(names) or all(map(fits, patterns)):
            return list(zip(patterns, parts, strict=True))
        longest = max(len(pattern) for pattern in patterns)
        count = min(len(names), max(count + 1, count * longest // (2 * MAX_PATTERN)))
