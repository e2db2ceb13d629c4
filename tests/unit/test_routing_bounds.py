"""Rules that loop, grow or never end: each is reported, and the evaluation ends."""

from __future__ import annotations

import pytest

from proxyctl.routing.query import ClientQuery
from proxyctl.routing.regex import RegexEngine
from proxyctl.routing.tables import RoutingVariables
from tests.unit.routed import router


def test_a_loop_is_named_and_not_followed_to_its_end():
    variables = RoutingVariables(query_processor_iterations=1_000_000)
    route = router(
        {"flagOUT": 1}, {"flagIN": 1, "flagOUT": 0}, {"flagIN": 1}, variables=variables
    ).evaluate(ClientQuery(b"x"))
    assert route.loop is not None
    assert route.loop.rule_ids == (1, 2)
    assert len(route.matched_rules) + 2 * route.loop.turns == 1_000_002
    assert route.undecided == ()


def test_a_query_that_goes_on_growing_is_not_followed_to_its_end():
    variables = RoutingVariables(query_processor_iterations=1_000_000)
    grows = {"match_pattern": "^", "replace_pattern": "a", "flagOUT": 0}
    route = router(grows, variables=variables).evaluate(ClientQuery(b"x"))
    assert route.undecided == (1,)
    doubles = {"match_pattern": "a", "replace_pattern": "aa", "re_modifiers": "GLOBAL"}
    text = b"ba" + b"b" * 1_100_000
    route = router(*[doubles] * 16).evaluate(ClientQuery(text * 2))
    assert route.undecided == tuple(range(1, 17))
    single = {"match_pattern": "^(.*)$", "replace_pattern": r"\1\1"}
    route = router(*[single] * 9).evaluate(ClientQuery(b"a" * 1_000_000))
    assert route.undecided == (8, 9)
    assert len(route.rewritten_query or b"") == 128 * 1_000_000


def test_a_pattern_without_end_is_given_up():
    route = router({"match_pattern": r"(?=(a+)+$)x|(a+)+!$"}).evaluate(
        ClientQuery(b"a" * 40 + b"!!?")
    )
    assert route.matched_rules == ()
    of = router({"match_pattern": r"((?:a+)+)\1\1c", "negate_match_pattern": 1})
    route = of.evaluate(ClientQuery(b"a" * 60 + b"!c"))
    assert route.matched_rules == (1,)
    assert route.undecided == (1,)
    assert of.explain(ClientQuery(b"a" * 60 + b"!c")).route == route


MEGABYTE = 1_000_000


@pytest.mark.sweep
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
@pytest.mark.parametrize("engine", RegexEngine)
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
    assert of.evaluate(ClientQuery(query, "app")).destination_hostgroup == 1
