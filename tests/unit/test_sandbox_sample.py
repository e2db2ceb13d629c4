"""The sample shop of the sandbox: statistics, rules and servers agree with each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.instance.read import read_configuration
from proxyctl.routing.query import ClientQuery
from proxyctl.routing.result import Route
from proxyctl.routing.router import ROUTING_TABLES, Router, router_of
from proxyctl.rows.row import Layer
from proxyctl.sandbox import Sandbox
from proxyctl.sandbox.sample_shop import CACHE, TRAFFIC, Traffic

DIGESTS = "stats_mysql_query_digest"


class Clock:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def shop(clock: Clock) -> Iterator[Sandbox]:
    with Sandbox(clock=clock) as sandbox:
        sandbox.fill_with_sample()
        yield sandbox


@pytest.fixture
def router(shop: Sandbox) -> Router:
    client = AdminClient(Login(port=shop.port, password="admin"))
    try:
        return router_of(read_configuration(client, Layer.RUNTIME, ROUTING_TABLES))
    finally:
        client.close()


def route(router: Router, one: Traffic) -> Route:
    return router.evaluate(
        ClientQuery(one.query.encode(), username=one.username, schemaname=one.schemaname)
    )


@pytest.mark.parametrize("elapsed_s", [0, 1, 86_400])
def test_hits_of_rules_are_those_that_the_evaluator_finds(
    shop: Sandbox, clock: Clock, router: Router, elapsed_s: int
) -> None:
    clock.now += elapsed_s
    calls = Counter(dict(shop.query(f"SELECT digest, sum(count_star) FROM {DIGESTS} GROUP BY 1")))
    expected: Counter[int] = Counter()
    for digest, traffic in {_digest(router, traffic): traffic for traffic in TRAFFIC}.items():
        for rule_id in route(router, traffic).matched_rules:
            expected[rule_id] += calls[digest]
    hits = dict(shop.query("SELECT rule_id, hits FROM stats_mysql_query_rules"))
    assert hits == {rule_id: expected[rule_id] for rule_id in hits}
    assert expected.keys() <= hits.keys()


def _digest(router: Router, traffic: Traffic) -> str:
    digest = route(router, traffic).digest
    assert digest is not None
    return digest.hexadecimal


@pytest.mark.parametrize(
    "traffic", TRAFFIC, ids=lambda traffic: f"{traffic.hostgroup}: {traffic.query[:30]}"
)
def test_queries_went_where_the_rules_send_them(router: Router, traffic: Traffic) -> None:
    found = route(router, traffic)
    if traffic.hostgroup == CACHE:
        assert found.settings["cache_ttl"]
    elif traffic.query not in ("COMMIT", "ROLLBACK"):  # they go where their transaction began
        assert found.destination_hostgroup == traffic.hostgroup


@pytest.mark.parametrize("elapsed_s", [0, 7, 86_400])
def test_servers_and_counters_add_up_to_the_digests(
    shop: Sandbox, clock: Clock, elapsed_s: int
) -> None:
    clock.now += elapsed_s
    pool = "SELECT hostgroup, sum(Queries) FROM stats_mysql_connection_pool GROUP BY 1"
    digests = f"SELECT hostgroup, sum(count_star) FROM {DIGESTS} WHERE hostgroup >= 0 GROUP BY 1"
    assert shop.query(pool) == shop.query(digests)
    assert counter(shop, "Questions") == shop.query(f"SELECT sum(count_star) FROM {DIGESTS}")[0][0]


def counter(sandbox: Sandbox, name: str) -> int:
    [(value,)] = sandbox.query(
        f"SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name='{name}'"
    )
    return int(str(value))


@pytest.mark.parametrize("version", ["2.4.0", "2.4.8", "3.0.0"])
def test_every_version_has_it(version: str) -> None:
    sandbox = Sandbox(version)
    sandbox.fill_with_sample()
    assert sandbox.query(f"SELECT count(*) FROM {DIGESTS}") == [(len(TRAFFIC),)]
    assert sandbox.query("SELECT count(*) FROM stats_mysql_connection_pool") == [(4,)]
    sandbox.close()
