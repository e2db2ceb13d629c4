"""Which rules a query can reach, and which rules take all queries of other rules.

One rule covers another if its criteria show that it matches all the same queries: each criterion
is absent, the same, or a pattern that is the plain beginning of the other's. In doubt it does not.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product

from proxyctl.catalog import MAX_INT, Value
from proxyctl.lint.subject import LintSubject
from proxyctl.routing.rule import Rule

_COLUMNS = ("match_digest", "match_pattern")
_NOT_COMPARED = frozenset({"rule_id", "comment"})
_MOST_TRIED = 200
"""How many candidates are compared with one rule: a script may have added one rule many times."""


@dataclass
class Verdicts:
    """Rules that other rules make useless.

    A rule is in at most one of `shadowed` and `overwritten`; a duplicate is in neither.
    """

    duplicates: Mapping[int, int]
    """The rule_id of the first equal rule, by rule_id."""
    shadowed: list[tuple[Rule, Rule]] = field(default_factory=list)
    """Each such rule with the earlier rule that takes all its queries."""
    overwritten: list[tuple[Rule, Rule]] = field(default_factory=list)
    """Each such rule with the later rule that sets another destination for all its queries."""

    @property
    def without_effect(self) -> frozenset[int]:
        """The rules whose destination never counts, and the duplicates."""
        overruled = {rule.rule_id for rule, _ in (*self.shadowed, *self.overwritten)}
        return frozenset(overruled | self.duplicates.keys())


def verdicts(subject: LintSubject) -> Verdicts:
    """Return the rules that other rules make useless; computed once."""
    return subject.once(_verdicts)


def _verdicts(subject: LintSubject) -> Verdicts:
    judge = _Judge(subject)
    # ProxySQL ignores a digest that it cannot read; PX123 reports the rule.
    misread = {
        row.rule.rule_id
        for row in subject.rule_rows
        if row.rule and row.text("digest") and row.rule.digest is None
    }
    well_read = [rule for rule in subject.rules if rule.rule_id not in misread]
    result = Verdicts(_duplicates(subject))
    reached = flag_reach(subject).reached
    chains: dict[int, list[Rule]] = {}
    for rule in well_read:
        if rule.rule_id in reached and rule.rule_id not in result.duplicates:
            chains.setdefault(rule.flag_in, []).append(rule)
    between = _Between(subject.rules)
    for chain in chains.values():
        shadowed = dict(_shadowed(chain, judge, between))
        result.shadowed += shadowed.items()
        unshadowed = [rule for rule in chain if rule not in shadowed]
        result.overwritten += _overwritten(unshadowed, judge, between)
    return result


def _duplicates(subject: LintSubject) -> dict[int, int]:
    """Return the rules that equal an earlier one, with the first such rule."""
    seen: dict[tuple[tuple[str, Value], ...], int] = {}
    duplicates: dict[int, int] = {}
    for row in subject.rule_rows:
        if row.rule is None or row.rule.flag_in == MAX_INT:
            continue
        cells = tuple((n, value) for n, value in row.cells.items() if n not in _NOT_COMPARED)
        first = seen.setdefault(cells, row.rule.rule_id)
        if first != row.rule.rule_id:
            duplicates[row.rule.rule_id] = first
    return duplicates


def _shadowed(
    chain: Sequence[Rule], judge: _Judge, between: _Between
) -> Iterator[tuple[Rule, Rule]]:
    """Yield each rule whose queries an earlier rule with apply takes all, with that rule."""
    index = _Index(judge)

    def takes_all(wide: Rule, rule: Rule) -> bool:
        return between.has_no_entry(wide, rule) and (
            wide.match_pattern is None or between.keeps_text(wide, rule)
        )

    for rule in chain:
        by = next((wide for wide in index.covering(rule) if takes_all(wide, rule)), None)
        if by is not None:
            yield rule, by
        elif rule.apply:
            index.add(rule)


def _overwritten(
    chain: Sequence[Rule], judge: _Judge, between: _Between
) -> Iterator[tuple[Rule, Rule]]:
    """Yield each rule whose destination a later rule always replaces, with that rule."""
    index = _Index(judge)

    def overwrites(wide: Rule, rule: Rule) -> bool:
        if wide.destination == rule.destination or not between.has_no_exit(rule, wide):
            return False
        sees_same_text = rule.replacement is None and between.keeps_text(rule, wide)
        return wide.match_pattern is None or sees_same_text

    for rule in reversed(chain):
        if rule.destination is None:
            continue
        if not rule.apply and rule.flag_out is None and not rule.weighted_flags:
            by = next((wide for wide in index.covering(rule) if overwrites(wide, rule)), None)
            if by is not None:
                yield rule, by
        index.add(rule)


class _Judge:
    """Decides whether one rule covers another."""

    def __init__(self, subject: LintSubject) -> None:
        self.literals = subject.literals
        self._has_digests = subject.variables.query_digests

    def covers(self, wide: Rule, narrow: Rule) -> bool:
        """Return whether `wide` is known to match every query that `narrow` matches."""
        if wide.broken or narrow.broken or not self._has_digests:
            return False
        if wide.digest not in (None, narrow.digest) or not _covers_sessions(wide, narrow):
            return False
        return all(self._covers_column(wide, narrow, column) for column in _COLUMNS)

    def _covers_column(self, wide: Rule, narrow: Rule, column: str) -> bool:
        wide_pattern, narrow_pattern = getattr(wide, column), getattr(narrow, column)
        if wide_pattern is None:
            return True
        if wide.negated:
            return narrow_pattern is wide_pattern and narrow.negated
        literals = self.literals[wide_pattern]
        if narrow_pattern is None or narrow.negated:
            return literals.is_plain and not literals.first
        return wide_pattern is narrow_pattern or literals.covers(self.literals[narrow_pattern])


def _covers_sessions(wide: Rule, narrow: Rule) -> bool:
    """Return whether `wide` applies to all sessions to which `narrow` applies."""
    for name in ("username", "schemaname", "proxy_addr", "proxy_port"):
        if getattr(wide, name) not in (None, getattr(narrow, name)):
            return False
    wide_addr, narrow_addr = wide.client_addr, narrow.client_addr
    if wide_addr in (None, "%", narrow_addr):
        return True
    is_prefix = wide_addr.endswith("%")
    return narrow_addr is not None and is_prefix and narrow_addr.startswith(wide_addr[:-1])


_Caller = tuple[str | int | None, ...]


class _Index:
    """Rules that may cover others, by a criterion that the covered rule must share."""

    def __init__(self, judge: _Judge) -> None:
        self._judge = judge
        self._rules: dict[tuple[_Caller, object], list[Rule]] = defaultdict(list)

    def add(self, rule: Rule) -> None:
        """Add a rule that may cover others. Changes: self."""
        self._rules[_caller(rule), self._mark(rule)].append(rule)

    def covering(self, narrow: Rule) -> Iterator[Rule]:
        """Yield rules that cover `narrow`; it compares at most _MOST_TRIED."""
        marks = self._marks_covering(narrow)
        callers = product(*((part,) if part is None else (part, None) for part in _caller(narrow)))
        keys = [(caller, mark) for caller in callers for mark in marks]
        candidates = (rule for key in keys for rule in self._rules.get(key, ()))
        for rule in islice(candidates, _MOST_TRIED):
            if self._judge.covers(rule, narrow):
                yield rule

    def _mark(self, rule: Rule) -> object:
        """Return the criterion under which the index keeps a rule: its first one."""
        if rule.digest is not None:
            return rule.digest
        for column in _COLUMNS:
            pattern = getattr(rule, column)
            if pattern is None:
                continue
            literals = None if rule.negated else self._judge.literals.get(pattern)
            if literals is None or not literals.is_plain:
                return pattern
            if literals.first:
                return column, literals.first.lower()
        return None

    def _marks_covering(self, rule: Rule) -> list[object]:
        """Return the marks of the rules that may cover this one."""
        marks: list[object] = [None, rule.digest]
        for column in _COLUMNS:
            pattern = getattr(rule, column)
            marks.append(pattern)
            literals = self._judge.literals.get(pattern)
            if literals is not None and not rule.negated:
                first = literals.first.lower()
                marks += [(column, first[:end]) for end in range(1, len(first) + 1)]
        return list(dict.fromkeys(marks))


def _caller(rule: Rule) -> _Caller:
    return rule.username, rule.schemaname, rule.proxy_port


class _Between:
    """What may happen to a query between two rules of the same flagIN, as positions of rules."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._entries: dict[int, list[int]] = defaultdict(list)
        self._exits: dict[int, list[int]] = defaultdict(list)
        self._rewrites: list[int] = []
        for rule in rules:
            for flag in jumps(rule):
                self._entries[flag].append(rule.position)
            if rule.replacement is not None:
                self._rewrites.append(rule.position)
            if jumps(rule) or (rule.apply and rule.destination is None):
                self._exits[rule.flag_in].append(rule.position)

    def has_no_entry(self, first: Rule, last: Rule) -> bool:
        """Return whether each query that reaches `last` was tried at `first`."""
        return not _is_any_between(self._entries.get(last.flag_in, ()), first, last)

    def keeps_text(self, first: Rule, last: Rule) -> bool:
        """Return whether no rule between the two rewrites the query."""
        return not _is_any_between(self._rewrites, first, last)

    def has_no_exit(self, first: Rule, last: Rule) -> bool:
        """Return whether each query behind `first` reaches `last`, or a rule that routes it."""
        return not _is_any_between(self._exits.get(first.flag_in, ()), first, last)


