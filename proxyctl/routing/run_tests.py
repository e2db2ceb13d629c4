"""Run routing tests: compare the routes of queries with the expected routes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from proxyctl.proxysql.cells import normal_digest
from proxyctl.routing.explain import ExplainedQuery, Explainer
from proxyctl.routing.routing_test import RoutingTest
from proxyctl.routing.rule import Rule
from proxyctl.routing.special import Reply


class Failure(NamedTuple):
    """One key of `expect` with another value than expected."""

    key: str
    expected: Any
    found: Any


@dataclass(frozen=True)
class TestResult:
    """The result of one test.

    If rules draw a flagOUT, every outcome must be as expected.
    """

    test: RoutingTest
    """The test."""
    answer: ExplainedQuery
    """The likeliest answer; in a failed test, the answer with the outcome of the `failures`."""
    matched_rules: frozenset[int]
    """The rules that match in any outcome."""
    failures: tuple[Failure, ...] = ()
    """The keys with another value than expected, of the first outcome that has any."""
    chance: float = 1.0
    """The probability of the outcome of the `failures`."""

    @property
    def passed(self) -> bool:
        """Whether everything is as expected."""
        return not self.failures


def run(tests: Iterable[RoutingTest], explainer: Explainer) -> Iterator[TestResult]:
    """Yield a result for each test, in order."""
    for test in tests:
        yield _run(test, explainer)


def _run(test: RoutingTest, explainer: Explainer) -> TestResult:
    answer = explainer.answer(test.request)
    outcomes = answer.outcomes
    matched = frozenset(rule for outcome in outcomes for rule in outcome.route.matched_rules)
    for outcome in outcomes:
        outcome_answer = replace(answer, route=outcome.route)
        found = _found(outcome_answer)
        failures = tuple(
            Failure(key, expected, found[key])
            for key, expected in test.expect.items()
            if not _is_fulfilled(key, expected, found[key])
        )
        if failures:
            return TestResult(test, outcome_answer, matched, failures, outcome.probability)
    return TestResult(test, answer, matched)


def _found(answer: ExplainedQuery) -> dict[str, Any]:
    """Return the found values, by the keys of `expect`; UNKNOWN is none that a test can expect."""
    route = answer.route
    return {
        "hostgroup": Reply.UNKNOWN if route.reply is Reply.UNKNOWN else answer.hostgroup,
        "rule_id": route.matched_rules[-1] if route.matched_rules else None,
        "matched_rules": list(route.matched_rules),
        "rewritten": answer.rewritten_query,
        "digest": answer.digest,
        "digest_text": answer.digest_text,
        "cache_ttl": answer.cache_ttl,
        "error_msg": route.settings.get("error_msg"),
        "OK_msg": route.settings.get("OK_msg"),
    }


def _is_fulfilled(key: str, expected: Any, found: Any) -> bool:  # noqa: ANN401 - as the file has it
    if key == "digest" and expected is not None and found is not None:
        return normal_digest(expected) == normal_digest(found)
    if key == "matched_rules":
        return bool((expected or []) == found)
    return bool(expected == found)


def unreached(results: Iterable[TestResult], explainer: Explainer) -> list[Rule]:
    """Return the active rules that no test matched, in their order."""
    reached = {rule for result in results for rule in result.matched_rules}
    return [rule for rule in explainer.router.rules if rule.rule_id not in reached]
