"""Whether one rule matches every query that another one matches; and finding such a rule fast.

Nothing is claimed that is not proven: what cannot be proven counts as not covered.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import product

from proxyctl.lint.pattern_language import ANYTHING, covers
from proxyctl.lint.pattern_syntax import EVERY, Tree, byte_set
from proxyctl.lint.pattern_texts import literal_runs, sample
from proxyctl.lint.subject import Subject
from proxyctl.regex import Compiled, Engine
from proxyctl.routing.patterns import Broken
from proxyctl.routing.rule import Rule

_GRAM = 4
_MOST_TRIED = 100
_COLUMNS = ("match_digest", "match_pattern")
_NOT_IN_DIGESTS = byte_set(b"\t\r\n\0")
_NOT_ASCII = EVERY & ~((1 << 128) - 1)

_Who = tuple[str | None, str | None, str | None, str | None, int | None]
_Place = tuple[_Who, str]
"""Who a rule is for, and four bytes that stand in each text that it matches ('': none known)."""


class Covers:
    """Answers about pairs of rules. Patterns are compared once for each pair of them."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._known: dict[tuple[Compiled | None, Compiled | None, str], bool] = {}
        self._samples: dict[Compiled, bytes | None] = {}
        # RE2 reads UTF-8: a byte that is none is no character, not even to `.`.
        self._unread = _NOT_ASCII if subject.engine is Engine.RE2 else 0
        self._without = {"match_digest": _NOT_IN_DIGESTS, "match_pattern": 0}

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
        patterns = [(rule.match_digest, _COLUMNS[0]), (rule.match_pattern, _COLUMNS[1])]
        if any(pattern is not None for pattern, _ in patterns) and rule.negated:
            return False
        return all(self._pattern(pattern, None, column) for pattern, column in patterns)

    def _column(self, wide: Rule, narrow: Rule, column: str) -> bool:
        asked, given = getattr(wide, column), getattr(narrow, column)
        if asked is None:
            return True
        if wide.negated:
            return given is asked and narrow.negated
        return self._pattern(asked, None if narrow.negated else given, column)

    def _pattern(self, wide: Compiled | None, narrow: Compiled | None, column: str) -> bool:
        if wide is None or wide is narrow:
            return True
        key = (wide, narrow, column)
        if key not in self._known:
            self._known[key] = self._compared(wide, narrow, column)
        return self._known[key]

    def _compared(self, wide: Compiled, narrow: Compiled | None, column: str) -> bool:
        asked = self._subject.tree(wide)
        given: Tree | None = ANYTHING
        text: bytes | None = b""
        if narrow is not None:
            given, text = self._subject.tree(narrow), self.sample(narrow)
        if asked is None or given is None or text is None or not wide.matches(text):
            return False
        return covers(asked, given, without=self._without[column], unread=self._unread)

    def sample(self, pattern: Compiled) -> bytes | None:
        """Return a text that the pattern matches, if one is found at once."""
        if pattern not in self._samples:
            tree = self._subject.tree(pattern)
            text = None if tree is None else sample(tree.root)
            self._samples[pattern] = text if text is not None and pattern.matches(text) else None
        return self._samples[pattern]


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

    def __init__(self, rules: Sequence[Rule], subject: Subject, judge: Covers) -> None:
        self._judge = judge
        self._rules: dict[_Place, list[Rule]] = defaultdict(list)
        self._same: dict[tuple[object, ...], list[Rule]] = defaultdict(list)
        self._grams = _rarest_grams(rules, subject)

    def add(self, rule: Rule) -> None:
        """Take a rule that may cover those that are asked for later. Changes: self."""
        self._same[_criteria(rule)].append(rule)
        self._rules[_who(rule), self._grams.get(rule.rule_id, "")].append(rule)

    def covering(self, narrow: Rule) -> Iterator[Rule]:
        """Yield rules that cover this one; not all of them where many might."""
        tried = 0
        yield from self._same.get(_criteria(narrow), ())
        for who in _asked_whos(narrow):
            for gram in {"", *self._grams_of(narrow)}:
                for rule in self._rules.get((who, gram), ()):
                    tried += 1
                    if tried > _MOST_TRIED:
                        return
                    if self._judge.covers(rule, narrow):
                        yield rule

    def _grams_of(self, rule: Rule) -> Iterator[str]:
        for column in _COLUMNS:
            pattern = getattr(rule, column)
            text = None if pattern is None or rule.negated else self._judge.sample(pattern)
            if text is not None:
                lower = text.lower()
                for at in range(len(lower) - _GRAM + 1):
                    yield column + lower[at : at + _GRAM].decode("latin-1")
        if rule.digest is not None:
            yield f"digest {rule.digest}"


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


def _rarest_grams(rules: Sequence[Rule], subject: Subject) -> dict[int, str]:
    """Return for each rule what few other rules ask for: four bytes of a pattern, or its digest."""
    grams: dict[int, set[str]] = {}
    for rule in rules:
        grams[rule.rule_id] = set() if rule.digest is None else {f"digest {rule.digest}"}
        for column in () if rule.negated else _COLUMNS:
            pattern = getattr(rule, column)
            tree = None if pattern is None or isinstance(pattern, Broken) else subject.tree(pattern)
            for run in literal_runs(tree.root) if tree else ():
                for at in range(len(run) - _GRAM + 1):
                    grams[rule.rule_id].add(column + run[at : at + _GRAM].decode("latin-1"))
    frequency = Counter(gram for found in grams.values() for gram in found)
    return {
        rule_id: min(found, key=lambda gram: (frequency[gram], gram))
        for rule_id, found in grams.items()
        if found
    }
