"""Rules of the PostgreSQL side, asked under the names of the MySQL side."""

from __future__ import annotations

import pytest

from proxyctl.catalog import TABLES, Version, layout_of
from proxyctl.errors import ProxyctlError
from proxyctl.render.explain import explain_text
from proxyctl.routing import Request, Source
from proxyctl.routing.explain import Explainer
from proxyctl.routing.sides import pgsql_as_mysql
from proxyctl.state.configuration import Configuration, Held

PROVEN = Version(3, 0, 3)


def held(table, version, *rows):
    layout = layout_of(TABLES[table], version)
    defaults = dict(zip(layout.names, layout.defaults, strict=True))
    whole = [tuple({**defaults, **cells}.values()) for cells in rows]
    return Held(layout, {layout.key_of(row): row for row in whole})


def explainer(*rules, fast=(), version=PROVEN, **variables):
    numbered = [{"rule_id": number, "active": 1, **cells} for number, cells in enumerate(rules, 1)]
    tables = {
        name: held(name, version, *rows)
        for name, rows in {
            "mysql_query_rules": [{"rule_id": 1, "active": 1, "destination_hostgroup": 99}],
            "pgsql_query_rules": numbered,
            "pgsql_query_rules_fast_routing": fast,
            "pgsql_users": [{"username": "app", "default_hostgroup": 1}],
            "pgsql_servers": [{"hostgroup_id": 1, "hostname": "db1"}],
        }.items()
    }
    given = {f"pgsql-{name}": value for name, value in variables.items()}
    given["mysql-query_digests"] = "false"
    return Explainer(pgsql_as_mysql(Configuration(version, tables, given)))


def answer(of, query, database=None):
    return of.answer(Request(query, "app", database))


def test_rules_ask_for_the_database():
    of = explainer({"database": "crm", "destination_hostgroup": 2})
    assert answer(of, b"SELECT 1", "crm").route.destination_hostgroup == 2
    missed = answer(of, b"SELECT 1", "shop")
    assert missed.route.source is Source.DEFAULT_HOSTGROUP
    assert "  1  no     only for database   crm\n" in explain_text(missed)
    assert "servers      db1:5432\n" in explain_text(missed)
    # Without a database it is that of the user's name.
    own = explainer({"database": "app", "destination_hostgroup": 2})
    assert answer(own, b"SELECT 1").route.destination_hostgroup == 2


def test_fast_routing_of_a_database():
    row = {"username": "app", "database": "shop", "flagIN": 0, "destination_hostgroup": 7}
    of = explainer(fast=[{**row, "comment": ""}])
    assert answer(of, b"SELECT 1", "shop").route.destination_hostgroup == 7


def test_statements_that_only_mysql_answers_go_along_the_rules():
    of = explainer({"match_digest": "^USE|SHOW", "destination_hostgroup": 2})
    for query in (b"USE x", b"SHOW WARNINGS"):
        assert answer(of, query).route.destination_hostgroup == 2
    assert "not evaluated here: what ProxySQL itself does with SET" in explain_text(
        answer(of, b"USE")
    )


@pytest.mark.parametrize(
    ("query", "text"),
    [(b"SELECT 1 ", "SELECT ? "), (b"SELECT 1;", "SELECT ?;"), (b"SELECT 1 -- x", "SELECT ?")],
)
def test_the_end_of_a_query_is_no_end_to_its_digest(query, text):
    """As a 3.0.3 shows: the NUL behind the query is read as one more byte of it."""
    assert answer(explainer(), query).digest_text == text


def test_digests_are_not_verified_beyond_the_proven_release():
    assert answer(explainer(), b"SELECT 1").doubts == ()
    (doubt,) = answer(explainer(version=Version(3, 0, 4)), b"SELECT 1").doubts
    assert doubt.startswith("the digest: PostgreSQL queries")


def test_variables_are_those_of_the_pgsql_side():
    text = explain_text(answer(explainer(query_digests="false"), b"SELECT 1"))
    assert "none: pgsql-query_digests is false" in text


def test_a_version_without_a_pgsql_side_is_refused():
    with pytest.raises(ProxyctlError, match=r"ProxySQL 2\.7\.1 has no PostgreSQL side"):
        pgsql_as_mysql(Configuration(Version(2, 7, 1), {}))
