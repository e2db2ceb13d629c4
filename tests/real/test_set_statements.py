"""What a real ProxySQL does with SET and USE, compared with the prediction.

PROXYCTL_TEST_SETS is the number of random SETs.
"""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path
from random import Random

import pymysql
import pytest

from proxyctl.routing.query import ClientQuery
from tests.support.routing.predicted import router_of
from tests.support.routing.rig import Rig
from tests.support.routing.set_forms import (
    SET_FORMS,
    USE_FORMS,
    WITH_MULTIPLEX,
    WITHOUT_LOCKS,
    SetForm,
    predicted,
    random_set,
)
from tests.support.routing.shapes import Case, Client
from tests.support.servers.instances import needed_binary

pytestmark = [pytest.mark.real, pytest.mark.since("2.6.0", "another parser reads SET")]

SETS = int(os.environ.get("PROXYCTL_TEST_SETS", "100"))
APP = Client("app")
EVERYTHING = {"rule_id": 1, "match_digest": ".", "destination_hostgroup": 2}
NO_LOCKS = {"mysql-set_query_lock_on_hostgroup": "0"}
CASES = {
    "a rule": (Case([EVERYTHING], []), (*SET_FORMS, *USE_FORMS)),
    "a rule with multiplex": (Case([{**EVERYTHING, "multiplex": 0}], []), WITH_MULTIPLEX),
    "no locks": (Case([EVERYTHING], [], variables=NO_LOCKS), WITHOUT_LOCKS),
}


def done(rig: Rig, query: str) -> SetForm:
    """Return what happens to a statement in a new session."""
    with closing(rig.connect(APP)) as session, closing(session.cursor()) as cursor:
        rig.backends.take()
        errno = None
        try:
            cursor.execute(query)
        except pymysql.MySQLError as error:
            errno = error.args[0]
        arrived = [
            arrival.hostgroup for arrival in rig.backends.take() if arrival.text != b"SELECT 1"
        ]
        cursor.execute("PROXYSQL INTERNAL SESSION")
        locked = json.loads(cursor.fetchall()[0][0])["locked_on_hostgroup"]
    hostgroup = arrived[-1] if arrived else None
    assert locked in (-1, hostgroup)
    return SetForm(query, hostgroup, locks=locked != -1, errno=errno)


@pytest.mark.parametrize("name", CASES)
def test_every_form(rig: Rig, name: str) -> None:
    case, forms = CASES[name]
    rig.observe(case)
    assert [done(rig, form.query) for form in forms] == list(forms)


def test_random_sets(rig: Rig) -> None:
    case = Case([EVERYTHING], [])
    rig.observe(case)
    router = router_of(case, rig.version)
    random = Random(7)
    queries = [random_set(random) for _ in range(SETS)]
    pairs = [(done(rig, query), predicted(router, query)) for query in queries]
    assert [pair for pair in pairs if pair[0] != pair[1]] == []


@pytest.mark.parametrize("column", ["OK_msg", "error_msg"])
def test_a_message_comes_before_set_and_after_use(rig: Rig, column: str) -> None:
    case = Case([{**EVERYTHING, column: "denied"}], [])
    rig.observe(case)
    router = router_of(case, rig.version)
    seen = rig.send(APP, "SET @a=1", "SET sql_mode='ANSI'", "SET NAMES nosuch", "USE shop")
    answers = {query: result.answer for query, result in seen.items()}
    denied = "OK denied" if column == "OK_msg" else "ERR denied"
    assert answers.pop("USE shop") == "OWN"
    assert set(answers.values()) == {denied}
    for query in seen:
        route = router.evaluate(ClientQuery(query.encode(), "app"))
        assert (column in route.settings) is (query != "USE shop")


def test_an_unknown_character_set_aborts_proxysql(tmp_path: Path) -> None:
    with Rig(needed_binary(), tmp_path) as rig:
        rig.observe(Case([EVERYTHING], []))
        with (
            closing(rig.connect(APP)) as session,
            closing(session.cursor()) as cursor,
            pytest.raises(pymysql.MySQLError),
        ):
            cursor.execute("SET character_set_results=nosuch")
        with pytest.raises(pymysql.MySQLError):
            rig.run("SELECT 1")
