"""A replay's result for a digest, compared with the evaluation of the digest's query.

A digest holds less than a query. So a replay may leave a digest undecided; any other result has to
hold for every query with the digest.
"""

from __future__ import annotations

from random import Random

import pytest

from proxyctl.catalog import REFERENCE
from proxyctl.proxysql.configuration import BeforeAfter, ConfigTable, Configuration
from proxyctl.routing.digest import Digest, DigestOptions
from proxyctl.routing.query import ClientQuery
from proxyctl.routing.result import Route
from proxyctl.routing.router import Router, router_of
from proxyctl.stats.model import SeenDigest
from proxyctl.stats.replay.comparison import (
    Comparison,
    DifferenceKind,
    QueryTreatment,
    kinds_of,
    outcome_of,
)
from tests.support.build import layout, rows
from tests.support.routing.cases import random_case, rule
from tests.support.routing.set_forms import random_set
from tests.support.routing.shapes import (
    ADDRESSES,
    FAST,
    RULES,
    USERS,
    VARIABLES,
    Case,
    Cells,
    Client,
)

PORTS = (6033, 6034)
CASES = 60
QUERIES = 25


def configuration(case: Case) -> Configuration:
    tables = {
        name: ConfigTable(layout(name), rows(name, *cells))
        for name, cells in (
            (RULES, case.rules),
            (FAST, case.fast_routing),
            ("mysql_users", list(USERS)),
        )
    }
    return Configuration(REFERENCE, tables, VARIABLES | case.variables)


def changed(random: Random, case: Case) -> Case:
    """Return the case after an edit of its files."""
    rules: list[Cells] = []
    for cells in case.rules:
        what = random.random()
        if what < 0.1:
            continue
        if what < 0.25:
            cells = {**cells, "destination_hostgroup": random.randrange(12)}
        elif what < 0.3:
            cells = rule(random, int(str(cells["rule_id"])), [], PORTS, DigestOptions())
        rules.append(cells)
    if random.random() < 0.3:
        rules.append(rule(random, 1000, [], PORTS, DigestOptions()))
    variables = dict(case.variables)
    if random.random() < 0.15:
        variables["mysql-query_digests_lowercase"] = "true"
    fast = case.fast_routing[: random.randint(0, 8)]
    return Case(rules, case.queries, fast, variables)


def request(client: Client, query: bytes, flag: int) -> ClientQuery:
    place = client.interface
    return ClientQuery(
        query,
        client.username,
        client.schemaname or "",
        client.client_addr,
        ADDRESSES[place],
        PORTS[place],
        flag,
    )


def seen_of(router: Router, asked: ClientQuery, route: Route) -> SeenDigest | None:
    """Return the row of the statistics that counts the query."""
    made = route.final_digest
    if not isinstance(made, Digest) or not made.certain:
        return None
    return SeenDigest(
        hostgroup=-1 if route.destination_hostgroup is None else route.destination_hostgroup,
        schemaname=router.schema_of(asked),
        username=asked.username or "",
        client_address="",
        digest=made.hexadecimal,
        digest_text=made.text[:2048].decode("utf-8", "surrogateescape"),
        count_star=1,
        first_seen=0,
        last_seen=0,
        sum_time=1,
        min_time=1,
        max_time=1,
    )


def truth(
    before: Route, after: Route
) -> tuple[QueryTreatment, QueryTreatment, frozenset[DifferenceKind]]:
    outcomes = [outcome_of(route, (), route.special) for route in (before, after)]
    kinds = kinds_of(*outcomes)
    if not kinds & {DifferenceKind.BLOCKED} and not outcomes[0].answer:
        texts = [route.rewritten_query for route in (before, after)]
        kinds |= {DifferenceKind.REWRITTEN} if texts[0] != texts[1] else set()
    return outcomes[0], outcomes[1], kinds


@pytest.mark.parametrize("number", range(CASES))
def test_every_verdict_is_true(number: int) -> None:
    random = Random(f"replay:{number}")
    case = random_case(random, PORTS, queries=QUERIES)
    case.variables.pop("mysql-query_digests_max_digest_length", None)
    case.variables.pop("mysql-query_digests_keep_comment", None)
    check_verdicts(number, case, changed(random, case))


@pytest.mark.parametrize("number", range(CASES))
def test_every_verdict_on_a_set_is_true(number: int) -> None:
    random = Random(f"replay:{number}")
    case = random_case(random, PORTS, queries=QUERIES)
    sent = [query._replace(query=random_set(random).encode()) for query in case.queries]
    variables = {"mysql-set_query_lock_on_hostgroup": random.choice("01")}
    case = Case(case.rules, sent, case.fast_routing, variables)
    after = changed(random, case)
    after.variables.pop("mysql-query_digests_lowercase", None)
    check_verdicts(number, case, after)


def check_verdicts(number: int, case: Case, after: Case) -> None:
    """Compare the verdict on each digest with the routes of its query."""
    sides = BeforeAfter(configuration(case), configuration(after))
    routers = router_of(sides.before), router_of(sides.after)
    comparison = Comparison(sides, case.variables)
    for client, query in case.queries:
        asked = request(client, query, 0)
        explained = [router.explain(asked) for router in routers]
        if explained[0].hints or explained[1].hints:
            continue  # no digest shows them
        routes = [explanation.route for explanation in explained]
        seen = seen_of(routers[0], asked, routes[0])
        if seen is None or routes[0].rewritten_query is not None:
            continue  # counted as what it became
        verdict = comparison.verdict(seen)
        if verdict.before and all(way.answer and not way.answer[0] for way in verdict.before):
            continue  # such as COMMIT; one that ProxySQL does not know for a blank goes unnoticed
        _, _, kinds = truth(routes[0], routes[1])
        if verdict.is_unknown:
            continue
        assert kinds <= verdict.certain | verdict.possible, (number, query, verdict, routes)
        assert verdict.certain - {DifferenceKind.REWRITTEN} <= kinds, (
            number,
            query,
            verdict,
            routes,
        )
        if verdict.before and not verdict.notes and not routes[0].is_answered:
            ways = {way.hostgroup for way in verdict.before}
            assert routes[0].destination_hostgroup in ways, (number, query, routes[0])
