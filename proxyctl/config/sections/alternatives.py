r"""One short regular expression for a set of names: `sbtest([135][02468]|[24][02468]?|60?|8)`.

Common beginnings and endings are written once, and characters that lead on alike become a class. A
plain list of alternatives grows until ProxySQL's PCRE refuses it without a word. Only syntax that
PCRE (bytes) and RE2 (UTF-8) read alike is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

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
    begin = _common_prefix(names[0], names[-1])
    cut = len(begin)
    rest = [name[cut:] for name in names] if cut else list(names)
    end = _common_suffix(rest)
    middle = sorted(text[: len(text) - len(end)] for text in rest) if end else rest
    result = escape(begin) + _branches(middle, known) + escape(end)
    known[names] = result
    return result


def _common_prefix(first: str, last: str) -> str:
    """Return the beginning that two texts, and all texts between them in order, share."""
    for position, (left, right) in enumerate(zip(first, last, strict=False)):
        if left != right:
            return first[:position]
    return first if len(first) <= len(last) else last


def _common_suffix(texts: Sequence[str]) -> str:
    if len(texts) == 1 or not texts[0]:
        return ""
    turned = [text[::-1] for text in texts]
    return _common_prefix(min(turned), max(turned))[::-1]


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
