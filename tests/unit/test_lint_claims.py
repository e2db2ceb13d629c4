"""A rule that lint calls dead has no hit: random rule sets and queries in the evaluator."""

from __future__ import annotations

from random import Random

import pytest

from proxyctl.catalog import REFERENCE
from proxyctl.lint.check import all_checks
from proxyctl.lint.subject import LintSubject
from proxyctl.proxysql.configuration import ConfigTable, Configuration
from proxyctl.routing.dialect import MYSQL
from proxyctl.routing.query import ClientQuery
from tests.support.build import layout, row
from tests.support.parameters import some
from tests.support.routing.cases import random_case
from tests.support.routing.predicted import predict, router_of
from tests.support.routing.shapes import ADDRESSES, VARIABLES

PORTS = [6033, 6034, 6035]
DEAD = ("PX101", "PX104", "PX107", "PX122", "PX124", "PX201", "PX204", "PX208")


def case_of(random, ports=PORTS):
    """A case whose rules often hide others: apply, few columns, and prepared duplicates."""
    case = random_case(random, ports, queries=30)
    if int(case.variables.get("mysql-query_processor_iterations", "0")) > 1:
        case.variables["mysql-query_processor_iterations"] = "1"
    for rule in case.rules:
        if random.random() < 0.5:
            rule["apply"] = 1
        for name in ("client_addr", "proxy_addr", "proxy_port", "schemaname", "username"):
            if random.random() < 0.7:
                rule.pop(name, None)
        if random.random() < 0.4:
            rule.pop("negate_match_pattern", None)
        if random.random() < 0.3:
            rule["match_digest"] = random.choice(("^SELECT", "FROM", "x = 1", "a, b", "^S", "."))
    return case


def subject_of(case):
    values = {name: str(value) for name, value in (VARIABLES | case.variables).items()}
    made = {
        name: {layout(name).key_of(entry): entry for entry in (row(name, **c) for c in cells)}
        for name, cells in ((MYSQL.rules, case.rules), (MYSQL.fast_routing, case.fast_routing))
    }
    tables = {name: ConfigTable(layout(name), rows) for name, rows in made.items()}
    return LintSubject(Configuration(REFERENCE, tables, values))


def dead_rules(subject):
    """Return the rules that lint calls dead."""
    dead = set()
    negated = {rule.rule_id for rule in subject.rules if rule.negated}
    for code in DEAD:
        found = {
            key[0]
            for finding in all_checks()[code].find(subject)
            if finding.table == MYSQL.rules
            and (finding.severity or all_checks()[code].severity) == "error"
            for key in (finding.key, *finding.also)
        }
        dead |= found - negated if code.startswith("PX1") else found
    return dead


@pytest.mark.parametrize("seed", some(range(20)))
def test_a_dead_rule_has_no_hit(seed):
    random = Random(seed)
    for _ in range(5):
        case = case_of(random)
        hits = predict(case, PORTS).hits
        assert dead_rules(subject_of(case)) & hits.keys() == set(), case.rules


def request_of(client, query, flag):
    address = ADDRESSES[client.interface]
    port = PORTS[client.interface]
    return ClientQuery(
        query, client.username, client.schemaname, client.client_addr, address, port, flag
    )


@pytest.mark.parametrize("seed", some(range(20)))
def test_an_overwritten_destination_never_decides(seed):
    random = Random(seed)
    for _ in range(5):
        case = case_of(random)
        overwritten = {finding.key[0] for finding in all_checks()["PX202"].find(subject_of(case))}
        router = router_of(case)
        for client, query in case.queries if overwritten else ():
            for flag in range(4):
                route = router.evaluate(request_of(client, query, flag))
                assert route.rule_id not in overwritten, case.rules


def test_many_rules_are_found_dead():
    """The previous test would pass without any finding."""
    random = Random(1)
    dead = sum(len(dead_rules(subject_of(case_of(random)))) for _ in range(40))
    assert dead > 100
