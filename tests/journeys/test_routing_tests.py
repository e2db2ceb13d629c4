"""The routing tests of the files: what passes, what a failure shows, what CI gets."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tests.support.cli import Outcome, Project, proxyctl
from tests.support.servers import Instance

RULES = r"""
version: 1
hostgroups:
  writer: {id: 10}
  reader: {id: 30}
mysql_users:
  - {username: app, password: {env: APP_PASSWORD}, default_hostgroup: writer}
mysql_query_rules:
  - {rule_id: 10, match_digest: '^SELECT.*FOR UPDATE$', destination_hostgroup: writer, apply: true}
  - {rule_id: 20, match_digest: '^SELECT', destination_hostgroup: reader, apply: true}
  - {rule_id: 30, match_pattern: 'ORDER BY c', replace_pattern: ''}
"""

PASSES = """
routing_tests:
  - {query: "SELECT 1", username: app, expect: {hostgroup: reader, rule_id: 20}}
  - {query: "UPDATE t SET a=1", username: app, expect: {hostgroup: writer, rule_id: null}}
  - {query: "SELECT 1", expect: {digest: "0x1C46AE529DD5A40E", digest_text: "SELECT ?"}}
  - {query: "SELECT 1", expect: {matched_rules: [20], rewritten: null, error_msg: null}}
"""

FAILS = """
routing_tests:
  - name: a lock that does not wait
    query: "SELECT 1 FOR UPDATE NOWAIT"
    username: app
    expect: {hostgroup: writer, rule_id: 10}
"""


def outcome_of(project: Project, text: str, *arguments: str) -> Outcome:
    project.write(RULES + text)
    return proxyctl("test", *arguments)


def test_what_passes_is_a_dot(offline: Project) -> None:
    found = outcome_of(offline, PASSES)
    assert (found.code, found.out) == (0, "....\n\n4 passed\n")


def test_a_failure_shows_the_difference_and_the_chain(offline: Project) -> None:
    found = outcome_of(offline, FAILS)
    assert found.code == 1
    assert found.out.splitlines() == [
        "F",
        "",
        "FAILED proxyctl.yaml:14  a lock that does not wait",
        "  query        SELECT 1 FOR UPDATE NOWAIT",
        "  session      user app",
        "  - hostgroup:     10 (writer)",
        "  + hostgroup:     30 (reader)",
        "  - rule_id:       10",
        "  + rule_id:       20",
        "",
        "    10  no     match_digest does not match the digest text   ^SELECT.*FOR UPDATE$",
        "    20  match  destination_hostgroup 30 (reader); apply",
        "        1 rule behind it not reached",
        "  goes to      hostgroup 30 (reader), rule 20",
        "",
        "1 failed, 0 passed",
    ]


def test_coverage_names_the_rules_that_no_test_reaches(offline: Project) -> None:
    found = outcome_of(offline, PASSES, "--coverage")
    assert found.code == 0
    assert found.out.splitlines()[-3:] == [
        "1 of 3 rules reached by a test (33%)",
        "  proxyctl.yaml:9  rule 10  ^SELECT.*FOR UPDATE$",
        "  proxyctl.yaml:11  rule 30  ORDER BY c",
    ]


def test_json_for_machines(offline: Project) -> None:
    found = outcome_of(offline, FAILS, "--format", "json", "--coverage").json
    (test,) = found["tests"]
    assert (found["format"], found["passed"], found["failed"]) == (1, 0, 1)
    assert (test["path"], test["line"], test["passed"]) == ("proxyctl.yaml", 14, False)
    assert test["failures"] == [
        {"key": "hostgroup", "expected": 10, "found": 30},
        {"key": "rule_id", "expected": 10, "found": 20},
    ]
    assert found["unreached_rules"] == [10, 30]


def test_junit_for_ci(offline: Project) -> None:
    control = 'routing_tests:\n  - {query: "SELECT \\x01", expect: {hostgroup: 7}}\n'
    more = FAILS.replace("routing_tests:\n", "").lstrip("\n")
    assert outcome_of(offline, PASSES + more, "--junit", "j.xml").code == 1
    (suite,) = ElementTree.parse(offline.folder / "j.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("5", "1")
    case = suite[4]
    assert (case.get("name"), case.get("file"), case.get("line")) == (
        "a lock that does not wait",
        "proxyctl.yaml",
        "18",
    )
    assert case[0].get("message") == (
        "hostgroup: expected 10 (writer), found 30 (reader); rule_id: expected 10, found 20"
    )
    assert outcome_of(offline, control, "--junit", "j.xml").code == 1
    assert ElementTree.parse(offline.folder / "j.xml")


def test_one_test_by_its_name(offline: Project) -> None:
    found = outcome_of(offline, PASSES, "-k", "UPDATE t", "-v")
    assert found.code == 0
    assert found.out.startswith("passed  proxyctl.yaml:15  UPDATE t SET a=1\n")
    assert proxyctl("test", "-k", "nothing like it").code == 1


def test_each_way_of_a_draw_has_to_pass(offline: Project) -> None:
    offline.write(
        """
