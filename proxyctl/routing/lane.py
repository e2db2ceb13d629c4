"""The rules of one flagIN, arranged so that few of them have to be tried.

A rule is found through its most telling criterion: its digest number, or its pattern in a set that
RE2 tests at once, or its session. What is found is then tried as ProxySQL would; a rule that is not
found cannot match.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from proxyctl.routing.regex import Broken, Compiled, Engine
from proxyctl.routing.rule import Rule

if TYPE_CHECKING:
    from proxyctl.routing.regex.prefilter import Prefilter
    from proxyctl.routing.walk import Walk

_BY_POSITION = attrgetter("position")

Caller = tuple[str | None, str | None]
"""username and schemaname that a rule asks for."""


class Lane:
    """Rules with the same flagIN, in their order."""

    def __init__(self, rules: Sequence[Rule], engine: Engine, *, with_digests: bool) -> None:
        self._by_digest: dict[int, list[Rule]] = {}
        self._by_caller: dict[Caller, list[Rule]] = {}
        by_digest_text: dict[Compiled, list[Rule]] = {}
        by_query: dict[Compiled, list[Rule]] = {}
        for rule in rules:
            patterns = [(rule.match_digest, by_digest_text)] if with_digests else []
            asked = [(p, by) for p, by in (*patterns, (rule.match_pattern, by_query)) if p]
            if with_digests and rule.digest is not None:
                self._by_digest.setdefault(rule.digest, []).append(rule)
            elif asked and not rule.negated:
                pattern, by_pattern = asked[0]
                by_pattern.setdefault(pattern, []).append(rule)
            else:
                self._always(rule)
        self._digest_texts = _Finder(by_digest_text, engine, self)
        self._queries = _Finder(by_query, engine, self)
        self._asks_everybody = set(self._by_caller) <= {(None, None)}

    def _always(self, rule: Rule) -> None:
        self._by_caller.setdefault((rule.username, rule.schemaname), []).append(rule)

    def add_unfound(self, rules: Iterable[Rule]) -> None:
        """Take rules whose pattern RE2 cannot look for."""
        for rule in rules:
            self._always(rule)

    def candidates(self, walk: Walk) -> list[Rule]:
        """Return the rules behind the walk's position that may match, in order."""
        found: list[Rule] = []
        for caller in self._callers(walk):
            found += self._by_caller.get(caller, ())
        if walk.digest is not None:
            found += self._by_digest.get(walk.digest.number, ())
            self._digest_texts.find(walk.digest.text, found)
        self._queries.find(walk.text, found)
        after = walk.position
        if after >= 0:
            found = [rule for rule in found if rule.position > after]
        if len(found) > 1:
            found.sort(key=_BY_POSITION)
        return found

    def _callers(self, walk: Walk) -> Iterable[Caller]:
        if self._asks_everybody:
            return ((None, None),)
        username, schemaname = walk.request.username, walk.schemaname
        return {(None, None), (username, None), (None, schemaname), (username, schemaname)}


class _Finder:
    """Rules by the pattern they ask for."""

    def __init__(self, by_pattern: dict[Compiled, list[Rule]], engine: Engine, lane: Lane) -> None:
        patterns = [pattern for pattern in by_pattern if not isinstance(pattern, Broken)]
        self._rules = [by_pattern[pattern] for pattern in patterns]
        self._prefilter: Prefilter | None = None
        if not patterns:
            return
        # Only here, since it brings RE2 along, and most commands need no patterns.
        from proxyctl.routing.regex.prefilter import Prefilter

        self._prefilter = Prefilter(patterns, latin1=engine is not Engine.RE2)
        for place in self._prefilter.unfiltered:
            lane.add_unfound(self._rules[place])

    def find(self, subject: bytes | None, found: list[Rule]) -> None:
        """Add the rules whose pattern may match. Changes: found."""
        if self._prefilter is None:
            return
        if subject is None:
            for rules in self._rules:
                found += rules
            return
        for place in self._prefilter.may_match(subject):
            found += self._rules[place]
