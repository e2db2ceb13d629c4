"""What rules leave to the default hostgroup of a user, in words of the doctor."""

from __future__ import annotations

from random import Random

import pytest

from proxyctl.lint.default_hostgroups import Left, left_to_defaults
from proxyctl.lint.rules_in_play import that_may_match
from proxyctl.lint.subject import Subject
from tests.unit.linted import digest, subject
from tests.unit.test_lint_claims import case_of, request_of, subject_of

ALL = {"destination_hostgroup": 1, "apply": 1}
USER = {"username": "app", "password": "x", "default_hostgroup": 99}


def left(*rules, user=USER, **given):
    configuration = subject(*rules, users=[user], **given).configuration
    return left_to_defaults(configuration, {"app"})["app"]


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param([digest("^SELECT"), digest("^SELECT", negate_match_pattern=1)], id="both"),
        pytest.param([{"flagOUT": 5}, ALL | {"flagIN": 5}], id="a lane"),
        pytest.param(
            [{"schemaname": "shop", "flagOUT": 5}, digest("^SELECT", flagIN=5), ALL],
            id="a lane of a schema",
        ),
        pytest.param([ALL | {"client_addr": "%"}], id="every client"),
        pytest.param([digest(r"^[0-9]*$", negate_match_pattern=1)], id="all with a letter"),
        pytest.param([digest("^BEGIN", next_query_flagIN=7), ALL, ALL | {"flagIN": 7}], id="next"),
        pytest.param([digest("^[A-Z(/]", re_modifiers="CASELESS")], id="a class of letters"),
    ],
)
def test_no_sample_is_left(rules):
    assert left(*rules) is Left.PERHAPS


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param([], id="no rule"),
        pytest.param([digest("^SELECT"), digest("^(INSERT|UPDATE|DELETE|REPLACE)")], id="some"),
        pytest.param([ALL | {"username": "web"}], id="another user's"),
        pytest.param([ALL | {"client_addr": "10.%"}], id="some clients"),
        pytest.param([ALL | {"schemaname": "shop"}], id="a schema"),
        pytest.param([{"flagOUT": 5}, digest("^SELECT", flagIN=5)], id="a lane of some"),
        pytest.param([digest("@@", negate_match_pattern=1)], id="all but variables"),
        pytest.param([ALL | {"next_query_flagIN": 7}], id="the second of a session"),
        pytest.param(
            [ALL | {"next_query_flagIN": 7}, ALL | {"flagIN": 7, "next_query_flagIN": 8}],
            id="the third of a session",
        ),
        pytest.param([digest("FROM shop_7", negate_match_pattern=1)], id="all but one table"),
        pytest.param(
            [digest("FROM shop_7", destination_hostgroup=None), digest("^[^ ]")],
            id="one that ends first, of a table",
        ),
    ],
)
def test_some_are_left(rules):
    assert left(*rules) is Left.QUERIES


def test_an_answer_leaves_nothing():
    assert left({"error_msg": "closed", "apply": 1}) is Left.NOTHING


def test_the_schema_of_the_user_counts():
    shop = USER | {"default_schema": "shop"}
    assert left(ALL | {"schemaname": "shop"}, user=shop) is Left.PERHAPS
    fast = {"username": "app", "schemaname": "shop", "flagIN": 0, "destination_hostgroup": 1}
    assert left(user=shop, fast_routing=[fast | {"comment": ""}]) is Left.PERHAPS
    assert left(digest("^x"), user=shop, fast_routing=[fast | {"comment": ""}]) is Left.QUERIES


@pytest.mark.parametrize("seed", range(20))
def test_rules_that_match_none_of_the_queries_are_nothing_to_them(seed):
    random = Random(seed)
    for _ in range(5):
        case = case_of(random)
        whole = subject_of(case)
        plain = [(client, query) for client, query in case.queries if query.isascii()]
        few = Subject(that_may_match(whole.configuration, [q.decode() for _, q in plain]))
        for client, query in plain:
            request = request_of(client, query, 0)
            route, other = whole.router.evaluate(request), few.router.evaluate(request)
            assert route.destination_hostgroup == other.destination_hostgroup, case.rules
            assert (route.source, route.settings) == (other.source, other.settings), case.rules
