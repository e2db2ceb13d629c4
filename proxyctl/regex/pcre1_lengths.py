"""How long the parts of a pattern are: what PCRE1 asks for look-behinds and for recursion.

A branch is its list of parts. PCRE1 takes a look-behind only if each of its alternatives has one
fixed length, and a call of an open group only if something was consumed before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto


class Kind(Enum):
    """What a part is, as far as its length goes."""

    BYTE = auto()  # matches exactly one byte
    NEWLINE = auto()  # \R, one byte or two
    REFERENCE = auto()  # a back reference
    ASSERTION = auto()  # a look-around, matches nothing
    GROUP = auto()
    CONDITION = auto()  # (?(...)yes|no)
    CALL = auto()  # (?1), (?R), (?&name)


@dataclass(slots=True)
class Part:
    """Something that a quantifier can repeat. Units: `high` None is no limit."""

    kind: Kind
    low: int = 1
    high: int | None = 1
    branches: list[Branch] = field(default_factory=list)
    target: int | bytes = 0
    """The group that is called, by number or name; 0 is the whole pattern."""
    inside: frozenset[int] = frozenset()
    """The numbers of the groups that were open at the call."""


Branch = list[Part]
Groups = Mapping[int | bytes, Part]


def may_be_empty(branch: Branch, groups: Groups, active: frozenset[int] = frozenset()) -> bool:
    """Return whether a branch may match nothing, as far as PCRE1 can see.

    Shape: `groups` holds the groups that were closed; what it lacks may be empty.
    """
    for part in branch:
        if part.low == 0 or part.kind in (Kind.REFERENCE, Kind.ASSERTION):
            continue
        group: Part | None = part
        if part.kind is Kind.CALL:
            group = groups.get(part.target)
            if group is None or id(group) in active:
                continue
            active |= {id(group)}
        elif part.kind is Kind.CONDITION and len(part.branches) == 1:
            continue
        if group is None or not any(may_be_empty(b, groups, active) for b in group.branches):
            return False
    return True


def is_fixed(branch: Branch, groups: Groups) -> bool:
    """Return whether PCRE1 finds one fixed length for a branch of a look-behind."""
    return _length(branch, groups, frozenset()) is not None


def _length(branch: Branch, groups: Groups, active: frozenset[int]) -> int | None:
    total = 0
    for part in branch:
        length = _part_length(part, groups, active)
        if length is None:
            return None
        total += length
    return total


def _part_length(part: Part, groups: Groups, active: frozenset[int]) -> int | None:
    if part.kind is Kind.ASSERTION:
        return 0 if part.low else None
    if part.low != part.high:
        return None
    if part.kind is Kind.BYTE:
        return part.low
    if part.kind in (Kind.NEWLINE, Kind.REFERENCE):
        return None if part.low else 0
    group: Part | None = part
    if part.kind is Kind.CALL:
        group = groups.get(part.target)
        if group is None or part.target in part.inside or id(group) in active:
            return None
        active |= {id(group)}
    if group is None or not part.low:
        return None
    lengths = set()
    for branch in group.branches:  # a loop: comprehensions deepen the recursion, before Python 3.12
        lengths.add(_length(branch, groups, active))
    length = lengths.pop()
    return None if lengths or length is None else part.low * length
