"""Routing tests: what has to become of a query, and whether it does. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from proxyctl.routing import Request
from proxyctl.routing.explain import Answer, Explainer
from proxyctl.routing.rule import Rule
from proxyctl.state.cells import normal_digest
from proxyctl.state.row import Where


@dataclass(frozen=True)
class RoutingTest:
    """One query of one session, and what has to become of it.

    Shape: `expect` holds only the keys that the file names, hostgroups as numbers; None there means
    that the test expects nothing (`rewritten: null`: the query is not rewritten).
    """

    query: str
    request: Request
    expect: Mapping[str, Any]
    where: Where
    name: str | None = None

    @property
    def title(self) -> str:
        """Its name, else its query."""
        return self.name or self.query


class Failure(NamedTuple):
    """One key of `expect` that is not met."""

    key: str
    expected: Any
    found: Any


@dataclass(frozen=True)
class Result:
    """What came of one test.

    Shape: `answer` is the likeliest one. Where rules draw, every way has to meet the expectation;
    then `answer` has the way that `failures` tell of, and `chance` is its probability.
    """

    test: RoutingTest
    answer: Answer
    matched_rules: frozenset[int]
    failures: tuple[Failure, ...] = ()
    chance: float = 1.0

    @property
    def passed(self) -> bool:
        """Whether everything is as expected."""
        return not self.failures


def run(tests: Iterable[RoutingTest], explainer: Explainer) -> Iterator[Result]:
    """Yield a result for each test, in order."""
    for test in tests:
        yield _run(test, explainer)


def _run(test: RoutingTest, explainer: Explainer) -> Result:
    answer = explainer.answer(test.request)
    matched = frozenset(rule for way in answer.outcomes for rule in way.route.matched_rules)
    for way in answer.outcomes:
        taken = replace(answer, route=way.route)
        found = found_by(taken)
        failures = tuple(
            Failure(key, expected, found[key])
            for key, expected in test.expect.items()
            if not _is_fulfilled(key, expected, found[key])
        )
        if failures:
            return Result(test, taken, matched, failures, way.probability)
    return Result(test, answer, matched)


def found_by(answer: Answer) -> dict[str, Any]:
    """Return what became of a query, by the keys of `expect`."""
    route = answer.route
    return {
        "hostgroup": route.destination_hostgroup,
        "rule_id": route.matched_rules[-1] if route.matched_rules else None,
        "matched_rules": list(route.matched_rules),
        "rewritten": answer.rewritten_query,
        "digest": answer.digest,
        "digest_text": answer.digest_text,
        "cache_ttl": route.settings.get("cache_ttl"),
        "error_msg": route.settings.get("error_msg"),
        "OK_msg": route.settings.get("OK_msg"),
    }


def _is_fulfilled(key: str, expected: Any, found: Any) -> bool:  # noqa: ANN401 - as the file has it
    if key == "digest" and expected is not None and found is not None:
        return normal_digest(expected) == normal_digest(found)
    if key == "matched_rules":
        return bool((expected or []) == found)
    return bool(expected == found)


def unreached(results: Iterable[Result], explainer: Explainer) -> list[Rule]:
    """Return the rules at work that no test matched, in their order."""
    reached = {rule for result in results for rule in result.matched_rules}
    return [rule for rule in explainer.router.rules if rule.rule_id not in reached]
