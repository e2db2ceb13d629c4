"""Text for people: what a terminal must not see, the nearest known word, counted nouns. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from itertools import chain
from typing import Final

CONTROL: Final = (
    r"\x00-\x1f\x7f-\x9f"  # C0, DEL, C1: cursor, colours, titles
    r"\u061c\u200e\u200f\u202a-\u202e"  # turn the direction of text round
    r"\u2028\u2029"  # end a line for some readers
    r"\xad\u034f\u200b-\u200d\u2060-\u206f\u3164\ufeff\U000e0000-\U000e01ef"  # cannot be seen
    r"\ufffe\uffff"  # are no characters, which XML refuses
)
"""The characters that a terminal must not see, as inside the brackets of a regular expression."""


_COMMAND: Final = (
    r"(?<!\S):(?=:[A-Za-z](?s:.*?)::)"  # ::error file=f::text, where a line begins or is wrapped
    r"|#(?=#\w*\[)"  # ##[error]text and ##vso[...]text, anywhere
)
"""The character of a log command of GitHub or Azure runners that has to be escaped."""


_UNSAFE = re.compile(rf"[{CONTROL}\ud800-\udfff]|{_COMMAND}")


def printable(text: str) -> str:
    r"""Return the text on one line, with control characters as escapes.

    A comment in a row must not move the reader's cursor or command a pipeline. Bytes that are not
    UTF-8 become \xNN.
    """

    def escape(match: re.Match[str]) -> str:
        code = ord(match[0])
        if 0xDC80 <= code <= 0xDCFF:
            return f"\\x{code - 0xDC00:02x}"
        named = {9: r"\t", 10: r"\n", 13: r"\r"}.get(code)
        if code > 0xFFFF:
            return f"\\U{code:08x}"
        return named or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")

    return _UNSAFE.sub(escape, text)


_SHOWN = 40
"""Longest text of a file that a message repeats."""


def shown(value: object) -> str:
    """Return a value of a file as a message may repeat it: text quoted and not too long."""
    is_long = isinstance(value, str) and len(value) > _SHOWN
    return repr(f"{str(value)[:_SHOWN]}..." if is_long else value)


_LONGEST = 100
"""Only this much of a longer word is compared. Units: characters."""


_MOST_COMPARED = 100_000
"""The limit of compared pairs of words: about half a second."""


_FEW = 1_000
"""The most known words for which answers are reused after the limit: many rows repeat a mistake."""


_NEAR_PART = 0.6
"""The least similarity of the parts in which two names differ."""


def nearest(word: str, known: Iterable[str], *, cutoff: float) -> str | None:
    """Return the nearest known word, as it is spelled there; None if no word is near.

    A poor suggestion is worse than none: `mysql-monitor_ssl` and `mysql-monitor_password` are near
    only if `ssl` and `password` are.

    Units: `cutoff` from 0 (every word is near) to 1 (only equal words are).
    """
    from difflib import SequenceMatcher, get_close_matches

    by_lower: dict[str, str] = {}
    for name in known:
        by_lower.setdefault(name.lower(), name)
    lowered = word[:_LONGEST].lower()
    candidates = get_close_matches(lowered, by_lower, n=3, cutoff=cutoff)
    # `esat` is a misspelled east, not west: the letters are the same.
    candidates.sort(key=lambda near: sorted(near) != sorted(lowered))
    for near in candidates:
        first, second = _different_parts(lowered, near)
        if not (first and second) or SequenceMatcher(None, first, second).ratio() >= _NEAR_PART:
            return by_lower[near]
    return None


def _different_parts(first: str, second: str) -> tuple[str, str]:
    """Return two names without their common first and last parts; `-` and `_` separate parts."""
    first_parts, second_parts = re.split("[-_]", first), re.split("[-_]", second)
    for end in (0, -1):
        while first_parts and second_parts and first_parts[end] == second_parts[end]:
            del first_parts[end], second_parts[end]
    return "_".join(first_parts), "_".join(second_parts)


class Nearest:
    """Finds near words for a whole file, up to a limit of comparisons."""

    def __init__(self, cutoff: float) -> None:
        self._cutoff = cutoff
        self._found: dict[tuple[str, tuple[str, ...]], str | None] = {}
        self._compared = 0

    def of(self, word: str, *known: Collection[str]) -> str | None:
        """Return the nearest known word, as `nearest` does; None beyond the limit."""
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


_IES_ENDINGS = ("ry", "py")
"""The endings of nouns with a plural in `ies`: query, entry, copy."""


def counted(count: int, noun: str) -> str:
    """Return `1 change`, `2 changes` or `12,756,083 queries`."""
    if count != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith(_IES_ENDINGS) else f"{noun}s"
    return f"{count:,} {noun}"


def os_reason(error: OSError) -> str:
    """Return the reason of a system error, without its number: `permission denied`."""
    text = error.strerror or str(error) or "it cannot be read"
    return text[:1].lower() + text[1:]


def os_fix(error: OSError) -> str | None:
    """Return the fix for a file that cannot be read, if the reason has one."""
    return "let the account of proxyctl read it" if isinstance(error, PermissionError) else None
