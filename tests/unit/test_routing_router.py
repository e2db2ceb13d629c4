"""The evaluator's interface, and its answers compared with ProxySQL's."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxyctl.catalog import REFERENCE
from proxyctl.catalog.releases import NEWEST_KNOWN
from proxyctl.routing.query import ClientQuery
from proxyctl.routing.result import FastRoutingUse, HostgroupOrigin, Reason
from proxyctl.routing.tables import Frontend, RoutingVariables, frontends
from proxyctl.rows.row import Secret
from tests.support.build import layout, row
from tests.support.routing.cases import random_case
from tests.support.routing.predicted import predict, router_of
from tests.support.routing.recorded import Recorded, read
from tests.support.routing.shapes import ADDRESSES, differences
from tests.unit.routed import DIGEST_OF, fast, reasons, router

# What is not known -------------------------------------------------------------------------------


def test_a_rule_does_not_match_what_the_request_leaves_open():
    rules = [
        {"username": "app"},
        {"client_addr": "10.0.0.1"},
        {"client_addr": "10.%"},
        {"client_addr": "%", "destination_hostgroup": 4},
        {"proxy_addr": "10.0.0.1"},
        {"proxy_port": 6033},
    ]
    explained = router(*rules).explain(ClientQuery(b"SELECT 1"))
    assert reasons(explained) == [
        Reason.USERNAME,
        Reason.CLIENT_ADDR,
        Reason.CLIENT_ADDR,
        None,
        Reason.PROXY_ADDR,
        Reason.PROXY_PORT,
    ]
    assert explained.route.rule_id == 4


def test_a_session_without_a_schema_has_the_users_or_the_default_one():
    of = router({"schemaname": "shop", "retries": 1}, {"schemaname": "main", "retries": 2})
    assert of.evaluate(ClientQuery(b"x", "web")).matched_rules == (1,)
    assert of.evaluate(ClientQuery(b"x", "app")).matched_rules == ()
    other = router({"schemaname": "main"}, variables=RoutingVariables(default_schema="main"))
    assert other.evaluate(ClientQuery(b"x")).matched_rules == (1,)


def test_a_digest_alone_leaves_rules_on_the_query_undecided():
    of = router(
        {"match_pattern": "id=1", "destination_hostgroup": 4},
        {"match_pattern": "x", "username": "web", "destination_hostgroup": 5},
        {"match_digest": "^SELECT", "destination_hostgroup": 6},
    )
    request = ClientQuery(None, "app", digest=DIGEST_OF(b"SELECT 1"))
    route = of.evaluate(request)
    assert (route.destination_hostgroup, route.undecided) == (6, (1,))
    assert route.rewritten_query is None
    assert of.explain(request).route == route
    assert reasons(of.explain(request)) == [Reason.UNKNOWN_QUERY, Reason.USERNAME, None]


def test_without_digests_a_digest_column_is_undecided():
    variables = RoutingVariables(query_digests=False)
    of = router({"digest": "0x1", "destination_hostgroup": 4}, variables=variables)
    route = of.evaluate(ClientQuery(b"SELECT 1"))
    assert (route.matched_rules, route.undecided, route.digest) == ((), (1,), None)


def test_a_digest_has_to_come_from_somewhere():
    with pytest.raises(ValueError, match="digest_of"):
        router({}, digest_of=None).evaluate(ClientQuery(b"SELECT 1"))
    given = ClientQuery(b"SELECT 1", digest=DIGEST_OF(b"SELECT 1"))
    assert router({}, digest_of=None).evaluate(given).matched_rules == (1,)


# Chance ------------------------------------------------------------------------------------------

WEIGHTED = (
    {"attributes": '{"flagOUTs":[{"id":1,"weight":1},{"id":2,"weight":3}]}'},
    {"flagIN": 1, "destination_hostgroup": 4, "apply": 1},
    {"flagIN": 2, "destination_hostgroup": 5, "flagOUT": 6},
)


def test_the_heaviest_way_is_the_default():
    route = router(*WEIGHTED).evaluate(ClientQuery(b"x"))
    assert (route.destination_hostgroup, route.drawn) == (5, (1,))
    other = router(*WEIGHTED).evaluate(ClientQuery(b"x"), lambda weights: weights.index(1))
    assert other.destination_hostgroup == 4


def test_outcomes_end_where_draws_go_on():
    again = {"attributes": '{"flagOUTs":[{"id":0,"weight":1},{"id":1,"weight":1}]}'}
    variables = RoutingVariables(query_processor_iterations=1_000_000)
    assert len(router(again, variables=variables).outcomes(ClientQuery(b"x"))) <= 1_000


# What ProxySQL does by itself --------------------------------------------------------------------


def test_a_prepared_statement_is_evaluated_again_without_rewriting():
    of = router(
        {"match_pattern": "abc", "replace_pattern": "xyz"},
        {"match_digest": "xyz", "destination_hostgroup": 4},
    )
    prepared = of.evaluate(ClientQuery(b"SELECT abc"))
    assert (prepared.rewritten_query, prepared.matched_rules) == (b"SELECT xyz", (1,))
    executed = of.evaluate(ClientQuery(prepared.rewritten_query, rewrites=False))
    assert (executed.rewritten_query, executed.matched_rules) == (None, (2,))


def test_a_query_stays_secret_after_a_replace_pattern_from_a_reference():
    by_reference = {"match_pattern": "a", "replace_pattern": Secret("b"), "apply": 0}
    plain = {"match_pattern": "x", "replace_pattern": "y", "apply": 0}

    def is_secret(*rules, query):
        return router(*rules).evaluate(ClientQuery(query)).is_text_secret

    assert is_secret(by_reference, plain, query=b"a x")
    assert not is_secret(by_reference, plain, query=b"x")
    same = {**by_reference, "replace_pattern": Secret("a")}
    assert not is_secret(same, plain, query=b"a x")


def test_users_come_from_rows():
    names = ("username", "default_hostgroup", "default_schema", "active", "frontend", "backend")
    values = [
        ("a", 1, None, 1, 1, 1),
        ("b", 2, "s", 1, 1, 0),
        ("b", 3, "t", 1, 0, 1),
        ("c", 4, None, 0, 1, 1),
    ]
    rows = [
        row("mysql_users", **dict(zip(names, user, strict=True)), fast_forward=int(user[0] == "a"))
        for user in values
    ]
    found = frontends(layout("mysql_users"), rows)
    assert found == {"a": Frontend(1, "", True), "b": Frontend(2, "s")}


@pytest.mark.parametrize(
    ("replacement", "old", "new"),
    [
        (r"<\1>", b"<a><b>", b"<a><b>"),
        (r"<\1\2>", b"<a<b", b"<a><b>"),
        (r"<\q>", b"<<", b"ab"),
        (r"<\3>", b"<<", b"ab"),
        (r"$1\\", rb"$1\$1" + b"\\", rb"$1\$1" + b"\\"),
    ],
)
def test_escapes_of_a_replacement_before_and_since_3_0_12(replacement, old, new):
    rule = {"match_pattern": "(a|b)(x)?", "replace_pattern": replacement, "re_modifiers": "GLOBAL"}
    for version, expected in ((REFERENCE, old), (NEWEST_KNOWN, new)):
        variables = RoutingVariables.from_values({}, version)
        route = router(rule, variables=variables).evaluate(ClientQuery(b"ab"))
        assert (route.rewritten_query or b"ab") == expected, version


# Both speeds -------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_evaluate_and_explain_agree(seed):
    random = Random(seed)
    version = random.choice((REFERENCE, NEWEST_KNOWN))
    case = random_case(random, [1, 2], queries=6, version=version)
    of = router_of(case, version)
    for client, query in case.queries:
        request = ClientQuery(
            query,
            client.username,
            client.schemaname,
            client.client_addr,
            ADDRESSES[client.interface],
            1 + client.interface,
            random.randrange(4),
        )
        route = of.evaluate(request)
        # A pattern that PCRE gives up may be ruled out by RE2 without being tried.
        assert replace(of.explain(request).route, undecided=route.undecided) == route


def test_among_many_rules_the_right_one_is_found():
    count = 5_000
    rules = [
        *[{"match_digest": f"FROM t{n} ", "destination_hostgroup": n} for n in range(count)],
        *[{"username": f"u{n}", "retries": n % 1000} for n in range(count)],
        *[
            {"digest": DIGEST_OF(b"SELECT c%d" % n).hexadecimal, "timeout": n}
            for n in range(100, count)
        ],
    ]
    of = router(*rules)
    route = of.evaluate(ClientQuery(b"SELECT 1 FROM t4321 x", "u77"))
    assert route.matched_rules == (4322, count + 78)
    assert of.evaluate(ClientQuery(b"SELECT c4000")).settings == {"timeout": 4000}


def test_the_first_criterion_that_fails_is_the_reason():
    texts = ("username", "schemaname", "client_addr", "proxy_addr")
    nothing_fits = {"flagIN": 1, **dict.fromkeys(texts, "x"), "proxy_port": 1, "digest": "0x1"}
    nothing_fits |= {"match_digest": "x", "match_pattern": "x"}
    for column in [*nothing_fits]:
        reason = Reason["FLAG_IN" if column == "flagIN" else column.upper()]
        assert reasons(router(nothing_fits).explain(ClientQuery(b"SELECT 1"))) == [reason]
        del nothing_fits[column]
    negated = [{"match_digest": "S"}, {"match_pattern": "S"}]
    explained = router(
        *[{**criterion, "negate_match_pattern": 1} for criterion in negated]
    ).explain(ClientQuery(b"SELECT 1"))
    assert reasons(explained) == [Reason.NOT_MATCH_DIGEST, Reason.NOT_MATCH_PATTERN]


def test_fast_routing_says_what_became_of_it():
    table = fast(("app", "information_schema", 0, 7))
    assert len(table) == 1
    found = router({}, fast_routing=table).explain(ClientQuery(b"x", "app"))
    assert (found.fast_routing, found.route.source) == (
        FastRoutingUse.FOUND,
        HostgroupOrigin.FAST_ROUTING,
    )
    assert found.fast_key == ("app", "information_schema", 0)
    other = router({}, fast_routing=table).explain(ClientQuery(b"x", "web"))
    assert (other.fast_routing, other.fast_key) == (FastRoutingUse.NO_ROW, None)
    shut = router({"match_digest": "never", "apply": 1}, fast_routing=table)
    assert shut.explain(ClientQuery(b"x", "app")).fast_routing is FastRoutingUse.SHUT_OFF


@pytest.mark.parametrize("recorded", read(), ids=lambda recorded: recorded.name)
def test_the_evaluator_says_what_proxysql_did(recorded: Recorded) -> None:
    assert differences(predict(recorded.case, recorded.ports), recorded.observed) == []
