"""Which rules a query can get to, and which leave other rules nothing to do.

Whether a rule matches whatever another one matches shows in the criteria: it has the same
criterion, none, or a pattern that is the plain beginning of the other's. Everything else counts as
not covered.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product

from proxyctl.catalog import MAX_INT, Value
from proxyctl.lint.subject import Subject
from proxyctl.routing.rule import Rule

_COLUMNS = ("match_digest", "match_pattern")
_NOT_COMPARED = frozenset({"rule_id", "comment"})
_MOST_TRIED = 200
"""How many rules are asked about one. The same rule may be there very often."""


@dataclass
class Verdicts:
    """What rules do to one another.

    Shape: `duplicates` are rule_ids with that of the first such rule. `shadowed` are rules with the
    earlier one that takes all their queries; `overwritten` with the later one that sets another
    destination for all of them. A rule is in one of the two at most, and a duplicate in none.
    """

    duplicates: Mapping[int, int]
    shadowed: list[tuple[Rule, Rule]] = field(default_factory=list)
    overwritten: list[tuple[Rule, Rule]] = field(default_factory=list)

    @property
    def without_effect(self) -> frozenset[int]:
        """The rules whose destination never counts, or counts as an earlier one's does."""
        found = {rule.rule_id for rule, _ in (*self.shadowed, *self.overwritten)}
        return frozenset(found | self.duplicates.keys())


def verdicts(subject: Subject) -> Verdicts:
    """Return what rules do to one another; worked out once."""
    return subject.once(_verdicts)


def _verdicts(subject: Subject) -> Verdicts:
    judge = _Judge(subject)
    # A misread digest is no criterion any more, and has a check of its own.
    misread = {
        row.rule.rule_id
        for row in subject.rule_rows
        if row.rule and row.text("digest") and row.rule.digest is None
    }
    well_read = [rule for rule in subject.rules if rule.rule_id not in misread]
    found = Verdicts(_duplicates(subject))
    reached = flag_reach(subject).reached
    lanes: dict[int, list[Rule]] = {}
    for rule in well_read:
        if rule.rule_id in reached and rule.rule_id not in found.duplicates:
            lanes.setdefault(rule.flag_in, []).append(rule)
    between = _Between(subject.rules)
    for lane in lanes.values():
        shadowed = dict(_shadowed(lane, judge, between))
        found.shadowed += shadowed.items()
        rest = [rule for rule in lane if rule not in shadowed]
        found.overwritten += _overwritten(rest, judge, between)
    return found


def _duplicates(subject: Subject) -> dict[int, int]:
    """Return the rules that are the same as an earlier one, with that one."""
    seen: dict[tuple[tuple[str, Value], ...], int] = {}
    found: dict[int, int] = {}
    for row in subject.rule_rows:
        if row.rule is None or row.rule.flag_in == MAX_INT:
            continue
        cells = tuple((n, value) for n, value in row.cells.items() if n not in _NOT_COMPARED)
        first = seen.setdefault(cells, row.rule.rule_id)
        if first != row.rule.rule_id:
            found[row.rule.rule_id] = first
    return found


def _shadowed(
    lane: Sequence[Rule], judge: _Judge, between: _Between
) -> Iterator[tuple[Rule, Rule]]:
    """Yield the rules that an earlier rule with apply takes every query from, with that rule."""
    index = _Index(judge)

    def takes_all(wide: Rule, rule: Rule) -> bool:
        return between.has_no_entry(wide, rule) and (
            wide.match_pattern is None or between.keeps_text(wide, rule)
        )

    for rule in lane:
        by = next((wide for wide in index.covering(rule) if takes_all(wide, rule)), None)
        if by is not None:
            yield rule, by
        elif rule.apply:
            index.add(rule)


def _overwritten(
    lane: Sequence[Rule], judge: _Judge, between: _Between
) -> Iterator[tuple[Rule, Rule]]:
    """Yield the rules whose destination a later rule always replaces, with that rule."""
    index = _Index(judge)

    def overwrites(wide: Rule, rule: Rule) -> bool:
        if wide.destination == rule.destination or not between.has_no_exit(rule, wide):
            return False
        sees_the_same = rule.replacement is None and between.keeps_text(rule, wide)
        return wide.match_pattern is None or sees_the_same

    for rule in reversed(lane):
        if rule.destination is None:
            continue
        if not rule.apply and rule.flag_out is None and not rule.weighted_flags:
            by = next((wide for wide in index.covering(rule) if overwrites(wide, rule)), None)
            if by is not None:
                yield rule, by
        index.add(rule)


