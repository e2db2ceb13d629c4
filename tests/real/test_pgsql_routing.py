"""Rules of the PostgreSQL side, here and on a real ProxySQL 3.0: random rule sets and queries.

PROXYCTL_TEST_ROUTING_PAIRS and PROXYCTL_TEST_ROUTING_SEED are those of `test_routing.py`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from random import Random, SystemRandom

import pytest

from proxyctl.catalog import TABLES, Version, layout_of
from proxyctl.catalog.releases import PGSQL_DIGESTS
from proxyctl.routing import Request, Router
from proxyctl.routing.digest import Digester, DigestOptions
from proxyctl.routing.router import router_of
from proxyctl.routing.sides import pgsql_as_mysql
from proxyctl.state.configuration import Configuration, Held
from tests.support.digest_queries import random_query
from tests.support.pgsql_rig import FAST, RULES, USERS, PgsqlRig
from tests.support.routing_cases import rule, statement
from tests.support.routing_shapes import Cells
from tests.support.servers import needed_binary

pytestmark = [
    pytest.mark.real,
    pytest.mark.since("3.0.1", "no PostgreSQL side"),
    pytest.mark.before(str(PGSQL_DIGESTS), "digests of PostgreSQL are not known"),
]

PAIRS = int(os.environ.get("PROXYCTL_TEST_ROUTING_PAIRS", "100"))
QUERIES = 25
DATABASES = ("shop", "crm", "")
_NOT_HERE = ("OK_msg", "error_msg", "next_query_flagIN", "schemaname")


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PgsqlRig]:
    """One ProxySQL for all tests."""
    with PgsqlRig(needed_binary(), tmp_path_factory.mktemp("pgsql")) as started:
        yield started


def router(version: Version, rules: Iterable[Cells], fast: Iterable[Cells]) -> Router:
    """The evaluator with the users of the rig."""
    users = [{"username": name, "default_hostgroup": number} for name, number in USERS.items()]
    tables = {
        name: held(name, version, rows)
        for name, rows in ((RULES, rules), (FAST, fast), ("pgsql_users", users))
    }
    return router_of(pgsql_as_mysql(Configuration(version, tables)))


def held(table: str, version: Version, rows: Iterable[Cells]) -> Held:
    layout = layout_of(TABLES[table], version)
    defaults = dict(zip(layout.names, layout.defaults, strict=True))
    whole = [tuple({**defaults, **cells}.values()) for cells in rows]
    return Held(layout, {layout.key_of(row): row for row in whole})


def random_rules(random: Random, queries: list[bytes], port: int) -> list[Cells]:
    """Rules of the MySQL side, with databases; none that answers or changes the session."""
    found = []
    for number in range(1, random.choice((3, 8, 15)) + 1):
        cells = rule(random, number, queries, [port], DigestOptions())
        database = cells.get("schemaname")
        cells = {name: value for name, value in cells.items() if name not in _NOT_HERE}
        found.append({**cells, "database": database})
    return found


def random_fast(random: Random) -> list[Cells]:
    return [
        {
            "username": user,
            "database": database,
            "flagIN": 0,
            "destination_hostgroup": 9,
            "comment": "",
        }
        for user in random.sample(("app", "web", ""), 2)
        for database in random.sample(("shop", "crm"), 1)
    ]


def test_random_rules(
    rig: PgsqlRig,
    capsys: pytest.CaptureFixture[str],
    record_property: Callable[[str, object], None],
) -> None:
    seed = os.environ.get("PROXYCTL_TEST_ROUTING_SEED") or str(SystemRandom().randrange(10**6))
    with capsys.disabled():
        sys.stdout.write(f"\nPROXYCTL_TEST_ROUTING_SEED={seed} for {PAIRS} queries\n")
    different, agreed = [], 0
    for number in range(-(-PAIRS // QUERIES)):
        random = Random(f"{seed}:{number}")
        queries = [statement(random).replace(b"\0", b"") for _ in range(QUERIES)]
        rules, fast = random_rules(random, queries, rig.port), random_fast(random)
        of = router(rig.version, rules, fast)
        rig.load(rules, fast)
        for query in queries:
            username, database = random.choice([*USERS]), random.choice(DATABASES)
            seen = rig.send(username, database, query)
            if seen.hostgroup is None:
                continue  # ProxySQL answered by itself
            request = Request(query, username, database, "127.0.0.1", "127.0.0.1", rig.port)
            route = of.evaluate(request)
            final = route.final_digest
            assert final is not None
            expected = route.destination_hostgroup, final.number
            if final.certain and expected != (seen.hostgroup, seen.digest):
                different.append((f"{seed}:{number}", query, expected, seen))
                record_property("differs", f"{seed}:{number}")
            else:
                agreed += 1
    record_property("known", agreed)
    assert different == []


def test_digests_are_those_of_mysql(rig: PgsqlRig) -> None:
    rig.load([], [])
    random = Random(PAIRS)
    digester = Digester(DigestOptions(version=rig.version))
    different = []
    for _ in range(PAIRS):
        query = random_query(random).replace(b"\0", b"")
        seen = rig.send("app", "shop", query)
        ours = digester.digest(query + b"\0")
        if seen.digest is not None and ours.certain and seen.digest != ours.number:
            different.append((query, ours.text, seen))
    assert different == []
