"""What ProxySQL does with SET and USE, and where everything says so."""

from __future__ import annotations

import pytest

from proxyctl.catalog import Version
from proxyctl.routing.query import ClientQuery
from proxyctl.routing.special import Reply
from proxyctl.routing.tables import RoutingVariables
from tests.support.routing.set_forms import (
    SET_FORMS,
    USE_FORMS,
    WITH_MULTIPLEX,
    WITHOUT_LOCKS,
    SetForm,
    predicted,
)
from tests.unit.routed import router

EVERYTHING = {"match_digest": ".", "destination_hostgroup": 2}


@pytest.mark.parametrize("forms", [SET_FORMS, USE_FORMS], ids=["SET", "USE"])
@pytest.mark.parametrize("version", [Version(2, 7, 1), Version(3, 0, 3)], ids=str)
def test_every_form(forms, version):
    of = router(EVERYTHING, variables=RoutingVariables(version=version))
    assert [predicted(of, form.query) for form in forms] == list(forms)


@pytest.mark.parametrize("multiplex", [0, 1, 2])
def test_a_rule_with_multiplex_prevents_the_lock_of_one_statement_only(multiplex):
    of = router({**EVERYTHING, "multiplex": multiplex})
    assert [predicted(of, form.query) for form in WITH_MULTIPLEX] == list(WITH_MULTIPLEX)


def test_without_locks_every_set_goes_home():
    of = router(EVERYTHING, variables=RoutingVariables(set_query_lock_on_hostgroup=False))
    assert [predicted(of, form.query) for form in WITHOUT_LOCKS] == list(WITHOUT_LOCKS)


def test_a_setting_that_only_newer_releases_ignore():
    query = "SET session_track_system_variables='time_zone'"
    older, newer = (
        router(EVERYTHING, variables=RoutingVariables(version=version))
        for version in (Version(2, 7, 1), Version(3, 0, 3))
    )
    assert predicted(older, query) == SetForm(query, 2, locks=True)
    assert predicted(newer, query) == SetForm(query)


@pytest.mark.parametrize("query", ["SET sql_mode='ANSI'", "SET group_concat_max_len=1+1"])
@pytest.mark.parametrize("algorithm", [1, 3])
def test_another_parser_is_unknown(query, algorithm):
    of = router(EVERYTHING, variables=RoutingVariables(set_parser_algorithm=algorithm))
    assert of.evaluate(ClientQuery(query.encode(), "app")).reply is Reply.UNKNOWN
    for sure in ("SET @a=1", "SET sql_mode='ANSI'; SELECT 1"):  # no parser is asked
        assert predicted(of, sure) == SetForm(sure, 2, locks=True)


def test_without_digests_a_set_is_a_query_like_others():
    of = router({"destination_hostgroup": 2}, variables=RoutingVariables(query_digests=False))
    route = of.evaluate(ClientQuery(b"SET @a=1", "app"))
    assert (route.destination_hostgroup, route.special) == (2, None)


@pytest.mark.parametrize("column", ["OK_msg", "error_msg"])
def test_a_message_comes_before_set_and_after_use(column):
    of = router({**EVERYTHING, column: "denied"})
    for query in (b"SET sql_mode='ANSI'", b"SET @a=1", b"SET NAMES nosuch"):
        route = of.evaluate(ClientQuery(query, "app"))
        assert (route.settings[column], route.special) == ("denied", None)
    route = of.evaluate(ClientQuery(b"USE db1", "app"))
    assert column not in route.settings
    assert route.reply is Reply.OK


def test_a_character_set_at_which_proxysql_aborts():
    route = router(EVERYTHING).evaluate(ClientQuery(b"SET character_set_results=nosuch", "app"))
    assert route.reply is Reply.ERROR
    assert "makes ProxySQL abort" in route.special.effect


def test_an_executed_prepared_statement_follows_the_rules():
    route = router(EVERYTHING).evaluate(ClientQuery(b"SET sql_mode='ANSI'", "app", rewrites=False))
    assert (route.destination_hostgroup, route.special) == (2, None)


def test_local_files_are_refused_where_the_variable_is_off():
    query = b"LOAD DATA LOCAL INFILE 'x' INTO TABLE t"
    assert router(EVERYTHING).evaluate(ClientQuery(query)).reply is Reply.ERROR
    on = RoutingVariables(enable_load_data_local_infile=True)
    route = router(EVERYTHING, variables=on).evaluate(ClientQuery(query))
    assert (route.destination_hostgroup, route.reply) == (2, None)
