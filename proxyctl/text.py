"""Text for people: what a terminal must not see, counted words, the nearest word. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from itertools import chain
from typing import Final

CONTROL: Final = (
    r"\x00-\x1f\x7f-\x9f"  # C0, DEL, C1: cursor, colours, titles
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # turn the direction of text round
    r"\u2028\u2029"  # end a line for some readers
    r"\u200b-\u200d\u2060-\u2065\ufeff\U000e0000-\U000e007f"  # cannot be seen
)
"""Them all, as a regular expression has them between brackets."""


_COMMAND: Final = (
    r"(?<!\S):(?=:[A-Za-z](?s:.*?)::)"  # ::error file=f::text, where a line begins or is wrapped
    r"|#(?=#\w*\[)"  # ##[error]text and ##vso[...]text, anywhere
)
"""What a runner of GitHub or Azure takes for a command in a log; one character makes it text."""


_UNSAFE = re.compile(rf"[{CONTROL}\ud800-\udfff]|{_COMMAND}")


def printable(text: str) -> str:
    r"""Return the text on one line, with control characters as escapes.

    A comment in a row must not move the cursor of the person who reads the plan, nor tell a
    pipeline what to do. Bytes that are not UTF-8 show as \xNN.
    """

    def escape(found: re.Match[str]) -> str:
        code = ord(found[0])
        if 0xDC80 <= code <= 0xDCFF:
            return f"\\x{code - 0xDC00:02x}"
        named = {9: r"\t", 10: r"\n", 13: r"\r"}.get(code)
        if code > 0xFFFF:
            return f"\\U{code:08x}"
        return named or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")

    return _UNSAFE.sub(escape, text)


_LONGEST = 100
"""Of a longer word this much is looked at. Units: characters."""


_MOST_COMPARED = 100_000
"""So many pairs of words are compared: about half a second."""


_FEW = 1_000
"""Of so many known words it is remembered what is near: one wrong key stands in many rows."""


_NEAR_PART = 0.6
"""How near the parts have to be in which two names of several parts differ."""


def nearest(word: str, known: Iterable[str], *, cutoff: float) -> str | None:
    """Return the known word that is nearest, in its own spelling; None when none is near.

    No suggestion beats a poor one: names such as `mysql-monitor_ssl` and `mysql-monitor_password`
    are near only if `ssl` and `password` are.

    Units: `cutoff` from 0, everything is near, to 1, only the same letters are.
    """
    from difflib import SequenceMatcher, get_close_matches

    by_lower: dict[str, str] = {}
    for name in known:
        by_lower.setdefault(name.lower(), name)
    given = word[:_LONGEST].lower()
    found = get_close_matches(given, by_lower, n=3, cutoff=cutoff)
    # Who types `esat` means east, not west: letters change places.
    found.sort(key=lambda near: sorted(near) != sorted(given))
    for near in found:
        one, other = _different_parts(given, near)
        if not (one and other) or SequenceMatcher(None, one, other).ratio() >= _NEAR_PART:
            return by_lower[near]
    return None


def _different_parts(one: str, other: str) -> tuple[str, str]:
    """Return two names without the parts, between `-` and `_`, with which both begin or end."""
    ones, others = re.split("[-_]", one), re.split("[-_]", other)
    for end in (0, -1):
        while ones and others and ones[end] == others[end]:
            del ones[end], others[end]
    return "_".join(ones), "_".join(others)


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
