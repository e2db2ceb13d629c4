"""An order of rules in which fewer are tried, and what may never change places."""

from __future__ import annotations

from random import Random

import pytest

from proxyctl.digests.suggest_found import Kind
from proxyctl.digests.suggest_order import may_pass
from proxyctl.digests.suggest_rules import with_rules
from proxyctl.replay.report import replay
from proxyctl.replay.sides import Sides
from proxyctl.routing import Request, Router
from proxyctl.routing.of_configuration import router_of
from tests.support.build import layout, row
from tests.unit.test_digest_suggest import configuration, digest, found, rule, table

READ = "SELECT a FROM t WHERE id = 1"
WRITES = [f"INSERT INTO t{n} VALUES (1)" for n in range(5)]


def inserts(count=20):
    return [rule(10 * n, f"^INSERT INTO t{n} ") for n in range(1, count + 1)]


def test_the_rule_of_the_bulk_moves_up_and_nothing_changes():
    given = configuration(*inserts(), rule(300, "^SELECT", 20))
    seen = [digest(READ, calls=90_000), digest("INSERT INTO t5 VALUES (1)", calls=1_000)]
    (one,), _ = found(seen, given, Kind.ORDER)
    assert one.replaces == (300,)
    (moved,) = one.rules
    assert moved["rule_id"] < 10
    assert moved["match_digest"] == "^SELECT"
    assert one.evidence["rules_per_query_now"] == pytest.approx(
        (90_000 * 21 + 1_000 * 5) / 91_000, 0.01
    )
    assert one.evidence["rules_per_query_then"] < 2
    after = with_rules(given, one.rules, without=one.replaces)
    assert len(router_of(after).rules) == 21
    assert not replay(table(*seen), Sides(given, after)).moves
    assert "no proof for queries that were not seen" in one.unknown[-1]


def test_a_rule_never_passes_one_that_could_match_the_same_query():
    # Nobody has asked for a lock yet: the seen digests alone would allow the move.
    locks = [rule(10 * n, f"^SELECT.*FROM t{n} .*FOR UPDATE") for n in range(1, 21)]
    given = configuration(*locks, rule(300, "^SELECT", 20))
    some, _ = found([digest(READ, calls=90_000)], given, Kind.ORDER)
    assert some == ()


def test_little_to_save_is_not_said():
    given = configuration(rule(10, "^INSERT"), rule(20, "^SELECT", 20))
    seen = [digest("INSERT INTO t VALUES (1)", calls=90_000), digest(READ, calls=90_001)]
    assert found(seen, given, Kind.ORDER)[0] == ()


def test_no_free_rule_id_no_order():
    given = configuration(*[rule(n, f"^INSERT INTO t{n} ") for n in range(1, 21)], rule(21, "^SEL"))
    assert found([digest(READ, calls=90_000)], given, Kind.ORDER)[0] == ()


def test_the_last_rule_stays_where_fast_routing_depends_on_it():
    fast = ({"username": "app", "schemaname": "crm", "flagIN": 0, "destination_hostgroup": 50},)
    given = configuration(*inserts(), rule(300, "^SELECT", 20), fast=fast)
    assert found([digest(READ, calls=90_000)], given, Kind.ORDER)[0] == ()


def neighbours(one, other):
    of = layout("mysql_query_rules")
    made = Router(
        of,
        [row("mysql_query_rules", rule_id=n, **cells) for n, cells in ((1, one), (2, other))],
        digest_of=lambda _query: pytest.fail("not asked"),
    )
    return may_pass(made.rules[1], made.rules[0], made.patterns.texts())


@pytest.mark.parametrize(
    ("one", "other", "allowed"),
    [
        ({"match_digest": "^SELECT a"}, {"match_digest": "^UPDATE"}, True),
        ({"match_digest": "^SELECT"}, {"match_digest": "^SELECT a"}, False),
        ({"match_digest": "^select"}, {"match_digest": "^SELECT a"}, False),
        ({"match_digest": "^SELECT|^UPDATE"}, {"match_digest": "^UPDATE"}, False),
        ({"match_digest": "^SELECT (a|b)"}, {"match_digest": "^UPDATE"}, True),
        ({"match_digest": "^SELECT?"}, {"match_digest": "^SELEC a"}, False),
        ({"match_digest": "SELECT"}, {"match_digest": "^UPDATE"}, False),
        ({"match_digest": "^(?m)SELECT"}, {"match_digest": "^UPDATE"}, False),
        ({"match_pattern": "^SELECT"}, {"match_pattern": "^UPDATE"}, False),
        (
            {"match_digest": "^SELECT", "negate_match_pattern": 1},
            {"match_digest": "^UPDATE"},
            False,
        ),
        ({"username": "a"}, {"username": "b"}, True),
        ({"username": "a"}, {"schemaname": "b"}, False),
        ({"digest": "0x1"}, {"digest": "0x2"}, True),
        ({"flagIN": 1}, {"flagIN": 2}, True),
        ({"flagIN": 0, "flagOUT": 2, "username": "a"}, {"flagIN": 2, "username": "b"}, False),
        ({"username": "a", "flagOUT": 3}, {"username": "b"}, False),
    ],
)
def test_what_may_change_places(one, other, allowed):
    assert neighbours(one, other) is allowed


_PATTERNS = ("^SELECT", "^SELECT a", "^UPDATE", "^INS?ERT", "a", "^SELECT|x", "^select (a|b)")


def _cells(random):
    cells = {"apply": random.choice((0, 1)), "destination_hostgroup": random.randrange(5)}
    if random.random() < 0.7:
        cells["match_digest"] = random.choice(_PATTERNS)
    if random.random() < 0.2:
        cells["negate_match_pattern"] = 1
    if random.random() < 0.3:
        cells["username"] = random.choice(("app", "web"))
    if random.random() < 0.3:
        cells["schemaname"] = random.choice(("shop", "crm"))
    cells["flagIN"] = random.choice((0, 0, 0, 1, 2))
    if random.random() < 0.3:
        cells["flagOUT"] = random.choice((1, 2))
    return cells


_QUERIES = ("SELECT a", "SELECT b", "UPDATE a", "INSERT x", "INERT x", "select a", "x", "DELETE a")


def test_neighbours_that_may_change_places_change_nothing_for_any_query():
    from proxyctl.digest import Digester

    random = Random(7)
    of, digester = layout("mysql_query_rules"), Digester()
    swapped = 0
    for _ in range(1_500):
        cells = [_cells(random) for _ in range(random.randrange(2, 7))]
        ids = list(range(1, len(cells) + 1))

        def router(order, cells=cells, ids=ids):
            made = [
                row("mysql_query_rules", rule_id=i, **cells[n])
                for i, n in zip(ids, order, strict=True)
            ]
            return Router(of, made, digest_of=digester.digest)

        straight = list(range(len(cells)))
        first = router(straight)
        place = random.randrange(len(cells) - 1)
        if not may_pass(first.rules[place + 1], first.rules[place], first.patterns.texts()):
            continue
        swapped += 1
        order = straight[:]
        order[place], order[place + 1] = order[place + 1], order[place]
        second = router(order)
        for query in _QUERIES:
            for username in ("app", "web"):
                for schemaname in ("shop", "crm", "else"):
                    request = Request(query.encode(), username=username, schemaname=schemaname)
                    one, other = first.evaluate(request), second.evaluate(request)
                    assert one.destination_hostgroup == other.destination_hostgroup
                    assert one.flagIN == other.flagIN
                    assert [straight[i - 1] for i in one.matched_rules] == [
                        order[i - 1] for i in other.matched_rules
                    ]
    assert swapped > 200
