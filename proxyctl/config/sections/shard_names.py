r"""Names of sharded tables: brace patterns, and one regular expression for a set of names. Pure.

The expression, `sbtest([135][02468]|[24][02468]?|60?|8)`, holds common beginnings and endings once,
and a class for characters with the same continuation: ProxySQL's PCRE silently refuses a long list
of plain alternatives. It uses only syntax that PCRE (bytes) and RE2 (UTF-8) read alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from os.path import commonprefix

from proxyctl.config.context import SectionPath
from proxyctl.config.mistakes import ValueProblem

MAX_NAMES = 1_000_000
"""Most names of one pattern or list."""

_TOO_MANY = f"more than {MAX_NAMES:,} names"

NamePatterns = str | Sequence[str] | Mapping[str, int]
"""Names in a section: a pattern, a list of patterns, or a mapping of patterns to hostgroups."""


class ShardingError(ValueProblem):
    """Why a scheme makes no rows; `keys` lead to the value that has to change."""

    def __init__(self, message: str, *keys: str | int, fix: str | None = None) -> None:
        super().__init__(message, fix)
        self.keys = keys


_BRACE = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"([0-9]{1,18})\.\.([0-9]{1,18})(?:\.\.([1-9][0-9]{0,17}))?\Z")


def expanded(source: NamePatterns, key: str) -> tuple[dict[str, SectionPath], list[ShardingError]]:
    """Return every name with the keys that lead to its pattern, and the problems.

    `sbtest{1..60}` counts, `t_{0001..5000}` keeps the zeros, `{2..60..2}` has a step, `{a,b}` and
    `{1..3,7}` list, several braces multiply. Shape: at most one problem for each pattern.
    """
    places: list[tuple[SectionPath, str]] = [((key,), str(source))]
    if isinstance(source, Mapping):
        places = [((key, pattern), pattern) for pattern in source]
    elif not isinstance(source, str):
        places = [((key, position), pattern) for position, pattern in enumerate(source)]
    names: dict[str, SectionPath] = {}
    problems: list[ShardingError] = []
    for keys, pattern in places:
        try:
            for name in _names(pattern):
                if not name or name in names:
                    raise ValueProblem(
                        f"{name!r} is named twice" if name else "gives an empty name"
                    )
                names[name] = keys
                if len(names) > MAX_NAMES:
                    raise ValueProblem(_TOO_MANY)
        except ValueProblem as problem:
            problems.append(ShardingError(f"{pattern!r}: {problem}", *keys))
    return names, problems if places else [ShardingError("no name at all", key)]


def _names(pattern: str) -> Iterator[str]:
    """Yield the names of one pattern. Raises: ValueProblem."""
    pieces = [
        _choices(text) if number % 2 else [text]
        for number, text in enumerate(_BRACE.split(pattern))
    ]
    if any("{" in text or "}" in text for (text, *_) in pieces[::2]):
        raise ValueProblem("a brace is not closed, or inside another")
    if prod(map(len, pieces)) > MAX_NAMES:
        raise ValueProblem(_TOO_MANY)
    yield from map("".join, product(*pieces))


def _choices(text: str) -> list[str]:
    """Return the choices of the text in a brace. Raises: ValueProblem."""
    choices: list[str] = []
    items = [item.strip() for item in text.split(",")]
    for item in items:
        span = _RANGE.match(item)
        if span is None and (".." in item or len(items) == 1):
            raise ValueProblem(f"{{{text}}} is neither a range {{1..60}} nor a list {{a,b}}")
        if span is None:
            choices.append(item)
            continue
        first, last = span[1], span[2]
        numbers = range(int(first), int(last) + 1, int(span[3] or 1))
        if not numbers:
            raise ValueProblem(f"{item!r} runs backwards")
        if len(numbers) > MAX_NAMES:
            raise ValueProblem(_TOO_MANY)
        is_padded = any(len(digits) > 1 and digits[0] == "0" for digits in (first, last))
        width = max(len(first), len(last)) if is_padded else 0
        choices += [str(number).zfill(width) for number in numbers]
    return choices


# One expression for a set of names ----------------------------------------------------------------

MAX_PATTERN = 8192
"""Longest pattern of one rule. Units: bytes of UTF-8."""

_MAX_COMPILED = 48_000
"""Below PCRE's limit of 64 KB: a longer compiled pattern never matches. Units: bytes."""

_CLASS_CHARACTERS = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")
"""Characters that a class may hold: one byte each, without an escape."""

_SPECIAL = re.compile(r"([\x00-\x1f!-/:-@\[-^`{-\x7f])")


def escape(text: str) -> str:
    """Return a pattern that matches `text`. Both engines read text beyond ASCII as it is."""
    return _SPECIAL.sub(r"\\\1", text)


def alternatives(names: Iterable[str]) -> str:
    """Return an expression that matches exactly these names, also as a part of an expression."""
    return _expression(tuple(sorted(set(names))), {})


def _expression(names: tuple[str, ...], known: dict[tuple[str, ...], str]) -> str:
    """Return the expression for sorted, distinct names; an empty name makes the others optional."""
    if names in known:
        return known[names]
    begin = _beginning([names[0], names[-1]])
    cut = len(begin)
    tails = [name[cut:] for name in names] if cut else list(names)
    end = _beginning([text[::-1] for text in tails])[::-1] if len(tails) > 1 and tails[0] else ""
    middle = sorted(text[: len(text) - len(end)] for text in tails) if end else tails
    result = escape(begin) + _branches(middle, known) + escape(end)
    known[names] = result
    return result


def _beginning(texts: Sequence[str]) -> str:
    return commonprefix(texts)  # noqa: RUF071 - letter by letter on purpose


def _branches(texts: Sequence[str], known: dict[tuple[str, ...], str]) -> str:
    """Return the alternatives of sorted texts without a common beginning or end."""
    is_optional = texts[0] == ""
    tails: dict[str, list[str]] = {}
    for text in texts[1:] if is_optional else texts:
        tails.setdefault(text[0], []).append(text[1:])
    if not tails:
        return ""
    leads: dict[tuple[str, ...], list[str]] = {}
    for first, group in tails.items():
        leads.setdefault(tuple(group), []).append(first)
    parts: list[str] = []
    for tail, firsts in leads.items():
        tail_pattern = _expression(tail, known)
        classed = [first for first in firsts if first in _CLASS_CHARACTERS]
        if classed:
            parts.append(_character_class(classed) + tail_pattern)
        parts += [
            escape(first) + tail_pattern for first in firsts if first not in _CLASS_CHARACTERS
        ]
    if len(parts) == 1 and _is_atom(parts[0]):
        return parts[0] + ("?" if is_optional else "")
    return "(" + "|".join(parts) + (")?" if is_optional else ")")


def _is_atom(part: str) -> bool:
    """Return whether a `?` after the expression applies to all of it."""
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
    """Return whether the pattern is short enough, as text and compiled.

    Source: PCRE 8 with its usual link size of 2: a class takes 33 bytes, a character 2, a group or
    an alternative 3 to 8.
    """
    length = len(pattern.encode("utf-8", "surrogateescape"))
    return length <= MAX_PATTERN and 3 * length + 33 * pattern.count("[") <= _MAX_COMPILED


def split(names: Sequence[str], before: str, after: str) -> list[tuple[str, Sequence[str]]]:
    """Return patterns that together match the names, each pattern with its names, in order."""
    pattern = before + alternatives(names) + after
    if fits(pattern) or len(names) == 1:
        return [(pattern, names)]
    middle = len(names) // 2
    return split(names[:middle], before, after) + split(names[middle:], before, after)
