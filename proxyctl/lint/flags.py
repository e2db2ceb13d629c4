"""Which rules a query can get to, along flagIN and flagOUT.

Patterns are not looked at here: a rule counts as one that may match.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proxyctl.routing.rule import Rule


def jumps(rule: Rule) -> frozenset[int]:
    """Return the flags that a match of the rule may lead to, its own not among them."""
    flags = {way.flag for way in rule.ways}
    if rule.flag_out is not None:
        flags.add(rule.flag_out)
    return frozenset(flags - {rule.flag_in})


def entries(rule: Rule) -> frozenset[int]:
    """Return the flags with which a session may begin, where this rule says so.

    They are those of its next queries, and of mirrored ones.
    """
    sets = dict(rule.sets)
    found = (sets.get(name) for name in ("next_query_flagIN", "mirror_flagOUT"))
    return frozenset(flag for flag in found if isinstance(flag, int))


def next_entries(rule: Rule) -> frozenset[int]:
    """Return the flag with which the next query of a session begins, where this rule says so."""
    return frozenset(
        flag for name, flag in rule.sets if name == "next_query_flagIN" and isinstance(flag, int)
    )


@dataclass(frozen=True)
class Reach:
    """What a query may get to.

    Shape: `reached` by rule_id. `setters` has the rules that lead to a flag, reachable or not;
    `enders` those that set it and have apply, which ends the rules.
    """

    reached: frozenset[int]
    setters: Mapping[int, Sequence[Rule]]
    enders: Mapping[int, Sequence[Rule]]


def reach_of(rules: Sequence[Rule], *, starts_again: bool, mirrored: bool = True) -> Reach:
    """Return what is reachable among rules sorted by rule_id.

    `starts_again`: after a flagOUT the rules are tried from the first one on
    (mysql-query_processor_iterations); else they go on behind the rule. `mirrored`: also for the
    copies that rules make.
    """
    setters: dict[int, list[Rule]] = defaultdict(list)
    enders: dict[int, list[Rule]] = defaultdict(list)
    for rule in rules:
        for flag in entries(rule) if rule.apply else jumps(rule) | entries(rule):
            setters[flag].append(rule)
        for flag in jumps(rule) if rule.apply else ():
            enders[flag].append(rule)
    begun = {0}
    """Flags that are set before the first rule."""
    reached: set[int] = set()
    before = -1
    while before < len(reached) + len(begun):
        before = len(reached) + len(begun)
        standing = set(begun)
        for rule in rules:
            if rule.flag_in not in standing:
                continue
            reached.add(rule.rule_id)
            begun |= entries(rule) if mirrored else next_entries(rule)
            if rule.apply:
                continue  # it ends the rules, whatever flag it sets
            standing |= jumps(rule)
            if starts_again:
                begun |= jumps(rule)
    return Reach(frozenset(reached), setters, enders)


class Between:
    """Positions of rules, to ask whether one stands between two others."""

    def __init__(self) -> None:
        self._positions: dict[int, list[int]] = defaultdict(list)

    def add(self, flag: int, position: int) -> None:
        """Note a position, in ascending order. Changes: self."""
        self._positions[flag].append(position)

    def has(self, flag: int, first: int, last: int) -> bool:
        """Return whether a noted position is behind `first` and before `last`."""
        positions = self._positions.get(flag, [])
        place = bisect_right(positions, first)
        return place < len(positions) and positions[place] < last
