"""Where a mirror sends the copy of a query: the evaluator and a real ProxySQL."""

from __future__ import annotations

from contextlib import closing
from typing import NamedTuple

import pytest

from proxyctl.catalog import Value
from proxyctl.routing.query import ClientQuery
from tests.support.routing.predicted import router_of
from tests.support.routing.rig import Rig
from tests.support.routing.shapes import ADDRESSES, Case, Cells, Client
from tests.support.waiting import until

pytestmark = pytest.mark.real

APP = Client("app", "shop")
QUERY = b"INSERT INTO t VALUES (1)"
KEEP: Cells = {"flagIN": 77}


class Mirror(NamedTuple):
    """Rules in their order, rows of fast routing by flagIN, and the query."""

    rules: tuple[Cells, ...]
    fast: dict[int, int] = {}  # noqa: RUF012 - never changed
    query: bytes = QUERY


def on_insert(destination: int | None = None, **more: Value) -> Cells:
    """A rule for INSERT."""
    return {"match_digest": "^INSERT", "destination_hostgroup": destination, **more}


CASES = {
    "one hostgroup": Mirror((on_insert(5, mirror_hostgroup=5, apply=1),)),
    "its own hostgroup": Mirror((on_insert(5, mirror_hostgroup=6, apply=1),)),
    "default_hostgroup": Mirror((on_insert(mirror_hostgroup=1, apply=1),)),
    "no destination": Mirror((on_insert(mirror_hostgroup=6, apply=1),)),
    "an earlier destination": Mirror((on_insert(6), on_insert(mirror_hostgroup=6, apply=1))),
    "a later destination": Mirror((on_insert(mirror_hostgroup=6), on_insert(6, apply=1))),
    "fast routing": Mirror((on_insert(5, mirror_hostgroup=6), KEEP), {0: 4}),
    "fast routing of the copy": Mirror((on_insert(5, mirror_hostgroup=6, apply=1), KEEP), {0: 4}),
    "the last rule has apply": Mirror((KEEP, on_insert(5, mirror_hostgroup=6, apply=1)), {0: 4}),
    "fast routing of the last flag": Mirror(
        (on_insert(5, mirror_hostgroup=6, flagOUT=3, apply=1), KEEP), {3: 4}
    ),
    "around fast routing": Mirror(
        (on_insert(5, mirror_hostgroup=6, mirror_flagOUT=100), KEEP), {0: 4}
    ),
    "around fast routing by a rule": Mirror(
        (
            on_insert(mirror_flagOUT=100),
            {"flagIN": 100, "destination_hostgroup": 6, "apply": 1},
            KEEP,
        ),
        {0: 4, 100: 7},
    ),
    "fast routing of the mirror's flag": Mirror(
        (on_insert(5, mirror_hostgroup=6, mirror_flagOUT=100, apply=1), KEEP), {100: 4}
    ),
    "a flag for nothing": Mirror((on_insert(5, mirror_flagOUT=100, apply=1),)),
    "a flag with a rule": Mirror(
        (
            on_insert(5, mirror_flagOUT=100, mirror_hostgroup=6, apply=1),
            {"flagIN": 100, "destination_hostgroup": 7, "apply": 1},
        )
    ),
    "a flag with a rule without destination": Mirror(
        (on_insert(5, mirror_flagOUT=100, mirror_hostgroup=6, apply=1), {"flagIN": 100})
    ),
    "its own flag": Mirror((on_insert(5, mirror_flagOUT=0, apply=1),)),
    "a rewritten copy": Mirror(
        (
            {"match_pattern": "INTO t", "replace_pattern": "INTO u", "mirror_flagOUT": 100},
            {"flagIN": 100, "match_digest": "INTO u", "destination_hostgroup": 6, "apply": 1},
        )
    ),
    "a hint": Mirror(
        (on_insert(5, mirror_hostgroup=6, apply=1),), query=b"/* hostgroup=7 */ " + QUERY
    ),
    "a hint that mirrors": Mirror((on_insert(5, apply=1),), query=b"/* mirror=6 */ " + QUERY),
    "an answer": Mirror((on_insert(5, mirror_hostgroup=6, OK_msg="no", apply=1),)),
    "no mirror": Mirror((on_insert(5, apply=1),)),
}


@pytest.mark.parametrize("mirror", CASES.values(), ids=CASES)
def test_the_copy_goes_where_the_router_says(rig: Rig, mirror: Mirror) -> None:
    rules = [{"rule_id": number, **cells} for number, cells in enumerate(mirror.rules, 1)]
    fast: list[Cells] = [
        {"username": "app", "schemaname": "shop", "flagIN": flag, "destination_hostgroup": to}
        for flag, to in mirror.fast.items()
    ]
    case = Case(rules, [], fast_routing=fast)
    router = router_of(case, rig.version)
    request = ClientQuery(mirror.query, "app", "shop", ADDRESSES[0], ADDRESSES[0], rig.ports[0])
    route = router.evaluate(request)
    copy = router.copy_of(request, route)
    routes = [way for way in (None if route.is_answered else route, copy) if way is not None]
    expected = sorted(str(way.destination_hostgroup) for way in routes)
    rig.observe(case)
    found: list[str] = []
    with closing(rig.connect(APP)) as session, session.cursor() as cursor:
        rig.backends.take()
        cursor.execute(mirror.query)

        def all_arrived() -> bool:
            arrived = rig.backends.take()
            found.extend(
                str(arrival.hostgroup)
                for arrival in arrived
                if not arrival.text.startswith(b"SET ")
            )
            return len(found) >= len(expected)

        until(all_arrived)
    assert sorted(found) == expected
