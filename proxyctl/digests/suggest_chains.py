"""The rules that ProxySQL looks at for the bulk of the load, one query after the other.

The evaluator walks the rules for each digest. What a digest does not tell, such as match_pattern,
counts as no match: the rule was looked at, and the query went on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from proxyctl.digests.suggest_context import Context
from proxyctl.replay.outcome import is_own
from proxyctl.replay.report import CACHE
from proxyctl.replay.seen import SeenDigest
from proxyctl.replay.texts import TextDigest
from proxyctl.routing import Explanation, Reason, Request, Router
from proxyctl.routing.rule import Rule

_OF_PATTERNS = frozenset(
    {Reason.MATCH_DIGEST, Reason.NOT_MATCH_DIGEST, Reason.MATCH_PATTERN, Reason.NOT_MATCH_PATTERN}
) | {Reason.UNKNOWN_QUERY}


class Asked(NamedTuple):
    """A query as the rules see it, and how often it came."""

    request: Request
    calls: int


@dataclass(frozen=True)
class Bulk:
    """The queries that make the load. Shape: `calls` is what they add up to, `total` all calls."""

    asked: tuple[Asked, ...]
    calls: int
    total: int


@dataclass
class Chain:
    """What the rules of one router had to do. Units: calls, by rule_id where it is a Counter.

    `looked_at`: rules that were tried, times the calls; `patterns`: how many of them had their
    regular expression tried as well.
    """

    looked_at: int = 0
    patterns: int = 0
    ends: Counter[int] = field(default_factory=Counter)
    matches: Counter[int] = field(default_factory=Counter)
    reasons: dict[int, Counter[Reason]] = field(default_factory=dict)

    def add(self, found: Explanation, calls: int, patterned: frozenset[int]) -> None:
        """Count a query. Changes: self."""
        for step in found.steps:
            if step.reason is not None:
                self.reasons.setdefault(step.rule_id, Counter())[step.reason] += calls
                if step.reason is Reason.NOT_REACHED:
                    continue
            else:
                self.matches[step.rule_id] += calls
                if step.applied:
                    self.ends[step.rule_id] += calls
            self.looked_at += calls
            if step.reason in _OF_PATTERNS or (step.reason is None and step.rule_id in patterned):
                self.patterns += calls


def bulk_of(context: Context, rules: int) -> Bulk:
    """Return the queries that came most, as many as the threshold lets be walked by `rules` rules.

    Those whose digest does not tell what the rules saw are left out.
    """
    counts: Counter[tuple[str, str, str, str, str]] = Counter()
    for seen in context.load.close:
        if seen.hostgroup != CACHE:
            counts[_identity(seen)] += seen.count_star
    most = max(1, context.thresholds.order_steps // max(1, rules))
    asked: list[Asked] = []
    for one, calls in counts.most_common():
        if len(asked) == most:
            break
        if not _is_untold(context, *one):
            asked.append(Asked(_request(*one), calls))
    total = sum(query.calls for query in context.load.queries.values())
    return Bulk(tuple(asked), sum(one.calls for one in asked), total)


def _identity(seen: SeenDigest) -> tuple[str, str, str, str, str]:
    return seen.digest, seen.digest_text, seen.username, seen.schemaname, seen.client_address


def _is_untold(
    context: Context, digest: str, text: str, username: str, schemaname: str, client: str
) -> bool:
    """Return whether a digest does not tell what the rules saw, or ProxySQL asks no rules."""
    seen = SeenDigest(0, schemaname, username, client, digest, text, 0, 0, 0, 0, 0, 0)
    return context.is_vague(seen) or is_own(context.now.facts(seen).special)


def _request(digest: str, text: str, username: str, schemaname: str, client: str) -> Request:
    return Request(
        None,
        username=username,
        schemaname=schemaname,
        client_addr=client or None,
        digest=TextDigest(text.encode("utf-8", "surrogateescape"), int(digest, 16), None),
    )


def chain_of(router: Router, asked: Iterable[Asked]) -> Chain:
    """Return what the rules of a router have to do for these queries."""
    chain = Chain()
    patterned = frozenset(rule.rule_id for rule in _with_patterns(router.rules))
    for one in asked:
        chain.add(router.explain(one.request), one.calls, patterned)
    return chain


def _with_patterns(rules: Iterable[Rule]) -> Iterator[Rule]:
    yield from (r for r in rules if r.match_digest is not None or r.match_pattern is not None)
