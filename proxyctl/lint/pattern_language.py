"""Whether a pattern matches every text that another one matches.

Both patterns run over all texts at once, each with the set of places it may stand at; a text that
the narrower one matches and the wider one does not would turn up. What takes too long is not known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from proxyctl.lint.pattern_syntax import (
    EVERY,
    WORD,
    Anchor,
    Chars,
    Either,
    Joined,
    Node,
    Repeated,
    Tree,
)

_MOST_STATES = 3_000
_ACCEPT = 1
"""The number of the state in which the pattern has matched."""


@dataclass
class Automaton:
    """A pattern as states. Shape: `free` leads on without a byte, `reads` with one of a set."""

    free: list[list[tuple[int, Anchor | None]]] = field(default_factory=lambda: [[], []])
    reads: list[list[tuple[int, int]]] = field(default_factory=lambda: [[], []])

    def add(self, node: Node, start: int) -> int:
        """Add a part of a pattern behind a state. Return where it ends. Changes: self."""
        match node:
            case Chars(members):
                end = self._state()
                self.reads[start].append((members, end))
                return end
            case Joined(items):
                for item in items:
                    start = self.add(item, start)
                return start
            case Either(options):
                end = self._state()
                for option in options:
                    self.free[self.add(option, start)].append((end, None))
                return end
            case Repeated():
                return self._repeated(node, start)
            case _:
                end = self._state()
                self.free[start].append((end, node))
                return end

    def _repeated(self, node: Repeated, start: int) -> int:
        for _ in range(node.least):
            start = self.add(node.item, start)
        end = self._state()
        self.free[start].append((end, None))
        if node.most is None:
            self.free[self.add(node.item, end)].append((end, None))
            return end
        for _ in range(node.most - node.least):
            start = self.add(node.item, start)
            self.free[start].append((end, None))
        return end

    def _state(self) -> int:
        self.free.append([])
        self.reads.append([])
        return len(self.free) - 1


def automaton_of(root: Node) -> Automaton:
    """Return the automaton of a pattern, from state 0 to 1. It may begin at any byte of a text."""
    made = Automaton()
    made.reads[0].append((EVERY, 0))
    first = made._state()
    made.free[0].append((first, None))
    made.free[made.add(root, first)].append((_ACCEPT, None))
    return made


ANYTHING = Tree(Joined(()), is_exact=True)
"""Matches every text."""


def covers(wide: Tree, narrow: Tree, *, without: int = 0, unread: int = 0) -> bool:
    """Return whether `wide` is known to match every text that `narrow` matches.

    `without`: bytes that no text has. `unread`: bytes that may stand in a text, before and behind a
    match, and that neither pattern reads. False also means: not known.
    """
    if not wide.is_exact or _holds(wide.root, Anchor.LAST):
        return False
    if not without and _reads_behind_end(narrow.root):
        return False  # `$` before a last line feed, that is read then: not modelled
    asked, given = automaton_of(wide.root), automaton_of(narrow.root)
    for automaton in (asked, given) if unread else ():
        _leave_unread(automaton, unread)
    return _Both(asked, given, without).is_covered()


def _leave_unread(automaton: Automaton, members: int) -> None:
    """Let the pattern read none of these bytes, but begin behind them. Changes: automaton."""
    searching = automaton.reads[0][0]
    for reads in automaton.reads:
        reads[:] = [(mask & ~members, end) for mask, end in reads]
    automaton.reads[0][0] = searching


def _holds(node: Node, anchor: Anchor) -> bool:
    match node:
        case Joined(items) | Either(items):
            return any(_holds(item, anchor) for item in items)
        case Repeated(item, _, _):
            return _holds(item, anchor)
        case _:
            return node is anchor


def _reads_behind_end(node: Node) -> bool:
    """Return whether something may stand behind a `$`."""
    match node:
        case Joined(items):
            return any(_holds(item, Anchor.END) for item in items[:-1]) or (
                bool(items) and _reads_behind_end(items[-1])
            )
        case Either(options):
            return any(map(_reads_behind_end, options))
        case Repeated(item, _, _):
            return _holds(item, Anchor.END)
        case _:
            return False


_Places = frozenset[int]
_State = tuple[_Places, _Places, bool | None]
"""Where both may stand, and whether the byte behind belongs to a word (None: the beginning)."""

_MATCHED: _Places = frozenset({_ACCEPT})


class _Both:
    """Two automata over the same texts."""

    def __init__(self, wide: Automaton, narrow: Automaton, without: int) -> None:
        self._wide, self._narrow = wide, narrow
        masks = {mask for a in (wide, narrow) for reads in a.reads for mask, _ in reads}
        self._kinds = [(kind, bool(kind & WORD)) for kind in _kinds(masks, EVERY & ~without)]

    def is_covered(self) -> bool:
        """Return whether no text tells the two apart in the wrong way."""
        begin: _State = (frozenset({0}), frozenset({0}), None)
        seen = {begin}
        waiting = [begin]
        while waiting:
            wide, narrow, behind = waiting.pop()
            if _ACCEPT in _free(self._narrow, narrow, behind, None) and _ACCEPT not in _free(
                self._wide, wide, behind, None
            ):
                return False
            freed = {
                is_word: (
                    _free(self._wide, wide, behind, is_word),
                    _free(self._narrow, narrow, behind, is_word),
                )
                for is_word in {is_word for _, is_word in self._kinds}
            }
            for kind, is_word in self._kinds:
                wide_now, narrow_now = freed[is_word]
                if _ACCEPT in wide_now:
                    continue  # whatever follows
                reached = (
                    _MATCHED if _ACCEPT in narrow_now else _read(self._narrow, narrow_now, kind)
                )
                after: _State = (_read(self._wide, wide_now, kind), reached, is_word)
                if after not in seen:
                    if len(seen) >= _MOST_STATES:
                        return False
                    seen.add(after)
                    waiting.append(after)
        return True


def _kinds(masks: Iterable[int], every: int) -> list[int]:
    """Return the sets of bytes that no mask tells apart."""
    kinds = [every & WORD, every & ~WORD]
    for mask in masks:
        kinds = [part for kind in kinds for part in (kind & mask, kind & ~mask) if part]
    return [kind for kind in kinds if kind]


def _free(
    automaton: Automaton, places: _Places, behind: bool | None, ahead: bool | None
) -> _Places:
    """Return the places that can be reached without a byte.

    `behind` and `ahead`: whether the bytes there belong to words; None is the edge of the text.
    """
    found = set(places)
    waiting = list(places)
    while waiting:
        for end, anchor in automaton.free[waiting.pop()]:
            if end not in found and (anchor is None or stands(anchor, behind, ahead)):
                found.add(end)
                waiting.append(end)
    return frozenset(found)


def stands(anchor: Anchor, behind: bool | None, ahead: bool | None) -> bool:
    """Return whether an anchor holds between two bytes."""
    match anchor:
        case Anchor.START:
            return behind is None
        case Anchor.END | Anchor.LAST:
            return ahead is None
        case Anchor.BOUNDARY:
            return bool(behind) is not bool(ahead)
        case Anchor.INSIDE:
            return bool(behind) is bool(ahead)


def _read(automaton: Automaton, places: _Places, kind: int) -> _Places:
    return frozenset(
        end for place in places for members, end in automaton.reads[place] if members & kind
    )
