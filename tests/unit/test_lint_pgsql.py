"""Lint on the PostgreSQL side: the same checks of rules, under its own names."""

from __future__ import annotations

import pytest

from proxyctl.config.project import Sources, load_project
from proxyctl.lint.check import all_checks
from proxyctl.lint.run import ON_PGSQL, lint
from proxyctl.lint.subject import Subject
from tests.unit.config_files import write

RULES = """
version: 1
proxysql_version: {version}
keep_fast_routing_alive: false
pgsql_servers: [{{hostgroup_id: 1, hostname: db1}}]
pgsql_users: [{{username: app, password: {{env: APP}}, default_hostgroup: 1}}]
pgsql_query_rules:
  - {{rule_id: 1, database: crm, match_digest: '^SELECT', destination_hostgroup: 1, apply: true}}
  - {{rule_id: 2, database: crm, match_digest: '^SELECT a', destination_hostgroup: 1}}
  - {{rule_id: 3, username: bob, match_digest: '^DELETE', destination_hostgroup: 7}}
  - {{rule_id: 4, client_addr: 10.0.0.0/8, destination_hostgroup: 1, apply: true}}
pgsql_query_rules_fast_routing:
  - {{username: '', database: shop, flagIN: 0, destination_hostgroup: 1}}
"""


@pytest.fixture
def found(tmp_path, monkeypatch):
    """Code, line, column and text of each finding."""
    monkeypatch.setenv("APP", "sesame")

    def run(version, *ignores):
        path = write(tmp_path, RULES.format(version=version))
        project = load_project(Sources((path,)), takes_dead_rules=True)
        report = lint(Subject(project.configuration), [*all_checks().values()], ignores)
        return [
            (one.finding.code, one.where.line, one.finding.column, one.finding.text)
            for one in report.findings
            if one.finding.table.startswith("pgsql_")
        ]

    return run


def test_rules_of_the_pgsql_side(found):
    shadowed = "never reached: rule 1 matches all its queries first, and has apply"
    assert found("3.0.3") == [
        ("PX201", 9, None, shadowed),
        ("PX208", 10, "username", "no active row of pgsql_users has the frontend user `bob`"),
        ("PX311", 10, "destination_hostgroup", "hostgroup 7 has no server"),
        (
            "PX122",
            11,
            "client_addr",
            "client_addr `10.0.0.0/8`: no client has this address, and the rule never matches",
        ),
        (
            "PX210",
            11,
            "apply",
            "the last active rule has apply: ProxySQL never uses pgsql_query_rules_fast_routing",
        ),
    ]


def test_the_version_counts_here_too(found):
    assert [code for code, *_ in found("3.0.12")] == ["PX201", "PX208", "PX311", "PX122"]


def test_checks_that_hold_here_are_checks():
    assert all_checks().keys() >= ON_PGSQL


SPLIT = """
version: 1
proxysql_version: {version}
pgsql_servers: [{{hostgroup_id: 1, hostname: db1}}, {{hostgroup_id: 2, hostname: db2}}]
pgsql_replication_hostgroups: [{{writer_hostgroup: 1, reader_hostgroup: 2}}]
pgsql_users: [{{username: app, password: {{env: APP}}, default_hostgroup: 1}}]
pgsql_query_rules:
  - {{rule_id: 1, database: shop, match_digest: '{pattern}', destination_hostgroup: 1, apply: true}}
  - {{rule_id: 2, database: shop, match_digest: '^SELECT', destination_hostgroup: 2, apply: true}}
  - {{rule_id: 3, match_digest: 'id = 4$', destination_hostgroup: {to}}}
"""


@pytest.fixture
def of_split(tmp_path, monkeypatch):
    """Code, text and fix of each finding for a split with this pattern of locking reads."""
    monkeypatch.setenv("APP", "sesame")

    def run(pattern, version="3.0.3", destination=1):
        text = SPLIT.format(version=version, pattern=pattern, to=destination)
        path = write(tmp_path, text)
        project = load_project(Sources((path,)))
        found = lint(Subject(project.configuration), [*all_checks().values()], ()).findings
        return [(one.finding.code, one.finding.message, one.finding.fix) for one in found]

    return run


def test_locking_reads(of_split):
    [locking, digest] = of_split("^INSERT")
    assert locking[0] == "PX301"
    assert " FOR UPDATE` of user app in database shop to hostgroup 2" in locking[1]
    assert "SHARE MODE" not in " ".join(locking[1:]).upper()
    assert "'^SELECT.*(FOR (NO KEY )?UPDATE|FOR (KEY )?SHARE)'" in locking[2]
    assert digest[0] == "PX104"


def test_locking_reads_that_only_mysql_has_are_no_finding(of_split):
    assert [code for code, *_ in of_split("FOR (UPDATE|SHARE)")] == ["PX104"]


def test_digest_texts_of_postgresql_are_not_known_of_late(of_split):
    assert of_split("FOR (UPDATE|SHARE)", "3.0.12") == []


def test_a_hostgroup_without_servers_ends_in_a_state_of_sql(of_split):
    fixes = {code: fix for code, _, fix in of_split("FOR (UPDATE|SHARE)", destination=9)}
    assert fixes["PX311"].endswith(
        "a client waits for pgsql-connect_timeout_server_max, then gets SQLSTATE 08001"
    )