version: 1
mysql_query_rules:
  - {rule_id: 1, attributes: {flagOUTs: [{id: 1, weight: 9}, {id: 2, weight: 1}]}}
  - {rule_id: 2, flagIN: 1, destination_hostgroup: 10, apply: true}
  - {rule_id: 3, flagIN: 2, destination_hostgroup: 20, apply: true}
routing_tests:
  - {query: "SELECT 1", expect: {hostgroup: 10}}
"""
    )
    found = proxyctl("test", "--coverage")
    assert found.code == 1
    assert "  by chance    10.0% of such queries go this way" in found.out
    assert "3 of 3 rules reached by a test (100%)" in found.out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the files have no routing_tests"),
        ('routing_tests: [{query: "SELECT 1"}]', "expect is missing"),
        ('routing_tests: [{query: "SELECT 1", expect: {}}]', "the test expects nothing"),
        ('routing_tests: [{query: "SELECT 1", expect: {hostgroup: wrtier}}]', "did you mean"),
        ('routing_tests: [{query: "SELECT 1", expect: {digest: abc}}]', "not a digest"),
        ('routing_tests: [{query: "SELECT 1", expect: {rule: 1}}]', "did you mean 'rule_id'"),
    ],
)
def test_tests_that_cannot_be_run(offline: Project, text: str, message: str) -> None:
    found = outcome_of(offline, text)
    assert found.code == 1
    assert message in found.err


def test_the_rules_of_an_instance(project: Project, instance: Instance) -> None:
    assert outcome_of(project, PASSES).code == 0
    address = ("--host", instance.host, "--port", str(instance.port))
    assert outcome_of(project, PASSES, *address).code == 1
    assert proxyctl("apply", "--auto-approve").code == 0
    assert outcome_of(project, PASSES, *address).code == 0


def test_a_test_that_met_unusual_syntax_is_marked_not_verified(offline: Project) -> None:
    offline.write(
        "version: 1\nmysql_query_rules:\n"
        "  - {rule_id: 1, match_digest: '(?<=SELECT )a', destination_hostgroup: 1, apply: true}\n"
        "  - {rule_id: 2, match_pattern: '(?<=x)y', destination_hostgroup: 2}\n"
        "routing_tests:\n"
        "  - {query: SELECT a, expect: {hostgroup: 1}}\n"
        "  - {query: SELECT b, expect: {hostgroup: null}}\n"
    )
    found = proxyctl("test")
    assert (found.code, found.out) == (
        0,
        "..\n\n"
        "warning      rule 1: unusual syntax in match_digest: 2 tests are not verified\n"
        "warning      rule 2: unusual syntax in match_pattern: 1 test is not verified\n"
        "2 passed\n",
    )
    tests = proxyctl("test", "--format", "json").json["tests"]
    assert [one["unverified_rules"] for one in tests] == [[1], [1, 2]]