class _Judge:
    """Answers about pairs of rules."""

    def __init__(self, subject: Subject) -> None:
        self.literals = subject.literals
        self._has_digests = subject.variables.query_digests

    def covers(self, wide: Rule, narrow: Rule) -> bool:
        """Return whether `wide` is known to match whatever `narrow` matches."""
        if wide.broken or narrow.broken or not self._has_digests:
            return False
        if wide.digest not in (None, narrow.digest) or not _serves(wide, narrow):
            return False
        return all(self._column(wide, narrow, column) for column in _COLUMNS)

    def _column(self, wide: Rule, narrow: Rule, column: str) -> bool:
        asked, given = getattr(wide, column), getattr(narrow, column)
        if asked is None:
            return True
        if wide.negated:
            return given is asked and narrow.negated
        literals = self.literals[asked]
        if given is None or narrow.negated:
            return literals.is_plain and not literals.first
        return asked is given or literals.covers(self.literals[given])


def _serves(wide: Rule, narrow: Rule) -> bool:
    """Return whether the sessions of one rule are among those of the other."""
    for name in ("username", "schemaname", "proxy_addr", "proxy_port"):
        if getattr(wide, name) not in (None, getattr(narrow, name)):
            return False
    asked, given = wide.client_addr, narrow.client_addr
    if asked in (None, "%", given):
        return True
    return given is not None and asked.endswith("%") and given.startswith(asked[:-1])


_Caller = tuple[str | int | None, ...]


class _Index:
    """Rules that may cover others, found by what a covered rule must have as well."""

    def __init__(self, judge: _Judge) -> None:
        self._judge = judge
        self._rules: dict[tuple[_Caller, object], list[Rule]] = defaultdict(list)

    def add(self, rule: Rule) -> None:
        """Take a rule that may cover those that are asked for later. Changes: self."""
        self._rules[_caller(rule), self._mark(rule)].append(rule)

    def covering(self, narrow: Rule) -> Iterator[Rule]:
        """Yield rules that cover this one; not all of them where many might."""
        marks = self._marks_covering(narrow)
        callers = product(*((part,) if part is None else (part, None) for part in _caller(narrow)))
        keys = [(caller, mark) for caller in callers for mark in marks]
        candidates = (rule for key in keys for rule in self._rules.get(key, ()))
        for rule in islice(candidates, _MOST_TRIED):
            if self._judge.covers(rule, narrow):
                yield rule

    def _mark(self, rule: Rule) -> object:
        """Return what each rule that this one covers is looked up by: its first criterion."""
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
        """Return the marks that a rule which covers this one may have."""
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
    """What may happen to a query between two rules of the same flagIN."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._coming: dict[int, list[int]] = defaultdict(list)
        self._ending: dict[int, list[int]] = defaultdict(list)
        self._rewriting: list[int] = []
        for rule in rules:
            for flag in jumps(rule):
                self._coming[flag].append(rule.position)
            if rule.replacement is not None:
                self._rewriting.append(rule.position)
            if jumps(rule) or (rule.apply and rule.destination is None):
                self._ending[rule.flag_in].append(rule.position)

    def has_no_entry(self, first: Rule, last: Rule) -> bool:
        """Return whether each query that gets to `last` has been at `first`."""
        return not _has(self._coming.get(last.flag_in, ()), first, last)

    def keeps_text(self, first: Rule, last: Rule) -> bool:
        """Return whether both rules see the same text. What `first` rewrites is not counted."""
        return not _has(self._rewriting, first, last)

    def has_no_exit(self, first: Rule, last: Rule) -> bool:
        """Return whether a query goes from one to the other, or to a rule that sends it away."""
        return not _has(self._ending.get(first.flag_in, ()), first, last)


def _has(positions: Sequence[int], first: Rule, last: Rule) -> bool:
    """Return whether one of some ascending positions is behind `first` and before `last`."""
    place = bisect_right(positions, first.position)
    return place < len(positions) and positions[place] < last.position


# Along flagIN and flagOUT -----------------------------------------------------------------------


def jumps(rule: Rule) -> frozenset[int]:
    """Return the flags that a match of the rule may lead to, its own not among them."""
    flags = {weighted.flag for weighted in rule.weighted_flags}
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


def flag_reach(subject: Subject) -> FlagReach:
    """Return what a query may get to; worked out once. Each rule counts as one that may match."""
    return subject.once(_flag_reach)


def _flag_reach(subject: Subject) -> FlagReach:
    rules = subject.rules
    # After a flagOUT the rules are tried from the first one on; else they continue behind the rule.
    starts_again = subject.variables.query_processor_iterations > 0
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
