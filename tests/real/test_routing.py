"""The evaluator compared with a real ProxySQL: random rule sets, and cases that cannot be recorded.

PROXYCTL_TEST_ROUTING_PAIRS is the number of queries to random rule sets (10,000 in full),
PROXYCTL_TEST_ROUTING_SEED chooses them. A case that disagrees is named `seed:number`; once it is
fixed, record it with `python -m tests.support.routing.recorded seed:number`.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random, SystemRandom

import pymysql
import pytest

from proxyctl.catalog.releases import PCRE2
from proxyctl.lint.rules.px402_rewrites_quoted_text import _EVEN_QUOTES
from proxyctl.routing.query import ClientQuery
from proxyctl.routing.regex import repeats_a_group
from tests.support.routing.cases import random_case
from tests.support.routing.predicted import predict, router_of
from tests.support.routing.recorded import is_random, observed, read
from tests.support.routing.rig import EXECUTED, Arrival, Rig
from tests.support.routing.shapes import Case, Client, Sent, differences
from tests.support.servers.instances import needed_binary

pytestmark = pytest.mark.real

PAIRS = int(os.environ.get("PROXYCTL_TEST_ROUTING_PAIRS", "400"))
QUERIES = 50
APP = Client("app")


OWN = "statements of ProxySQL's own"
SINCE_2_6 = pytest.mark.since("2.6.0", "SHOW COUNT(*) WARNINGS goes to a server")
MADE = {recorded.name: recorded.case for recorded in read() if not is_random(recorded.name)}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=SINCE_2_6 if name == OWN else ()) for name in MADE]
)
def test_cases_made_by_hand(rig: Rig, name: str) -> None:
    assert differences(predict(MADE[name], rig.ports, rig.version), observed(rig, MADE[name])) == []


def alternatives(count: int) -> str:
    return "|".join(f"tab{number}" for number in range(count))


LARGE = {
    "more alternatives than PCRE holds": (
        [{"match_digest": alternatives(3985)}, {"match_digest": alternatives(3986)}],
        [b"SELECT 1 FROM tab17"],
    ),
    "long texts": (
        [{"match_pattern": "needle"}, {"match_digest": "needle"}, {"match_pattern": "needle$"}],
        [
            b"SELECT '" + b"x" * 100_000 + b"' needle",
            b"SELECT " + b"a, " * 30_000 + b"needle",
            b"SELECT needle, " + b"a, " * 30_000,
        ],
    ),
}
"""Rules and queries that would fill the file of recorded cases."""


@pytest.mark.parametrize("name", LARGE)
def test_large_patterns_and_texts(rig: Rig, name: str) -> None:
    rules, queries = LARGE[name]
    numbered = [
        {"rule_id": number, "destination_hostgroup": 3 + number, **rule}
        for number, rule in enumerate(rules, 1)
    ]
    case = Case(numbered, [Sent(APP, query) for query in queries])
    assert differences(predict(case, rig.ports, rig.version), observed(rig, case)) == []


@pytest.mark.since("2.6.0", "some digests are others")
def test_random_cases_agree(
    rig: Rig, capsys: pytest.CaptureFixture[str], record_property: Callable[[str, object], None]
) -> None:
    chosen = os.environ.get("PROXYCTL_TEST_ROUTING_SEED")
    seed = chosen or str(SystemRandom().randrange(10**6))
    with capsys.disabled():
        sys.stdout.write(f"\nPROXYCTL_TEST_ROUTING_SEED={seed} for {PAIRS} queries\n")
    different = {}
    for number in range(-(-PAIRS // QUERIES)):
        name = f"{seed}:{number}"
        case = random_case(Random(name), rig.ports, queries=QUERIES, version=rig.version)
        found = differences(predict(case, rig.ports, rig.version), observed(rig, case))
        if found:
            different[name] = found
            record_property("differs", name)
    record_property("known", PAIRS - QUERIES * len(different))
    assert different == {}


def test_draws_by_weight(rig: Rig) -> None:
    flags = '{"flagOUTs":[{"id":1,"weight":1},{"id":2,"weight":3},{"id":3,"weight":0}]}'
    rules = [{"rule_id": 1, "attributes": flags}]
    rules += [
        {"rule_id": 1 + flag, "flagIN": flag, "destination_hostgroup": 3 + flag}
        for flag in (1, 2, 3)
    ]
    case = Case(rules, [Sent(APP, b"SELECT 1")] * 400)
    expected = {
        outcome.route.destination_hostgroup: outcome.probability
        for outcome in router_of(case, rig.version).outcomes(ClientQuery(b"SELECT 1"))
    }
    found = Counter(seen.hostgroup for seen in rig.observe(case).seen)
    assert found.keys() == expected.keys()
    # A quarter of 400 is 100; 40 off is five standard deviations, once in a million runs.
    assert all(abs(found[hostgroup] - 400 * share) < 40 for hostgroup, share in expected.items())


def test_a_mirror_gets_the_rewritten_query(rig: Rig) -> None:
    rules = [
        {
            "rule_id": 1,
            "match_pattern": "a",
            "replace_pattern": "b",
            "destination_hostgroup": 4,
            "mirror_hostgroup": 5,
        }
    ]
    rig.observe(Case(rules, []))
    arrived: list[Arrival] = []
    with closing(rig.connect(APP)) as session, closing(session.cursor()) as cursor:
        cursor.execute("SELECT a")
        deadline = time.monotonic() + 10
        while len(arrived) < 2 and time.monotonic() < deadline:
            arrived += [
                arrival for arrival in rig.backends.take() if not arrival.text.startswith(b"SET ")
            ]
            time.sleep(0.01)
    assert sorted(arrived) == [Arrival(4, b"SELECT b"), Arrival(5, b"SELECT b")]
    route = router_of(Case(rules, []), rig.version).evaluate(ClientQuery(b"SELECT a"))
    assert route.settings == {"mirror_hostgroup": 5}


def test_a_prepared_statement_is_evaluated_at_both_steps(rig: Rig) -> None:
    rules = [
        {"rule_id": 1, "match_pattern": "abc", "replace_pattern": "xyz"},
        {"rule_id": 2, "match_digest": "abc", "destination_hostgroup": 5},
        {"rule_id": 3, "match_digest": "xyz", "destination_hostgroup": 7},
        {"rule_id": 4, "flagIN": 9, "match_pattern": "xyz", "replace_pattern": "never"},
        {"rule_id": 5, "match_digest": "xyz", "flagOUT": 9},
        {"rule_id": 6, "flagIN": 9, "match_pattern": "xyz", "replace_pattern": "only counted"},
    ]
    case = Case(rules, [])
    rig.observe(case)
    router = router_of(case, rig.version)
    prepared = router.evaluate(ClientQuery(b"SELECT abc"))
    executed = router.evaluate(ClientQuery(prepared.rewritten_query, rewrites=False))
    with closing(rig.connect(APP)) as session:
        session._execute_command(0x16, b"SELECT abc")
        number = struct.unpack("<I", session._read_packet()._data[1:5])[0]
        first = rig.backends.take()
        session._execute_command(0x17, struct.pack("<IBI", number, 0, 1))
        session._read_packet()
        second = rig.backends.take()
    assert first[-1] == Arrival(prepared.destination_hostgroup or 0, b"SELECT xyz")
    assert second[-1] == Arrival(executed.destination_hostgroup or 0, EXECUTED)
    hits = dict(Counter(prepared.matched_rules + executed.matched_rules))
    assert rig.hits(hits) == hits


@dataclass(frozen=True)
class RepeatCase:
    """A group, what it matches once, and how many turns ProxySQL survives and does not."""

    pattern: str
    unit: bytes
    survives: int
    ends: int


REPEATS = [
    RepeatCase(pattern="(a|b)+c", unit=b"a", survives=800, ends=2_300),
    RepeatCase(pattern="(?:[a-z],)*;", unit=b"a,", survives=1_600, ends=4_600),
]


@pytest.mark.since("2.6.0", "the limit is elsewhere")
@pytest.mark.before(str(PCRE2), "PCRE2 does not recurse")
@pytest.mark.parametrize("case", REPEATS, ids=lambda case: case.pattern)
def test_a_repeated_group_ends_the_process(tmp_path: Path, case: RepeatCase) -> None:
    """The stack of a step depends on the compiler, so both cases are far from the limit."""
    assert repeats_a_group(case.pattern)
    with Rig(needed_binary(), tmp_path) as rig:
        rig.observe(Case([{"rule_id": 1, "match_pattern": case.pattern}], []))
        for turns in (case.survives, case.ends):
            query = case.unit * turns
            with closing(rig.connect(APP)) as session, closing(session.cursor()) as cursor:
                if turns == case.ends:
                    with pytest.raises(pymysql.err.OperationalError, match="Lost connection"):
                        cursor.execute(query)
                else:
                    cursor.execute(query)


@pytest.mark.parametrize("pattern", [f"rank{_EVEN_QUOTES}", "^SELECT (a|b|,| )*+zz"])
def test_a_group_that_gives_nothing_back_does_not(tmp_path: Path, pattern: str) -> None:
    assert not repeats_a_group(pattern)
    case = Case([{"rule_id": 1, "match_pattern": pattern}], [])
    with Rig(needed_binary(), tmp_path) as rig:
        rig.observe(case)
        for query in (
            b"INSERT INTO t(rank) VALUES " + b"('a')," * 20_000,
            b"SELECT " + b"a,b," * 20_000,
        ):
            with closing(rig.connect(APP)) as session, closing(session.cursor()) as cursor:
                cursor.execute(query)
