"""What `explain` says of each rule, and of fast routing."""

from __future__ import annotations

from proxyctl.routing import FastRoutingUse, Reason, Request, Source
from tests.unit.routed import fast, reasons, router


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