def _is_any_between(positions: Sequence[int], first: Rule, last: Rule) -> bool:
    """Return whether any of the ascending positions is behind `first` and before `last`."""
    place = bisect_right(positions, first.position)
    return place < len(positions) and positions[place] < last.position


# Along flagIN and flagOUT -----------------------------------------------------------------------


def jumps(rule: Rule) -> frozenset[int]:
    """Return the flags that a match of the rule may set, except its own flagIN."""
    flags = {way.flag for way in rule.weighted_flags}
    if rule.flag_out is not None:
        flags.add(rule.flag_out)
    return frozenset(flags - {rule.flag_in})


def entries(rule: Rule) -> frozenset[int]:
    """Return the flags with which a session's next query, or a mirrored copy, may begin."""
    sets = dict(rule.sets)
    flags = (sets.get(name) for name in ("next_query_flagIN", "mirror_flagOUT"))
    return frozenset(flag for flag in flags if isinstance(flag, int))


@dataclass(frozen=True)
class FlagReach:
    """The rules that a query may reach, and the rules that set a flag."""

    reached: frozenset[int]
    """The rule_ids of the rules that a query may reach."""
    setters: Mapping[int, Sequence[Rule]]
    """The rules that lead to a flag, reachable or not, by flag."""
    enders: Mapping[int, Sequence[Rule]]
    """The rules that set a flag but end the rules with apply, by flag."""


