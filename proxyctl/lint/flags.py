"""Which rules a query can get to, along flagIN and flagOUT.

Patterns are not tried here: a rule counts as one that may match.
"""

from __future__ import annotations

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
    """Return the flags with which a session's next query, or a mirrored copy, may begin."""
    sets = dict(rule.sets)
    found = (sets.get(name) for name in ("next_query_flagIN", "mirror_flagOUT"))
    return frozenset(flag for flag in found if isinstance(flag, int))


@dataclass(frozen=True)
class FlagReach:
    """What a query may get to.

    Shape: `reached` by rule_id. `setters` has the rules that lead to a flag, reachable or not;
    `enders` those that set it and have apply, which ends the rules.
    """

    reached: frozenset[int]
    setters: Mapping[int, Sequence[Rule]]
    enders: Mapping[int, Sequence[Rule]]


def reach_of(rules: Sequence[Rule], *, starts_again: bool) -> FlagReach:
    """Return what is reachable among rules sorted by rule_id.

    `starts_again`: after a flagOUT the rules are tried from the first one on
    (mysql-query_processor_iterations); else they continue behind the rule.
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
            begun |= entries(rule)
            if rule.apply:
                continue  # it ends the rules, whatever flag it sets
            standing |= jumps(rule)
            if starts_again:
                begun |= jumps(rule)
    return FlagReach(frozenset(reached), setters, enders)
