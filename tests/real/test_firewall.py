"""What the firewall whitelist blocks, predicted and on a real ProxySQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

import pymysql
import pytest

from proxyctl.lint.check import all_checks
from proxyctl.lint.subject import LintSubject
from proxyctl.proxysql.configuration import ConfigTable, Configuration
from proxyctl.routing.dialect import MYSQL
from proxyctl.routing.digest import digest
from proxyctl.routing.explain import Explainer
from proxyctl.routing.query import ClientQuery
from proxyctl.rows.row import Key
from tests.support.build import layout, rows
from tests.support.routing.rig import Rig
from tests.support.routing.shapes import USERS, Client

pytestmark = pytest.mark.real

QUERY = "SELECT 1 FROM t"
NUMBER = digest(QUERY.encode()).hexadecimal
REWRITTEN = digest(b"SELECT 1 FROM u").hexadecimal
ANY, HERE = "", "127.0.0.1"
QUERIES = (
    *(QUERY, "BEGIN", "COMMIT", "SET NAMES utf8", "SET autocommit=1", "SET sql_mode=''"),
    *("USE shop", "SELECT @@version", "SHOW WARNINGS", "SELECT LAST_INSERT_ID()", "KILL QUERY 7"),
)
OFF = {"username": "app", "client_address": ANY, "mode": "OFF"}
PROTECTING = {**OFF, "mode": "PROTECTING"}
RULE = {
    "username": "app", "client_address": ANY, "schemaname": "shop", "flagIN": 0, "digest": NUMBER,
}  # fmt: skip


class Whitelist(NamedTuple):
    """The rows of the firewall whitelist."""

    users: tuple[dict[str, object], ...] = ()
    rules: tuple[dict[str, object], ...] = ()


CASES = (
    Whitelist(),
    *(Whitelist(({**OFF, "mode": mode},)) for mode in ("OFF", "DETECTING", "PROTECTING")),
    *(
        Whitelist(({**OFF, "client_address": address},))
        for address in (HERE, "%", "127.0.0.%", "127.0.0.0/8", "127.0.0.01", f"{HERE} ", "::1")
    ),
    *(Whitelist(({**OFF, "username": name},)) for name in ("App", "%", "", "app ")),
    Whitelist(({**OFF, "active": 0},)),
    Whitelist((OFF, {**PROTECTING, "client_address": HERE})),
    Whitelist((PROTECTING, {**OFF, "client_address": HERE})),
    Whitelist((OFF, {**PROTECTING, "client_address": HERE, "active": 0})),
    Whitelist((), (RULE,)),
    Whitelist(({**PROTECTING, "client_address": HERE},), ({**RULE, "client_address": HERE},)),
    Whitelist(({**PROTECTING, "client_address": HERE},), (RULE,)),
    *(
        Whitelist((PROTECTING,), ({**RULE, column: value},))
        for column, value in (
            *(("flagIN", 0), ("active", 0), ("client_address", HERE), ("flagIN", 1)),
            *(("schemaname", name) for name in ("", "%", "Shop", "shop%", "shop ", "crm")),
            *(("digest", text) for text in (NUMBER.lower(), NUMBER[2:], NUMBER[:10], REWRITTEN)),
            *(("digest", text) for text in ("", "SELECT ? FROM t", f" {NUMBER}")),
            ("digest", str(int(NUMBER, 16))),
        )
    ),
)


@pytest.fixture(scope="module")
def guarded(rig: Rig) -> Iterator[Rig]:
    """The rig with the firewall on."""
    rig.run("SET mysql-firewall_whitelist_enabled='true'")
    rig.run("LOAD MYSQL VARIABLES TO RUNTIME")
    yield rig
    for table in (*MYSQL.firewall_tables, "mysql_query_rules"):
        rig.run(f"DELETE FROM {table}")


def load(rig: Rig, whitelist: Whitelist, *statements: str) -> None:
    """Load a whitelist, and rules from these statements."""
    rig.run("DELETE FROM mysql_query_rules")
    for table, given in zip(MYSQL.firewall_tables, whitelist, strict=True):
        rig.run(f"DELETE FROM {table}")
        for cells in given:
            values = ", ".join(map(repr, cells.values()))
            rig.run(f"INSERT INTO {table} ({', '.join(cells)}, comment) VALUES ({values}, '')")
    for statement in statements:
        rig.run(statement)
    rig.run("LOAD MYSQL FIREWALL TO RUNTIME")
    rig.run("LOAD MYSQL QUERY RULES TO RUNTIME")


def configuration(rig: Rig, whitelist: Whitelist, **rule: object) -> Configuration:
    """What the rig holds."""
    given = {
        **dict(zip(MYSQL.firewall_tables, whitelist, strict=True)),
        "mysql_users": USERS,
        "mysql_query_rules": [rule] if rule else [],
    }
    tables = {name: ConfigTable(layout(name), rows(name, *some)) for name, some in given.items()}
    return Configuration(rig.version, tables, {"mysql-firewall_whitelist_enabled": "true"})


def is_blocked(rig: Rig, query: str = QUERY) -> bool:
    """Return whether ProxySQL answers with the firewall's error."""
    with closing(rig.connect(Client("app", "shop"))) as session, session.cursor() as cursor:
        try:
            cursor.execute(query)
        except pymysql.err.MySQLError as error:
            return error.args == (1148, "Firewall blocked this query")
        return False


