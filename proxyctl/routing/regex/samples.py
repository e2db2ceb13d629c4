r"""Generate texts that a pattern matches: `sbtest(1[02]|7)` gives sbtest10, sbtest12 and sbtest7.

The texts are guesses: look-around is ignored, and back references are not understood. So the caller
must match them with the real engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from proxyctl.routing.regex.syntax import (
    DOT,
    Chars,
    Choice,
    Concatenation,
    End,
    LiteralText,
    NoTree,
    RegexNode,
    Repeat,
    tree_of,
)

_MOST_STEPS = 100_000


def samples(pattern: str, *, limit: int = 1, fill: str = "") -> list[str]:
    """Return up to `limit` texts that the pattern seems to match; none if it is not understood.

    `fill` is the text for `.*`.
    """
    try:
        tree = tree_of(pattern)
        if _effort(tree) > _MOST_STEPS:
            return []
        return list(dict.fromkeys(islice(_texts(tree, fill), limit)))
    except (NoTree, RecursionError):
        return []


def _effort(node: RegexNode) -> int:
    """Return the number of steps for the shortest text, at least the text's length."""
    match node:
        case LiteralText(text):
            return len(text) or 1
        case Concatenation(items):
            return sum(map(_effort, items))
        case Choice(rows):
            return min(map(_effort, rows))
        case Repeat(item, least):
            return least * _effort(item) or 1
    return 1


def _texts(node: RegexNode, fill: str) -> Iterator[str]:
    match node:
        case LiteralText(text):
            return iter((text,))
        case Chars(letters):
            return iter(letters)
        case Concatenation(items):
            return _rows(items, fill)
        case Choice(rows):
            return chain.from_iterable(_texts(row, fill) for row in rows)
        case Repeat(item, least, most):
            if item is DOT and most != least:
                return iter((fill or "c" * least,))
            shortest = _rows([item] * least, fill)
            return shortest if most == least else chain(shortest, _rows([item] * (least + 1), fill))
        case End():
            return iter(("",))


def _rows(items: Sequence[RegexNode], fill: str) -> Iterator[str]:
    if not items:
        yield ""
        return
    for first in _texts(items[0], fill):
        for tail in _rows(items[1:], fill):
            yield first + tail
