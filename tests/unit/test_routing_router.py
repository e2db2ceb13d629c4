"""The evaluator as its callers meet it; what it answers is held against ProxySQL elsewhere."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxyctl.digest import Digester
from proxyctl.regex import Engine, Verdict
from proxyctl.routing import (
    FastRouting,
    FastRoutingUse,
    Frontend,
    Reason,
    Request,
    Router,
    RoutingVariables,
    Source,
    Stage,
    Trouble,
    frontends,
)
from tests.build import layout, row
from tests.routing_cases import random_case
from tests.routing_predicted import router_of
from tests.routing_shapes import ADDRESSES

RULES = "mysql_query_rules"
FAST = "mysql_query_rules_fast_routing"
USERS = {"app": Frontend(1), "web": Frontend(2, "shop"), "dump": Frontend(3, fast_forward=True)}
DIGEST_OF = Digester().digest


def router(*rules, **given):
    numbered = [{"rule_id": number, **cells} for number, cells in enumerate(rules, 1)]
    given = {"digest_of": DIGEST_OF, "users": USERS, **given}
    return Router(layout(RULES), [row(RULES, **cells) for cells in numbered], **given)


def fast(*rows):
    names = ("username", "schemaname", "flagIN", "destination_hostgroup")
    return FastRouting(
        layout(FAST), [row(FAST, **dict(zip(names, one, strict=True))) for one in rows]
    )


def reasons(explanation):
    return [step.reason for step in explanation.steps]


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
    explained = router(*rules).explain(Request(b"SELECT 1"))
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
    assert of.evaluate(Request(b"x", "web")).matched_rules == (1,)
    assert of.evaluate(Request(b"x", "app")).matched_rules == ()
    other = router({"schemaname": "main"}, variables=RoutingVariables(default_schema="main"))
    assert other.evaluate(Request(b"x")).matched_rules == (1,)


def test_an_unknown_user_has_no_default_hostgroup():
    route = router().evaluate(Request(b"SELECT 1", "nobody"))
    assert (route.destination_hostgroup, route.source) == (None, Source.NOTHING)


def test_a_digest_alone_leaves_rules_on_the_query_undecided():
    of = router(
        {"match_pattern": "id=1", "destination_hostgroup": 4},
        {"match_pattern": "x", "username": "web", "destination_hostgroup": 5},
        {"match_digest": "^SELECT", "destination_hostgroup": 6},
    )
    request = Request(None, "app", digest=DIGEST_OF(b"SELECT 1"))
    route = of.evaluate(request)
    assert (route.destination_hostgroup, route.undecided) == (6, (1,))
    assert route.rewritten_query is None
    assert of.explain(request).route == route
    assert reasons(of.explain(request)) == [Reason.UNKNOWN_QUERY, Reason.USERNAME, None]


def test_without_digests_a_digest_column_is_undecided():
    variables = RoutingVariables(query_digests=False)
    of = router({"digest": "0x1", "destination_hostgroup": 4}, variables=variables)
    route = of.evaluate(Request(b"SELECT 1"))
    assert (route.matched_rules, route.undecided, route.digest) == ((), (1,), None)


def test_a_digest_has_to_come_from_somewhere():
    with pytest.raises(ValueError, match="digest_of"):
        router({}, digest_of=None).evaluate(Request(b"SELECT 1"))
    given = Request(b"SELECT 1", digest=DIGEST_OF(b"SELECT 1"))
    assert router({}, digest_of=None).evaluate(given).matched_rules == (1,)


# Explaining --------------------------------------------------------------------------------------


def test_a_step_says_what_the_rule_did():
    explained = router(
        {"match_digest": "^INSERT"},
        {"match_pattern": "a(.)", "replace_pattern": r"\1", "flagOUT": 3, "cache_ttl": 9},
        {"flagIN": 3, "destination_hostgroup": 4, "apply": 1},
        {},
    ).explain(Request(b"SELECT ab"))
    missed, rewrote, applied, behind = explained.steps
    assert missed.reason is Reason.MATCH_DIGEST
    assert (rewrote.reason, rewrote.flag, rewrote.flag_after) == (None, 0, 3)
    assert (rewrote.rewritten, dict(rewrote.sets)) == (b"SELECT b", {"cache_ttl": 9})
    assert (applied.applied, dict(applied.sets)) == (True, {"destination_hostgroup": 4})
    assert behind.reason is Reason.NOT_REACHED
    assert explained.fast_routing is FastRoutingUse.APPLIED


def test_the_first_criterion_that_fails_is_the_reason():
    nothing_fits = {
        "flagIN": 1,
        "username": "x",
        "schemaname": "x",
        "client_addr": "x",
        "proxy_addr": "x",
        "proxy_port": 1,
        "digest": "0x1",
        "match_digest": "x",
        "match_pattern": "x",
    }
    expected = {
        "flagIN": Reason.FLAG_IN,
        "username": Reason.USERNAME,
        "schemaname": Reason.SCHEMANAME,
        "client_addr": Reason.CLIENT_ADDR,
        "proxy_addr": Reason.PROXY_ADDR,
        "proxy_port": Reason.PROXY_PORT,
        "digest": Reason.DIGEST,
        "match_digest": Reason.MATCH_DIGEST,
        "match_pattern": Reason.MATCH_PATTERN,
    }
    for column, reason in expected.items():
        assert reasons(router(nothing_fits).explain(Request(b"SELECT 1"))) == [reason]
        del nothing_fits[column]
    negated = [{"match_digest": "S"}, {"match_pattern": "S"}]
    explained = router(*[{**one, "negate_match_pattern": 1} for one in negated]).explain(
        Request(b"SELECT 1")
    )
    assert reasons(explained) == [Reason.NOT_MATCH_DIGEST, Reason.NOT_MATCH_PATTERN]


def test_a_pattern_that_does_not_compile_is_named():
    (step,) = router({"match_digest": "a("}).explain(Request(b"a")).steps
    assert "missing closing parenthesis" in step.broken["match_digest"]


def test_fast_routing_says_what_became_of_it():
    table = fast(("app", "information_schema", 0, 7))
    assert len(table) == 1
    found = router({}, fast_routing=table).explain(Request(b"x", "app"))
    assert (found.fast_routing, found.route.source) == (FastRoutingUse.FOUND, Source.FAST_ROUTING)
    assert found.fast_key == ("app", "information_schema", 0)
    other = router({}, fast_routing=table).explain(Request(b"x", "web"))
    assert (other.fast_routing, other.fast_key) == (FastRoutingUse.NO_ROW, None)
    shut = router({"match_digest": "never", "apply": 1}, fast_routing=table)
    assert shut.explain(Request(b"x", "app")).fast_routing is FastRoutingUse.SHUT_OFF


def test_rules_may_come_in_any_order_and_from_any_layer():
    of = router(
        {"rule_id": 9, "match_digest": "x", "re_modifiers": " CASELESS", "retries": 1},
        {"rule_id": 3, "digest": "no number", "retries": -4},
        {"rule_id": 2, "active": 0},
        {"rule_id": 1, "client_addr": "%1"},
    )
    assert [rule.rule_id for rule in of.rules] == [3, 9]
    assert of.evaluate(Request(b"X")).matched_rules == (3,)
    assert of.evaluate(Request(b"x")).settings == {"retries": 1}


# Chance and loops --------------------------------------------------------------------------------

WEIGHTED = (
    {"attributes": '{"flagOUTs":[{"id":1,"weight":1},{"id":2,"weight":3}]}'},
    {"flagIN": 1, "destination_hostgroup": 4, "apply": 1},
    {"flagIN": 2, "destination_hostgroup": 5, "flagOUT": 6},
)


def test_the_heaviest_way_is_taken_unless_told_otherwise():
    route = router(*WEIGHTED).evaluate(Request(b"x"))
    assert (route.destination_hostgroup, route.drawn) == (5, (1,))
    other = router(*WEIGHTED).evaluate(Request(b"x"), lambda weights: weights.index(1))
    assert other.destination_hostgroup == 4


def test_every_outcome_has_its_probability():
    found = router(*WEIGHTED).outcomes(Request(b"x"))
    shares = {one.route.destination_hostgroup: one.probability for one in found}
    assert shares == {4: 0.25, 5: 0.75}
    assert len(router({}).outcomes(Request(b"x"))) == 1


def test_outcomes_end_where_draws_go_on():
    again = {"attributes": '{"flagOUTs":[{"id":0,"weight":1},{"id":1,"weight":1}]}'}
    variables = RoutingVariables(query_processor_iterations=1_000_000)
    assert len(router(again, variables=variables).outcomes(Request(b"x"))) <= 1_000


def test_a_loop_is_named_and_not_followed_to_its_end():
    variables = RoutingVariables(query_processor_iterations=1_000_000)
    route = router(
        {"flagOUT": 1}, {"flagIN": 1, "flagOUT": 0}, {"flagIN": 1}, variables=variables
    ).evaluate(Request(b"x"))
    assert route.loop is not None
    assert route.loop.rule_ids == (1, 2)
    assert len(route.matched_rules) + 2 * route.loop.turns == 1_000_002
    assert route.troubles == ()


def test_a_query_that_goes_on_growing_is_trouble():
    variables = RoutingVariables(query_processor_iterations=1_000_000)
    grows = {"match_pattern": "^", "replace_pattern": "a", "flagOUT": 0}
    route = router(grows, variables=variables).evaluate(Request(b"x"))
    assert route.troubles == (Trouble(1, "flagOUT", Verdict.ENDLESS),)
    doubles = {"match_pattern": "a", "replace_pattern": "aa", "re_modifiers": "GLOBAL"}
    text = b"ba" + b"b" * 1_100_000
    route = router(*[doubles] * 16).evaluate(Request(text * 2))
    assert [trouble.rule_id for trouble in route.troubles] == list(range(1, 17))
    single = {"match_pattern": "^(.*)$", "replace_pattern": r"\1\1"}
    route = router(*[single] * 9).evaluate(Request(b"a" * 1_000_000))
    assert [trouble.column for trouble in route.troubles] == ["replace_pattern"] * 2
    assert len(route.rewritten_query or b"") == 128 * 1_000_000


# What ProxySQL does by itself --------------------------------------------------------------------


def test_a_fast_forward_user_never_meets_rules():
    route = router({"destination_hostgroup": 4}).evaluate(Request(b"COMMIT", "dump"))
    assert (route.destination_hostgroup, route.matched_rules) == (3, ())
    assert not route.is_answered


def test_rules_are_not_asked_about_a_statement_of_its_own():
    of = router({"destination_hostgroup": 4})
    explained = of.explain(Request(b"commit", "app"))
    assert explained.fast_routing is FastRoutingUse.NOT_ASKED
    assert explained.route == of.evaluate(Request(b"commit", "app"))
    assert explained.route.is_answered
    assert explained.route.special is not None
    assert explained.route.special.stage is Stage.BEFORE_RULES


def test_the_next_flag_is_lost_behind_an_answer():
    of = router({"next_query_flagIN": 2}, {"match_digest": "stop", "OK_msg": ""})
    assert of.evaluate(Request(b"x")).next_flag == 2
    assert of.evaluate(Request(b"stop")).is_answered
    assert of.evaluate(Request(b"stop")).next_flag is None
    assert router({}).evaluate(Request(b"x")).next_flag is None


def test_a_prepared_statement_is_evaluated_again_without_rewriting():
    of = router(
        {"match_pattern": "abc", "replace_pattern": "xyz"},
        {"match_digest": "xyz", "destination_hostgroup": 4},
    )
    prepared = of.evaluate(Request(b"SELECT abc"))
    assert (prepared.rewritten_query, prepared.matched_rules) == (b"SELECT xyz", (1,))
    executed = of.evaluate(Request(prepared.rewritten_query, rewrites=False))
    assert (executed.rewritten_query, executed.matched_rules) == (None, (2,))


def test_the_digest_of_the_statistics_is_that_of_the_rewritten_query():
    of = router({"match_pattern": "abc", "replace_pattern": "xyz"})
    route = of.evaluate(Request(b"SELECT abc"))
    assert (route.digest, route.final_digest) == (
        DIGEST_OF(b"SELECT abc"),
        DIGEST_OF(b"SELECT xyz"),
    )
    kept = router({"match_pattern": "abc", "replace_pattern": "abc"}).evaluate(Request(b"abc"))
    assert kept.rewritten_query is None


def test_users_come_from_rows():
    names = ("username", "default_hostgroup", "default_schema", "active", "frontend", "backend")
    values = [
        ("a", 1, None, 1, 1, 1),
        ("b", 2, "s", 1, 1, 0),
        ("b", 3, "t", 1, 0, 1),
        ("c", 4, None, 0, 1, 1),
    ]
    rows = [
        row("mysql_users", **dict(zip(names, one, strict=True)), fast_forward=int(one[0] == "a"))
        for one in values
    ]
    found = frontends(layout("mysql_users"), rows)
    assert found == {"a": Frontend(1, "", True), "b": Frontend(2, "s")}


def test_variables_come_from_values():
    assert RoutingVariables.from_values({}) == RoutingVariables()
    values = {
        "mysql-query_processor_regex": "2",
        "mysql-query_digests": "false",
        "mysql-query_processor_iterations": "3",
        "mysql-default_schema": "x",
    }
    assert RoutingVariables.from_values(values) == RoutingVariables(Engine.RE2, False, 3, "x")


# Harm --------------------------------------------------------------------------------------------


def test_a_rule_that_crashes_proxysql_is_named():
    of = router({"match_pattern": "(a|b)+c"}, {"match_digest": "(?:[a-z],)*;"})
    assert of.evaluate(Request(b"a" * 1_000)).troubles == ()
    route = of.evaluate(Request(b"a" * 3_000))
    assert route.troubles == (Trouble(1, "match_pattern", Verdict.CRASH),)
    assert of.explain(Request(b"a" * 3_000)).route == route


def test_a_pattern_without_end_is_given_up():
    route = router({"match_pattern": r"(?=(a+)+$)x|(a+)+!$"}).evaluate(Request(b"a" * 40 + b"!!?"))
    assert route.matched_rules == ()
    negated = {"match_pattern": r"((?:a+)+)\1\1c", "negate_match_pattern": 1}
    route = router(negated).evaluate(Request(b"a" * 60 + b"!c"))
    assert route.matched_rules == (1,)
    assert route.troubles == (Trouble(1, "match_pattern", Verdict.GAVE_UP),)


MEGABYTE = 1_000_000


@pytest.mark.parametrize(
    "query",
    [
        b"",
        b"\0",
        b"\xff\xfe\xfd",
        b"SELECT '" + b"a" * MEGABYTE,
        b"SELECT /* " + b"a" * MEGABYTE,
        b"SELECT " + b"a, " * (MEGABYTE // 3),
        b"a" * MEGABYTE,
        bytes(range(256)) * 1_000,
        b"\n" * MEGABYTE,
    ],
    ids=["empty", "NUL", "binary", "string", "comment", "list", "word", "bytes", "lines"],
)
@pytest.mark.parametrize("engine", Engine)
def test_any_query_is_answered(query, engine):
    patterns = [
        r"a.*b.*c",
        r"(a|a)*b",
        r"^(\s*\w+)*$",
        r"(x+x+)+y",
        r"a.*a.*b",
        r"\s+$",
        "(?=.*z)a",
    ]
    rules = [{"match_pattern": pattern} for pattern in patterns]
    rules += [{"match_digest": pattern, "negate_match_pattern": 1} for pattern in patterns]
    rules += [
        {"match_pattern": ",", "replace_pattern": ";", "re_modifiers": "CASELESS,GLOBAL"},
        {"match_pattern": r"(\n)+", "replace_pattern": r"\1", "re_modifiers": "GLOBAL"},
    ]
    of = router(*rules, variables=RoutingVariables(engine=engine))
    assert of.evaluate(Request(query, "app")).destination_hostgroup == 1


# Both speeds -------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_evaluate_and_explain_agree(seed):
    random = Random(seed)
    case = random_case(random, [1, 2], queries=6)
    of = router_of(case)
    for client, query in case.queries:
        request = Request(
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
        assert replace(of.explain(request).route, troubles=route.troubles) == route


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
    route = of.evaluate(Request(b"SELECT 1 FROM t4321 x", "u77"))
    assert route.matched_rules == (4322, count + 78)
    assert of.evaluate(Request(b"SELECT c4000")).settings == {"timeout": 4000}
