r"""What no digest text holds, and which patterns can therefore match none.

Each `Trait` is a small automaton that reads a text and ends in a state where it cannot be a digest
text. What stands in `/*! ... */` is copied nearly as it is, and does not count here.
Source: ProxySQL 2.7.1; the tests hold the traits against the digests of random queries.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from proxyctl.digest import DigestOptions
from proxyctl.lint.pattern_language import automaton_of
from proxyctl.lint.pattern_syntax import DIGITS, EVERY, WORD, Anchor, Tree, byte_set

_NAME = WORD | byte_set(b"$")
_DEAD = -1


class Kind(Enum):
    """What a pattern asks for in vain."""

    QUOTED = "quoted text"
    NUMBER = "a number"
    COMMENT = "a comment"
    SPACING = "blanks"
    END = "a semicolon or a blank at the end"
    CASE = "capital letters"
    DIGIT = "digits"


@dataclass(frozen=True)
class Trait:
    """States from 0 on, with the sets of bytes that lead on; other bytes lead to `otherwise`.

    A text may not end in a state of `open_ends`, and no match in one of `open_matches`.
    """

    kind: Kind
    moves: tuple[tuple[tuple[int, int], ...], ...]
    otherwise: tuple[int, ...]
    open_ends: frozenset[int] = frozenset()
    open_matches: frozenset[int] = frozenset()


def _never(kind: Kind, members: int) -> Trait:
    return Trait(kind, (((members, _DEAD),),), (0,))


_BLANK = byte_set(b" ")
_QUOTED = _never(Kind.QUOTED, byte_set(b"'\""))
_CASE = _never(Kind.CASE, byte_set(bytes(range(0x41, 0x5B))))
_DIGIT = _never(Kind.DIGIT, DIGITS)
# 0: behind a byte that is no part of a name, 1: in a name, 2: in digits that no letter began.
_NUMBER = Trait(
    Kind.NUMBER,
    (
        ((DIGITS, 2), (_NAME & ~DIGITS, 1)),
        ((_NAME, 1),),
        ((DIGITS, 2), (_NAME & ~DIGITS, 1), (EVERY & ~_NAME, _DEAD)),
    ),
    (0, 0, 0),
    open_ends=frozenset({2}),
    open_matches=frozenset({2}),
)
# 1: behind `/`.
_COMMENT = Trait(
    Kind.COMMENT,
    (
        ((byte_set(b"/"), 1), (byte_set(b"#"), _DEAD)),
        ((byte_set(b"/"), 1), (byte_set(b"*#"), _DEAD)),
    ),
    (0, 0),
)
# 0: at the beginning or behind `(` or `,`, 1: elsewhere, 2: behind a blank.
_LINES = byte_set(b"\t\r\n")
_OPENING = byte_set(b"(,")
_SPACING = Trait(
    Kind.SPACING,
    (
        ((_LINES | _BLANK, _DEAD), (_OPENING, 0)),
        ((_LINES, _DEAD), (_BLANK, 2), (_OPENING, 0)),
        ((_LINES | _BLANK | byte_set(b"),"), _DEAD), (byte_set(b"("), 0)),
    ),
    (1, 1, 1),
)
# 1: behind a blank or a semicolon.
_END = Trait(
    Kind.END,
    (((byte_set(b" ;"), 1),), ((byte_set(b" ;"), 1),)),
    (0, 0),
    open_ends=frozenset({1}),
)

_SUSPECT = re.compile(
    rb"""['"\t\r\n\#] | \x20[\x20),] | [(,]\x20 | \A\x20 | /\* | [\x20;]\Z
      | (?<![0-9A-Za-z_$])[0-9]+(?![0-9A-Za-z_$])""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class DigestTexts:
    """The digest texts under given variables."""

    options: DigestOptions
    traits: tuple[Trait, ...] = field(init=False)

    def __post_init__(self) -> None:
        made = [_QUOTED, _DIGIT if self.options.no_digits else _NUMBER]
        if self.options.lowercase:
            made.append(_CASE)
        if not self.options.keep_comment:
            made += [_COMMENT, _SPACING, _END]
        object.__setattr__(self, "traits", tuple(made))

    def looks_possible(self, text: bytes) -> bool:
        """Return whether a text seems to be a digest text, seen at a glance."""
        if _SUSPECT.search(text):
            return False
        if self.options.lowercase and text != text.lower():
            return False
        return not (self.options.no_digits and re.search(rb"[0-9]", text))

    def out_of_reach(self, tree: Tree) -> Kind | None:
        """Return what a pattern asks for that no digest text has; None: it may match one.

        Where several things together rule out each match, the first one of them is returned.
        """
        if _may_match(tree, self.traits):
            return None
        for trait in self.traits:
            if not _may_match(tree, (trait,)):
                return trait.kind
        found = {trait.kind for trait in self.traits}
        for trait in self.traits:
            rest = tuple(other for other in self.traits if other is not trait)
            if _may_match(tree, rest):
                return trait.kind
        return next(iter(found))

    def holds(self, text: bytes) -> Kind | None:
        """Return what of a text no digest text has."""
        for trait in self.traits:
            state = 0
            for byte in text:
                state = _moved(trait, state, 1 << byte)[0][1]
                if state == _DEAD:
                    return trait.kind
            if state in trait.open_ends:
                return trait.kind
        return None


def _moved(trait: Trait, state: int, members: int) -> list[tuple[int, int]]:
    """Return where a set of bytes leads, each part of it with its state."""
    found = []
    for mask, after in trait.moves[state]:
        part = members & mask
        if part:
            found.append((part, after))
            members &= ~mask
    if members:
        found.append((members, trait.otherwise[state]))
    return found


_Place = tuple[int, tuple[int, ...], bool, bool]
"""A place in the pattern, the states of the traits, at the beginning, behind a `$`."""


def _may_match(tree: Tree, traits: tuple[Trait, ...]) -> bool:
    """Return whether the pattern may match a text that has none of these traits.

    Word boundaries are taken to hold everywhere.
    """
    automaton = automaton_of(tree.root)
    begin: _Place = (0, (0,) * len(traits), True, False)
    seen = {begin}
    waiting = [begin]

    def add(place: _Place) -> None:
        if place not in seen:
            seen.add(place)
            waiting.append(place)

    while waiting:
        state, states, is_first, is_last = waiting.pop()
        if state == 1 and _may_end(traits, states, is_last=is_last):
            return True
        for end, anchor in automaton.free[state]:
            if anchor is Anchor.START and not is_first:
                continue
            add((end, states, is_first, is_last or anchor in (Anchor.END, Anchor.LAST)))
        if is_last:
            continue
        for members, end in automaton.reads[state]:
            for after in _steps(traits, states, members):
                add((end, after, False, False))
    return False


def _may_end(traits: Iterable[Trait], states: tuple[int, ...], *, is_last: bool) -> bool:
    return not any(
        state in (trait.open_ends if is_last else trait.open_matches)
        for trait, state in zip(traits, states, strict=True)
    )


def _steps(
    traits: tuple[Trait, ...], states: tuple[int, ...], members: int
) -> Iterable[tuple[int, ...]]:
    """Yield the states of all traits behind one byte of a set, those without a dead one."""
    parts: list[tuple[int, tuple[int, ...]]] = [(members, ())]
    for trait, state in zip(traits, states, strict=True):
        parts = [
            (part, (*before, after))
            for of, before in parts
            for part, after in _moved(trait, state, of)
            if after != _DEAD
        ]
    return (after for _, after in parts)