def flag_reach(subject: LintSubject) -> FlagReach:
    """Return the rules that a query may reach if each rule may match; computed once."""
    return subject.once(_flag_reach)


def _flag_reach(subject: LintSubject) -> FlagReach:
    rules = subject.rules
    # With iterations, ProxySQL starts again at the first rule after a flagOUT; without, it goes on
    # behind the rule.
    starts_again = subject.variables.query_processor_iterations > 0
    setters: dict[int, list[Rule]] = defaultdict(list)
    enders: dict[int, list[Rule]] = defaultdict(list)
    for rule in rules:
        for flag in entries(rule) if rule.apply else jumps(rule) | entries(rule):
            setters[flag].append(rule)
        for flag in jumps(rule) if rule.apply else ():
            enders[flag].append(rule)
    initial_flags = {0}
    """Flags that a query may have at the first rule."""
    reached: set[int] = set()
    size_before = -1
    while size_before < len(reached) + len(initial_flags):
        size_before = len(reached) + len(initial_flags)
        flags = set(initial_flags)
        for rule in rules:
            if rule.flag_in not in flags:
                continue
            reached.add(rule.rule_id)
            initial_flags |= entries(rule)
            if rule.apply:
                continue  # apply ends the rules, whatever flag the rule sets
            flags |= jumps(rule)
            if starts_again:
                initial_flags |= jumps(rule)
    return FlagReach(frozenset(reached), setters, enders)
