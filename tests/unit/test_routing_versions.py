"""What one release of ProxySQL does with a query and another does not."""

from __future__ import annotations

import pytest

from proxyctl.catalog import Version
from proxyctl.catalog.releases import NEWEST_PROVEN
from proxyctl.routing import FastRoutingUse, Reason, Request, RoutingVariables, Source
from proxyctl.routing.explain import doubts
from tests.unit.linted import findings, said_of
from tests.unit.routed import fast, router

OLD, NEW = "2.7.1", "3.0.12"


def at(version, *rules, fast_routing=None, **values):
    """A router of that version; variables go by their names without `mysql-`."""
    given = {f"mysql-{name}": str(value) for name, value in values.items()}
    variables = RoutingVariables.from_values(given, Version(*map(int, version.split("."))))
    return router(*rules, variables=variables, fast_routing=fast_routing)


def said(of, query, **session):
    """The destination, and what is not verified."""
    request = Request(query, username="app", **session)
    explained = of.explain(request)
    assert explained.route == of.evaluate(request)
    return explained.route.destination_hostgroup, doubts(of, request, explained)


FAST = fast(("app", "shop", 0, 7))
LAST_APPLIES = {"match_digest": "^INSERT", "destination_hostgroup": 3, "apply": 1}


def test_fast_routing_behind_a_last_rule_with_apply():
    for version in (OLD, "3.0.3", "3.0.8"):
        of = at(version, LAST_APPLIES, fast_routing=FAST)
        assert said(of, b"SELECT 1", schemaname="shop") == (1, ())
        assert of.explain(Request(b"SELECT 1")).fast_routing is FastRoutingUse.SHUT_OFF
    of = at("3.0.9", LAST_APPLIES, fast_routing=FAST)
    doubt = "fast routing is used although the last rule has apply"
    assert said(of, b"SELECT 1", schemaname="shop") == (7, (doubt,))
    assert said(of, b"INSERT INTO t VALUES (1)", schemaname="shop") == (3, ())


@pytest.mark.parametrize("engine", [1, 2])
@pytest.mark.parametrize("column", ["match_digest", "match_pattern"])
def test_a_negated_pattern_that_does_not_compile(column, engine):
    rule = {column: "(", "negate_match_pattern": 1, "destination_hostgroup": 5}
    assert said(at("3.0.11", rule, query_processor_regex=engine), b"SELECT 1") == (5, ())
    of = at(NEW, rule, query_processor_regex=engine)
    doubt = "rule 1: a pattern that does not compile never matches, also negated"
    assert said(of, b"SELECT 1") == (1, (doubt,))
    assert of.explain(Request(b"SELECT 1")).steps[0].reason is Reason[column.upper()]


def test_a_client_addr_may_be_a_subnet():
    rule = {"client_addr": "10.20.0.0/16", "destination_hostgroup": 5}
    assert said(at("3.0.11", rule), b"SELECT 1", client_addr="10.20.3.4") == (1, ())
    doubt = "rule 1: client_addr 10.20.0.0/16 as a subnet"
    of = at(NEW, rule)
    assert said(of, b"SELECT 1", client_addr="10.20.3.4") == (5, (doubt,))
    assert said(of, b"SELECT 1", client_addr="10.21.3.4") == (1, (doubt,))
    assert said(of, b"SELECT 1", client_addr="localhost") == (1, (doubt,))
    exact = at(NEW, {"client_addr": "10.0.0.%", "destination_hostgroup": 5})
    assert said(exact, b"SELECT 1", client_addr="10.0.0.9") == (5, ())


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
def test_escapes_of_a_replacement(replacement, old, new):
    rule = {"match_pattern": "(a|b)(x)?", "replace_pattern": replacement, "re_modifiers": "GLOBAL"}
    for version, expected in ((OLD, old), (NEW, new)):
        route = at(version, rule).evaluate(Request(b"ab"))
        assert (route.rewritten_query or b"ab") == expected, version


def test_a_replacement_that_changes_nothing_is_not_verified():
    rule = {"match_pattern": "a", "replace_pattern": r"\q", "destination_hostgroup": 5}
    doubt = "rule 1: its replace_pattern changes nothing"
    assert said(at(NEW, rule), b"SELECT a") == (5, (doubt,))
    assert said(at(NEW, {**rule, "replace_pattern": r"\0"}), b"SELECT a") == (5, ())


HINTED = b"/* hostgroup=4 */ SELECT 1"
OVERRULES = {"match_digest": "^SELECT", "destination_hostgroup": 5}


@pytest.mark.parametrize(
    ("version", "bits", "with_rule", "without"),
    [("3.0.5", 1, 4, 4), (NEW, 0, 5, 1), (NEW, 1, 5, 4), (NEW, 2, 4, 4), (NEW, 3, 4, 4)],
)
def test_when_the_first_comment_is_read(version, bits, with_rule, without):
    variables = {"query_processor_first_comment_parsing": bits}
    is_doubted = version == NEW and bits != 2
    for rules, expected in (([OVERRULES], with_rule), ([], without)):
        found, doubted = said(at(version, *rules, **variables), HINTED)
        assert (found, bool(doubted)) == (expected, is_doubted)
    of = at(version, OVERRULES, **variables)
    assert of.evaluate(Request(HINTED)).source is (Source.HINT if with_rule == 4 else Source.RULE)


def test_hints_behind_the_rules_are_those_of_the_rewritten_query():
    rule = {"match_pattern": "/\\*.*?\\*/ ", "replace_pattern": ""}
    assert said(at("3.0.3", rule), HINTED) == (4, ())
    doubt = "whether hints in the first comment are read before or after the rules"
    assert said(at("3.0.6", rule), HINTED) == (1, (doubt,))


def test_digests_that_are_not_vouched_for():
    parser = at(NEW, query_processor_parser=1)
    assert "ParserSQL" in said(parser, b"SELECT 1")[1][0]
    assert "ParserSQL" not in str(said(at("3.0.3", query_processor_parser=1), b"SELECT 1"))
    assert "kept apart" in said(at("3.0.6"), b"SELECT /*+ NO_ICP(t) */ a FROM t")[1][0]
    assert said(at(str(NEWEST_PROVEN)), b"SELECT /*+ NO_ICP(t) */ a FROM t") == (1, ())


def test_lint_knows_the_version():
    rows = [{"username": "", "schemaname": "shop", "flagIN": 0, "destination_hostgroup": 2}]
    last = {"match_digest": "^INSERT", "destination_hostgroup": 1, "apply": 1}
    subnet = {"client_addr": "10.0.0.0/8", "destination_hostgroup": 1}
    group = {"match_pattern": "(a|b)+", "destination_hostgroup": 1}
    for version, is_found in ((OLD, True), ("3.0.3", True), (NEW, False)):
        given = {"version": version}
        assert said_of("PX210", last, fast_routing=rows, **given) == [1] * is_found
        (in_vain,) = findings("PX122", subnet, **given)
        assert in_vain[1].endswith("never matches" if is_found else "as a subnet: not verified")
        assert said_of("PX106", group, **given) == [1] * is_found
