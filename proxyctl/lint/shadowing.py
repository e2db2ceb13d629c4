"""Checks: rules that an earlier or a later rule leaves nothing to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from proxyctl.catalog import MAX_INT, Value
from proxyctl.lint.cover import CoverIndex, Covers
from proxyctl.lint.flags import Between, jumps
from proxyctl.lint.rule_columns import digest_problem
from proxyctl.lint.subject import RuleRow, Subject
from proxyctl.routing.rule import Rule

_NOT_COMPARED = frozenset({"rule_id", "comment"})
_MOST_COVERING = 200
"""Later rules that are asked whether they overwrite one. The same rule may be there very often."""


def rules_never_tried(subject: Subject) -> frozenset[int]:
    """Return the rules that an earlier one takes every query from, as far as it is certain."""
    found = subject.once(_proofs)
    behind = {one.rule_id for _, rules in found.ends for one in rules}
    return frozenset(behind | {rule.rule_id for rule, _ in found.shadowed})


def rules_without_say(subject: Subject) -> frozenset[int]:
    """Return the rules whose destination never counts, as far as it is certain."""
    overwritten = {rule.rule_id for rule, _ in subject.once(_proofs).overwritten}
    return rules_never_tried(subject) | overwritten


@dataclass(frozen=True)
class _Verdicts:
    shadowed: Sequence[tuple[Rule, Rule]]
    overwritten: Sequence[tuple[Rule, Rule]]
    ends: Sequence[tuple[Rule, Sequence[Rule]]]
    duplicates: dict[int, int]
    matching_all: Sequence[Rule]


def verdicts(subject: Subject) -> _Verdicts:
    """Return what all checks of this file say, worked out once."""
    return _judged(subject, _duplicates(subject.rule_rows))


def _proofs(subject: Subject) -> _Verdicts:
    """Return the same of all rules, as the checks say nothing more of a duplicate."""
    found = subject.once(verdicts)
    return _judged(subject, {}) if found.duplicates else found


def _judged(subject: Subject, duplicates: dict[int, int]) -> _Verdicts:
    judge = Covers(subject)
    misread = {row.rule.rule_id for row in subject.rule_rows if row.rule and _is_misread(row)}
    # What is said of such rules is said where their digest or their variable is.
    all_matching = [
        rule
        for rule in subject.rules
        if rule.rule_id not in misread
        and subject.variables.query_digests
        and judge.matches_all(rule)
    ]
    lanes: dict[int, list[Rule]] = {}
    for rule in subject.rules:
        if rule.rule_id not in misread and rule.rule_id in subject.reach.reached:
            lanes.setdefault(rule.flag_in, []).append(rule)
    obstacles = _Obstacles(subject.rules)
    ends: list[tuple[Rule, Sequence[Rule]]] = []
    shadowed: list[tuple[Rule, Rule]] = []
    overwritten: list[tuple[Rule, Rule]] = []
    silent = {rule.rule_id for rule in all_matching}
    for lane in lanes.values():
        below: set[int] = set()
        for rule in lane:
            if rule.rule_id not in silent or not rule.apply or rule.rule_id in below:
                continue
            behind = [
                other
                for other in lane
                if other.position > rule.position
                and other.rule_id not in duplicates
                and obstacles.nobody_comes_between(rule, other)
            ]
            if behind:
                ends.append((rule, behind))
                below |= {other.rule_id for other in behind}
        rest = [rule for rule in lane if rule.rule_id not in below]
        shadowed += _shadowed(rest, subject, judge, obstacles, duplicates)
        dead = {rule.rule_id for rule, _ in shadowed} | set(duplicates)
        rest = [rule for rule in rest if rule.rule_id not in dead]
        overwritten += _overwritten(rest, subject, judge, obstacles)
    return _Verdicts(shadowed, overwritten, ends, duplicates, all_matching)


def _is_misread(row: RuleRow) -> bool:
    digest = row.text("digest")
    return digest is not None and digest_problem(digest) is not None


def _duplicates(rows: Sequence[RuleRow]) -> dict[int, int]:
    """Return the rules that are the same as an earlier one, with that one."""
    seen: dict[tuple[tuple[str, Value], ...], int] = {}
    found: dict[int, int] = {}
    for row in rows:
        if row.rule is None or row.rule.flag_in == MAX_INT:
            continue
        cells = tuple((n, value) for n, value in row.cells.items() if n not in _NOT_COMPARED)
        first = seen.setdefault(cells, row.rule.rule_id)
        if first != row.rule.rule_id:
            found[row.rule.rule_id] = first
    return found


class _Obstacles:
    """What may happen to a query between two rules of the same flagIN."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._coming, self._rewriting, self._ending = Between(), Between(), Between()
        for rule in rules:
            for flag in jumps(rule):
                self._coming.add(flag, rule.position)
            if rule.replacement is not None:
                self._rewriting.add(0, rule.position)
            if jumps(rule) or (rule.apply and rule.destination is None):
                self._ending.add(rule.flag_in, rule.position)

    def nobody_comes_between(self, first: Rule, last: Rule) -> bool:
        """Return whether each query that gets to `last` has been at `first`."""
        return not self._coming.has(last.flag_in, first.position, last.position)

    def nobody_rewrites_between(self, first: Rule, last: Rule) -> bool:
        """Return whether both rules see the same text. What `first` rewrites is not counted."""
        return not self._rewriting.has(0, first.position, last.position)

    def all_go_on(self, first: Rule, last: Rule) -> bool:
        """Return whether a query goes from one to the other, or to a rule that sends it away."""
        return not self._ending.has(first.flag_in, first.position, last.position)


def _shadowed(
    lane: Sequence[Rule],
    subject: Subject,
    judge: Covers,
    obstacles: _Obstacles,
    duplicates: dict[int, int],
) -> Iterator[tuple[Rule, Rule]]:
    index = CoverIndex(subject, judge)

    def ends(wide: Rule, rule: Rule) -> bool:
        return obstacles.nobody_comes_between(wide, rule) and (
            wide.match_pattern is None or obstacles.nobody_rewrites_between(wide, rule)
        )

    for rule in lane:
        by = next((wide for wide in index.covering(rule) if ends(wide, rule)), None)
        if by is None:
            if rule.apply:
                index.add(rule)
        elif rule.rule_id not in duplicates:
            yield rule, by


def _overwritten(
    lane: Sequence[Rule], subject: Subject, judge: Covers, obstacles: _Obstacles
) -> Iterator[tuple[Rule, Rule]]:
    index = CoverIndex(subject, judge)

    def overwrites(wide: Rule, rule: Rule) -> bool:
        if not obstacles.all_go_on(rule, wide):
            return False
        sees_the_same = rule.replacement is None and obstacles.nobody_rewrites_between(rule, wide)
        return wide.match_pattern is None or sees_the_same

    for rule in reversed(lane):
        if rule.destination is None:
            continue
        if not rule.apply and rule.flag_out is None and not rule.ways:
            covering = islice(index.covering(rule), _MOST_COVERING)
            others = (wide for wide in covering if wide.destination != rule.destination)
            by = next((wide for wide in others if overwrites(wide, rule)), None)
            if by is not None:
                yield rule, by
        index.add(rule)