def is_predicted(held: Configuration, query: str = QUERY) -> bool:
    """Return whether explain says so."""
    request = ClientQuery(query.encode(), "app", "shop", client_addr=HERE)
    route = Explainer(held).answer(request).route
    return route.settings.get("error_msg") == "Firewall blocked this query"


def test_explain_knows_what_a_whitelist_blocks(guarded: Rig) -> None:
    wrong = []
    for case in CASES:
        load(guarded, case)
        if is_blocked(guarded) is not is_predicted(configuration(guarded, case)):
            wrong.append(case)
    assert wrong == []


def test_lint_names_who_is_blocked_and_rows_that_never_match(guarded: Rig) -> None:
    silent, wrong = [], []
    for case in CASES:
        load(guarded, case)
        subject = LintSubject(configuration(guarded, case))
        is_found = ("app",) in keys(subject, "PX561") or not keys(subject, "PX562").isdisjoint(
            subject.configuration.tables[MYSQL.firewall_tables[1]].rows
        )
        is_stopped = is_blocked(guarded)
        if is_found and not is_stopped:
            wrong.append(case)
        if is_stopped and not is_found:
            silent.append(case)
    assert wrong == []
    # Rows for another address, another schema, another query, and a row that the address replaces.
    assert len(silent) == 7, silent


def keys(subject: LintSubject, code: str) -> set[Key]:
    """Return the rows with an error; users by their name."""
    check = all_checks()[code]
    found = (
        finding
        for finding in check.find(subject)
        if (finding.severity or check.severity) == "error"
    )
    every = (key for finding in found for key in (finding.key, *finding.also))
    return {key[:1] if code == "PX561" else key for key in every}


@pytest.mark.parametrize("query", QUERIES)
def test_statements_that_proxysql_handles_itself(guarded: Rig, query: str) -> None:
    case = Whitelist((PROTECTING,))
    load(guarded, case)
    assert is_blocked(guarded, query) is is_predicted(configuration(guarded, case), query)


@pytest.mark.parametrize(
    ("rule", "whitelisted"),
    [
        ({"match_digest": "^SELECT", "OK_msg": "no"}, {}),
        ({"match_digest": "^SELECT", "flagOUT": 5}, {}),
        ({"match_digest": "^SELECT", "flagOUT": 5}, {"flagIN": 5}),
        ({"match_digest": "^SELECT", "flagOUT": 5, "apply": 1}, {"flagIN": 5}),
        ({"match_pattern": "FROM t", "replace_pattern": "FROM u"}, {"digest": NUMBER}),
        ({"match_pattern": "FROM t", "replace_pattern": "FROM u"}, {"digest": REWRITTEN}),
        ({"match_digest": "^SELECT", "destination_hostgroup": 3, "apply": 1}, {"flagIN": 1}),
    ],
)
def test_rules_and_the_firewall(
    guarded: Rig, rule: dict[str, object], whitelisted: dict[str, object]
) -> None:
    case = Whitelist((PROTECTING,), ({**RULE, **whitelisted},) if whitelisted else ())
    cells = {"rule_id": 1, "active": 1, **rule}
    values = ", ".join(map(repr, cells.values()))
    load(guarded, case, f"INSERT INTO mysql_query_rules ({', '.join(cells)}) VALUES ({values})")
    held = configuration(guarded, case, **cells)
    assert is_blocked(guarded) is is_predicted(held)
