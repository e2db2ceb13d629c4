"""Routing tests: what has to become of a query, and whether it does. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from proxyctl.routing import Outcome, Request, Route
from proxyctl.routing.explain import Explainer
from proxyctl.routing.rule import Rule
from proxyctl.state.cells import normal_digest
from proxyctl.state.row import Where


@dataclass(frozen=True)
class RoutingTest:
    """One query of one session, and what has to become of it.

    Shape: `expect` holds only the keys that the file names, hostgroups as numbers; None there means
    that nothing is expected (`rewritten: null`: the query is not rewritten).
    """

    query: str
    expect: Mapping[str, Any]
    where: Where
    name: str | None = None
    username: str | None = None
    schemaname: str | None = None
    client_addr: str | None = None
    proxy_addr: str | None = None
    proxy_port: int | None = None
    flagIN: int = 0  # noqa: N815 - the column's own name

    @property
    def title(self) -> str:
        """Its name, else its query."""
        return self.name or self.query

    def request(self) -> Request:
        """Return the query as it arrives."""
        return Request(
            self.query.encode("utf-8", "surrogateescape"),
            username=self.username,
            schemaname=self.schemaname,
            client_addr=self.client_addr,
            proxy_addr=self.proxy_addr,
            proxy_port=self.proxy_port,
            flagIN=self.flagIN,
        )


class Failure(NamedTuple):
    """One key of `expect` that is not met."""

    key: str
    expected: Any
    found: Any


@dataclass(frozen=True)
class Result:
    """What came of one test.

    Shape: `route` is the likeliest one. Where rules draw, every way has to meet the expectation;
    `chance` is the probability of the way that `failures` tell of, 1.0 where nothing is drawn.
    """

    test: RoutingTest
    route: Route
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
    router, request = explainer.router, test.request()
    route = router.evaluate(request)
    ways = router.outcomes(request) if route.drawn else [Outcome(route, 1.0)]
    matched = frozenset(rule for way in ways for rule in way.route.matched_rules)
    for way in ways:
        found = found_by(way.route, explainer.max_digest_length)
        failures = tuple(
            Failure(key, expected, found[key])
            for key, expected in test.expect.items()
            if not _is_met(key, expected, found[key])
        )
        if failures:
            return Result(test, way.route, matched, failures, way.probability)
    return Result(test, route, matched)


def found_by(route: Route, max_digest_length: int) -> dict[str, Any]:
    """Return what became of a query, by the keys of `expect`."""
    final = route.final_digest
    settings = route.settings
    return {
        "hostgroup": route.destination_hostgroup,
        "rule_id": route.matched_rules[-1] if route.matched_rules else None,
        "matched_rules": list(route.matched_rules),
        "rewritten": _text(route.rewritten_query),
        "digest": None if final is None else f"0x{final.number:016X}",
        "digest_text": None if final is None else _text(final.text[:max_digest_length]),
        "cache_ttl": settings.get("cache_ttl"),
        "error_msg": settings.get("error_msg"),
        "OK_msg": settings.get("OK_msg"),
    }


def _is_met(key: str, expected: Any, found: Any) -> bool:  # noqa: ANN401 - as the file has it
    if key == "digest" and expected is not None and found is not None:
        return normal_digest(expected) == normal_digest(found)
    if key == "matched_rules":
        return bool((expected or []) == found)
    return bool(expected == found)


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode("utf-8", "surrogateescape")


def unreached(results: Iterable[Result], explainer: Explainer) -> list[Rule]:
    """Return the rules at work that no test matched, in their order."""
    reached = {rule for result in results for rule in result.matched_rules}
    return [rule for rule in explainer.router.rules if rule.rule_id not in reached]
