"""Of which users rules take every query, and that random rule sets never prove it wrong."""

from __future__ import annotations

from random import Random

import pytest

from proxyctl.lint.users_taken import taken_users
from proxyctl.routing import Source
from tests.support.routing_predicted import router_of
from tests.unit.linted import digest, pattern, subject
from tests.unit.test_lint_claims import case_of, request_of, subject_of

ALL = {"destination_hostgroup": 1, "apply": 1}
ENDS = {"match_digest": "^SHOW", "destination_hostgroup": None, "apply": 1}


def taken(*rules, **given):
    return {*taken_users(subject(*rules, **given).configuration, {"app"})}


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param([ALL], id="no criterion"),
        pytest.param([ALL | {"apply": 0}], id="no apply"),
        pytest.param([ALL | {"username": "app"}], id="this user's"),
        pytest.param([digest(".*")], id="a pattern for all"),
        pytest.param([pattern(".")], id="one of the query"),
        pytest.param([{"error_msg": "closed", "apply": 1}], id="an answer"),
        pytest.param([digest("^SELECT"), ALL], id="another one first that says where"),
        pytest.param([ENDS | {"username": "web"}, ALL], id="one of another user ends first"),
        pytest.param([ALL | {"username": "app"}, ENDS], id="one that comes too late"),
        pytest.param([digest("^BEGIN", next_query_flagIN=0), ALL], id="the next begins as ever"),
    ],
)
def test_rules_take_every_query(rules):
    assert taken(*rules) == {"app"}


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param([digest("^SELECT"), digest("^[^S]")], id="two that leave something"),
        pytest.param([ALL | {"username": "web"}], id="another user's"),
        pytest.param([ALL | {"schemaname": "shop"}], id="a schema's"),
        pytest.param([ALL | {"client_addr": "10.0.0.1"}], id="a client's"),
        pytest.param([ALL | {"proxy_port": 6033}], id="a port's"),
        pytest.param([ALL | {"digest": "0x1"}], id="a digest's"),
        pytest.param([digest(".*", negate_match_pattern=1)], id="negated"),
        pytest.param([ALL | {"flagIN": 1}], id="a lane of its own"),
        pytest.param([ALL | {"destination_hostgroup": None}], id="no destination"),
        pytest.param([ENDS, ALL], id="one that ends first"),
        pytest.param([ENDS | {"apply": 0, "flagOUT": 3}, ALL], id="one that leads away first"),
        pytest.param([digest("^BEGIN", next_query_flagIN=7), ALL], id="the next begins elsewhere"),
        pytest.param([ALL | {"active": 0}], id="inactive"),
        pytest.param([digest("(")], id="a broken pattern"),
    ],
)
def test_rules_leave_queries(rules):
    assert taken(*rules) == set()


@pytest.mark.parametrize(
    ("rules", "is_answered"),
    [
        pytest.param([{"error_msg": "closed", "apply": 1}], True, id="every query"),
        pytest.param([digest("^SHOW", OK_msg=""), {"OK_msg": ""}], True, id="each by another rule"),
        pytest.param([ALL], False, id="none"),
        pytest.param([digest("^SET"), {"OK_msg": ""}], False, id="but a SET"),
    ],
)
def test_rules_answer_every_query(rules, is_answered):
    judged = subject(*rules).configuration
    assert taken_users(judged, {"app"}) == {"app": is_answered}


def test_without_digests_match_digest_is_not_asked():
    assert taken(digest("^SELECT"), query_digests=False) == set()
    assert taken(digest("."), query_digests=False) == {"app"}
    assert taken(pattern("."), query_digests=False) == set()


@pytest.mark.parametrize("seed", range(20))
def test_what_is_proven_is_so(seed):
    random = Random(seed)
    for _ in range(5):
        case = case_of(random)
        case.rules.append({"rule_id": 90, "match_digest": random.choice((".", "^", "^S"))} | ALL)
        names = {client.username for client, _ in case.queries}
        proven = taken_users(subject_of(case).configuration, names)
        router = router_of(case)
        for client, query in case.queries:
            # A hint in a comment asks for a hostgroup by itself, and may ask for none; an empty
            # query meets no pattern.
            if client.username not in proven or b"hostgroup" in query.lower() or not query.strip():
                continue
            route = router.evaluate(request_of(client, query, 0))
            is_left = route.source in (Source.DEFAULT_HOSTGROUP, Source.NOTHING)
            if is_left and route.special is None:
                assert route.settings.keys() & {"OK_msg", "error_msg"}, case.rules
