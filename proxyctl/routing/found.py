"""Which patterns of match_digest match a text: each tested once, however many rules share it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from proxyctl.regex import Compiled, Engine
from proxyctl.routing.patterns import Broken
from proxyctl.routing.router import Router

if TYPE_CHECKING:
    from proxyctl.regex.pattern_set import PatternSet


class DigestPatterns:
    """The patterns of match_digest of one or more routers."""

    def __init__(self, routers: Iterable[Router]) -> None:
        by_engine: dict[Engine, dict[Compiled, None]] = {}
        for router in routers:
            patterns = by_engine.setdefault(router.variables.engine, {})
            for rule in router.rules:
                if rule.match_digest is not None and not isinstance(rule.match_digest, Broken):
                    patterns[rule.match_digest] = None
        self._searches = [
            _Search(list(patterns), engine) for engine, patterns in by_engine.items() if patterns
        ]

    @property
    def patterns(self) -> frozenset[Compiled]:
        """All of them."""
        return frozenset(pattern for search in self._searches for pattern in search.patterns)

    def found_in(self, text: bytes) -> frozenset[Compiled]:
        """Return those that match the text."""
        found: list[Compiled] = []
        for search in self._searches:
            found += search.found_in(text)
        return frozenset(found) if found else _NONE


_NONE: frozenset[Compiled] = frozenset()


class _Search:
    def __init__(self, patterns: list[Compiled], engine: Engine) -> None:
        # Only here, since it brings RE2 along, and most commands need no patterns.
        from proxyctl.regex.pattern_set import PatternSet

        self.patterns = patterns
        self._set: PatternSet = PatternSet(patterns, latin1=engine is Engine.PCRE)
        self._unfiltered = [patterns[place] for place in self._set.unfiltered]

    def found_in(self, text: bytes) -> list[Compiled]:
        """Return the patterns that match. RE2 rules most of them out, and is sure of many."""
        exact_below = self._set.exact_below
        size = len(text) if b"\n" not in text else None
        found = [pattern for pattern in self._unfiltered if pattern.matches(text)]
        for place in self._set.may_match(text):
            pattern = self.patterns[place]
            if (size is not None and size < exact_below[place]) or pattern.matches(text):
                found.append(pattern)
        return found
