"""Whether one rule matches every query that another one matches; and finding such a rule fast.

It is seen by the criteria: the same one, none, or a pattern that is the plain beginning of another.
What is not seen so counts as not covered.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import product

from proxyctl.lint.subject import Subject
from proxyctl.routing.regex import Compiled
from proxyctl.routing.rule import Rule

_MOST_TRIED = 100
_COLUMNS = ("match_digest", "match_pattern")

_Who = tuple[str | None, str | None, str | None, str | None, int | None]


class Covers:
    """Answers about pairs of rules."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject

    def covers(self, wide: Rule, narrow: Rule) -> bool:
        """Return whether `wide` is known to match whatever `narrow` matches."""
        if wide.broken or narrow.broken or not self._subject.variables.query_digests:
            return False
        if wide.digest not in (None, narrow.digest) or not _serves(wide, narrow):
            return False
        return all(self._column(wide, narrow, column) for column in _COLUMNS)

    def matches_all(self, rule: Rule) -> bool:
        """Return whether the rule is known to match every query of every session."""
        if rule.broken or rule.is_for_some_sessions or rule.digest is not None:
            return False
        patterns = (rule.match_digest, rule.match_pattern)
        if any(pattern is not None for pattern in patterns) and rule.negated:
            return False
        return all(self._pattern(pattern, None) for pattern in patterns)

    def _column(self, wide: Rule, narrow: Rule, column: str) -> bool:
        asked, given = getattr(wide, column), getattr(narrow, column)
        if asked is None:
            return True
        if wide.negated:
            return given is asked and narrow.negated
        return self._pattern(asked, None if narrow.negated else given)

    def _pattern(self, wide: Compiled | None, narrow: Compiled | None) -> bool:
        if wide is None or wide is narrow:
            return True
        asked = self._subject.literals[wide]
        if narrow is None:
            return asked.is_plain and not asked.first
        return asked.covers(self._subject.literals[narrow])


def _serves(wide: Rule, narrow: Rule) -> bool:
    """Return whether the sessions of one rule are among those of the other."""
    for name in ("username", "schemaname", "proxy_addr", "proxy_port"):
        if getattr(wide, name) not in (None, getattr(narrow, name)):
            return False
    asked, given = wide.client_addr, narrow.client_addr
    if asked in (None, "%", given):
        return True
    return given is not None and asked.endswith("%") and given.startswith(asked[:-1])


class CoverIndex:
    """Rules that may cover others, found by what a covered rule must have as well."""

    def __init__(self, subject: Subject, judge: Covers) -> None:
        self._judge = judge
        self._literals = subject.literals
        self._rules: dict[tuple[_Who, object], list[Rule]] = defaultdict(list)
        self._same: dict[tuple[object, ...], list[Rule]] = defaultdict(list)

    def add(self, rule: Rule) -> None:
        """Take a rule that may cover those that are asked for later. Changes: self."""
        self._same[_criteria(rule)].append(rule)
        self._rules[_who(rule), self._mark(rule)].append(rule)

    def covering(self, narrow: Rule) -> Iterator[Rule]:
        """Yield rules that cover this one; not all of them where many might."""
        tried = 0
        yield from self._same.get(_criteria(narrow), ())
        marks = self._marks_covering(narrow)
        for who in _asked_whos(narrow):
            for mark in marks:
                for rule in self._rules.get((who, mark), ()):
                    tried += 1
                    if tried > _MOST_TRIED:
                        return
                    if self._judge.covers(rule, narrow):
                        yield rule

    def _mark(self, rule: Rule) -> object:
        """Return what each rule that this one covers is looked up by."""
        if rule.digest is not None:
            return rule.digest
        for column in _COLUMNS:
            pattern = getattr(rule, column)
            if pattern is None:
                continue
            literals = None if rule.negated else self._literals.get(pattern)
            if literals is None or not literals.is_plain:
                return pattern
            if literals.first:
                return column, literals.first.lower()
        return None

    def _marks_covering(self, rule: Rule) -> set[object]:
        """Return the marks that a rule which covers this one may have."""
        marks: set[object] = {None, rule.digest}
        for column in _COLUMNS:
            pattern = getattr(rule, column)
            marks.add(pattern)
            literals = self._literals.get(pattern)
            if literals is not None and not rule.negated:
                first = literals.first.lower()
                marks.update((column, first[:end]) for end in range(1, len(first) + 1))
        return marks


def _criteria(rule: Rule) -> tuple[object, ...]:
    return (
        *_who(rule),
        rule.client_addr,
        rule.digest,
        rule.match_digest,
        rule.match_pattern,
        rule.negated and (rule.match_digest or rule.match_pattern) is not None,
    )


def _who(rule: Rule) -> _Who:
    exact = rule.client_addr
    if exact is not None and exact.endswith("%"):
        exact = None
    return rule.username, rule.schemaname, exact, rule.proxy_addr, rule.proxy_port


def _asked_whos(rule: Rule) -> Iterator[_Who]:
    """Yield who the rules may be for that serve all sessions of this one."""
    parts = [(part,) if part is None else (part, None) for part in _who(rule)]
    yield from product(*parts)
