"""Where a query goes: asked of files, of an instance, one query or many."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest

from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

RULES = r"""
version: 1
hostgroups:
  writer: {id: 10}
  reader: {id: 30}
  lost: {id: 99}
mysql_servers:
  - {hostgroup_id: writer, hostname: db1.example.com}
  - {hostgroup_id: reader, hostname: db2.example.com, weight: 10}
  - {hostgroup_id: reader, hostname: db3.example.com, weight: 1, status: OFFLINE_SOFT}
mysql_users:
  - {username: app, password: {env: APP_PASSWORD}, default_hostgroup: writer}
mysql_query_rules:
  - {rule_id: 5, username: audit, destination_hostgroup: lost, apply: true}
  - {rule_id: 10, match_pattern: 'DISTINCT(.*) ORDER BY c$', replace_pattern: 'DISTINCT\1'}
  - {rule_id: 20, match_digest: 'secret', error_msg: 'not here', apply: true}
  - {rule_id: 30, match_digest: '^SELECT.*FOR UPDATE', destination_hostgroup: writer, apply: true}
  - rule_id: 40
    match_digest: '^SELECT'
    destination_hostgroup: reader
    cache_ttl: 500
    apply: true
"""


@pytest.fixture
def rules(offline: Project) -> Project:
    """A folder with a read/write split."""
    offline.write(RULES)
    return offline


def explained(*arguments: str) -> list[str]:
    found = proxyctl("explain", *arguments)
    assert found.code == 0, found.err
    return found.out.splitlines()


def test_the_chain_the_destination_and_its_servers(rules: Project) -> None:
    assert explained("SELECT DISTINCT c FROM t WHERE id=7 ORDER BY c", "--username", "app") == [
        "query        SELECT DISTINCT c FROM t WHERE id=7 ORDER BY c",
        "session      user app",
        "digest       0x5EE27BF6E62D3590  SELECT DISTINCT c FROM t WHERE id=? ORDER BY c",
        "",
        "   5  no     another username   audit",
        "  10  match  rewrites",
        "             becomes: SELECT DISTINCT c FROM t WHERE id=7",
        "  20  no     match_digest does not match the digest text   secret",
        "  30  no     match_digest does not match the digest text   ^SELECT.*FOR UPDATE",
        "  40  match  cache_ttl 500 ms; destination_hostgroup 30 (reader); apply",
        "",
        "becomes      SELECT DISTINCT c FROM t WHERE id=7",
        "counted as   0x7BD7869836A2F9A9  SELECT DISTINCT c FROM t WHERE id=?",
        "set          cache_ttl 500 ms",
        "goes to      hostgroup 30 (reader), rule 40",
        "servers      db2.example.com:3306 weight 10, db3.example.com:3306 OFFLINE_SOFT weight 1",
    ]


def test_what_no_rule_sends_goes_where_the_user_belongs(rules: Project) -> None:
    assert explained("INSERT INTO t VALUES (1)", "--username", "app")[-2:] == [
        "goes to      hostgroup 10 (writer), default_hostgroup of the user: no rule sets one",
        "servers      db1.example.com:3306",
    ]
    assert explained("INSERT INTO t VALUES (1)")[-1] == (
        "goes to      default_hostgroup of the user: no user was given (--username)"
    )
    assert explained("INSERT INTO t VALUES (1)", "--username", "bob")[-1] == (
        "goes to      default_hostgroup of the user: bob is not among the users"
    )


def test_what_is_not_evaluated_is_named(offline: Project) -> None:
    offline.write(
        """
version: 1
variables: {mysql-firewall_whitelist_enabled: true}
mysql_users: [{username: bulk, password: x, default_hostgroup: 3, fast_forward: true}]
mysql_query_rules: [{rule_id: 1, destination_hostgroup: 9, apply: true}]
"""
    )
    assert explained("SELECT 1", "--username", "bulk")[-3:] == [
        "goes to      hostgroup 3, default_hostgroup of the user:"
        " with fast_forward rules are skipped",
        "servers      not in these files",
        "warning      not evaluated here: the firewall whitelist, which may block it",
    ]


def test_a_query_that_no_server_sees(rules: Project) -> None:
    assert explained("SELECT secret FROM t")[-2:] == [
        "answered     error 1148 not here: no server sees it",
        "goes to      no server",
    ]
    assert explained("SET NAMES utf8mb4")[-2:] == [
        "note         ProxySQL answers OK and keeps the setting for the session"
        " (rules are not evaluated)",
        "goes to      no server",
    ]


def test_a_hostgroup_without_servers(rules: Project) -> None:
    assert explained("SELECT 1", "--username", "audit")[-1] == (
        "servers      none: a query waits for mysql-connect_timeout_server_max, then fails"
    )


def test_rules_that_fail_alike_are_counted(offline: Project) -> None:
    lines = "".join(
        f"  - {{rule_id: {n}, match_digest: 'FROM t{n}$', destination_hostgroup: {n}}}\n"
        for n in range(1, 101)
    )
    offline.write(f"version: 1\nmysql_query_rules:\n{lines}")
    found = explained("SELECT 1")
    assert "  1 to 100: 100 rules: match_digest does not match the digest text" in found
    assert len(explained("SELECT 1", "--all-rules")) == len(found) + 99


def test_a_pattern_that_does_not_compile_never_matches(offline: Project) -> None:
    offline.write("version: 1\nmysql_query_rules: [{rule_id: 1, match_digest: 'a('}]\n")
    assert (
        "  1  no     match_digest does not compile, so the rule never matches:"
        " missing closing parenthesis, at byte 3   a("
    ) in explained("SELECT 1")


def test_unusual_syntax_is_reported_for_the_rules_that_were_tried(offline: Project) -> None:
    offline.write(
        "version: 1\nmysql_query_rules:\n"
        "  - {rule_id: 1, username: web, match_digest: '(?<=a)b', destination_hostgroup: 1}\n"
        "  - {rule_id: 2, match_digest: '(?<=a)b', destination_hostgroup: 1}\n"
        "  - {rule_id: 3, match_pattern: '^SELECT', destination_hostgroup: 2, apply: true}\n"
        "  - {rule_id: 4, match_pattern: '(?<=a)b', destination_hostgroup: 3}\n"
    )
    warnings = [line for line in explained("SELECT 1") if line.startswith("warning")]
    assert warnings == ["warning      rule 2: unusual syntax in match_digest: not verified"]
    asked = json.loads(proxyctl("explain", "SELECT 1", "--format", "json").out)
    assert [rule["unverified"] for rule in asked["rules"]] == [
        ["match_digest"],
        ["match_digest"],
        [],
        ["match_pattern"],
    ]


def test_a_draw_shows_every_way(offline: Project) -> None:
    ways = '{"flagOUTs": [{"id": 1, "weight": 3}, {"id": 2, "weight": 1}]}'
    offline.write(
        f"""
version: 1
mysql_query_rules:
  - {{rule_id: 1, match_digest: '^SELECT', attributes: '{ways}'}}
  - {{rule_id: 2, flagIN: 1, destination_hostgroup: 10, apply: true}}
  - {{rule_id: 3, flagIN: 2, destination_hostgroup: 20, apply: true}}
"""
    )
    assert explained("SELECT 1")[-3:] == [
        "by chance    rule 1 draws flagOUT by weight; above is the likeliest way of:",
        "              75.0%  hostgroup 10",
        "              25.0%  hostgroup 20",
    ]


def test_no_secret_is_needed(rules: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("APP_PASSWORD")
    assert "goes to      hostgroup 10 (writer), rule 30" in explained("SELECT 1 FOR UPDATE")


def batch(lines: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    stdin = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", stdin)
    found = proxyctl("explain", "--queries", "-", "--format", "jsonl")
    assert found.code == 0, found.err
    return [json.loads(line) for line in found.out.splitlines()]


def test_the_batch_form(rules: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = batch(
        [
            {"query": "SELECT DISTINCT c FROM t ORDER BY c", "username": "app"},
            {"query": "SELECT secret"},
            {"query": "UPDATE t SET a=1", "username": None, "flagIN": 0},
        ],
        monkeypatch,
    )
    assert first == {
        "digest_text": "SELECT DISTINCT c FROM t",
        "digest": "0x32A4453D5B96F60C",
        "matched_rules": [10, 40],
        "destination_hostgroup": 30,
        "rewritten_query": "SELECT DISTINCT c FROM t",
        "cache_ttl": 500,
        "error_msg": None,
        "OK_msg": None,
        "match_digest_text": "SELECT DISTINCT c FROM t ORDER BY c",
    }
    assert (second["error_msg"], second["matched_rules"]) == ("not here", [20])
    assert (third["destination_hostgroup"], third["matched_rules"]) == (None, [])


def test_bytes_that_are_no_text_survive_the_batch(
    rules: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    (found,) = batch([{"query": "SELECT DISTINCT '\udcff' ORDER BY c"}], monkeypatch)
    assert found["rewritten_query"] == "SELECT DISTINCT '\udcff'"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("SELECT 1", "not JSON: "),
        ("[]", "expected an object with the key `query`"),
        ('{"username": "app"}', "`query` is missing or not text"),
        ('{"query": "SELECT 1", "user": "app"}', "unknown key 'user'; the keys are query, "),
        ('{"query": "SELECT 1", "flagIN": -1}', "`flagIN` is not a number of 0 or more"),
        ('{"query": "SELECT 1", "username": 7}', "`username` is not text"),
        (r'{"query": "\ud800"}', "`query` holds half a character (a lone surrogate)"),
    ],
)
def test_a_line_that_is_no_query(rules: Project, line: str, message: str) -> None:
    rules.write(f'{{"query": "SELECT 1"}}\n\n{line}\n', "q.jsonl")
    found = proxyctl("explain", "--queries", "q.jsonl")
    assert found.code == 1
    assert f"q.jsonl:3:1: {message}" in found.err
    assert len(found.out.splitlines()) == 1


def test_awkward_queries_are_answered(rules: Project) -> None:
    for query in ("", "/*", "'", "#", "SELECT 'open", "\udcff\udcfe", "SELECT " + "1," * 200_000):
        assert proxyctl("explain", query).code == 0


def test_wrong_command_lines(rules: Project) -> None:
    assert proxyctl("explain").code == 64
    assert proxyctl("explain", "SELECT 1", "--queries", "q.jsonl").code == 64
    found = proxyctl("explain", "--queries", "q.jsonl", "--username", "app")
    assert found.code == 64
    assert "--username: with --queries, each line of the file gives its own" in found.err
    assert proxyctl("explain", "--queries", "missing.jsonl").code == 1


def test_an_instance_is_asked_when_the_command_line_names_it(
    project: Project, instance: Instance
) -> None:
    project.write(RULES)
    assert proxyctl("apply", "--auto-approve").code == 0
    project.write("version: 1\nmysql_query_rules: []\n")
    address = ("--host", instance.host, "--port", str(instance.port))
    asked = ("explain", "SELECT 1", "--username", "app", "--format", "json")
    of_files, of_instance = proxyctl(*asked).json, proxyctl(*asked, *address).json
    assert (of_files["destination_hostgroup"], of_instance["destination_hostgroup"]) == (None, 30)
    assert [server["hostname"] for server in of_instance["servers"]] == [
        "db2.example.com",
        "db3.example.com",
    ]
    instance.execute("DELETE FROM mysql_query_rules")
    assert proxyctl(*asked, *address).json["destination_hostgroup"] == 30
    assert proxyctl(*asked, *address, "--layer", "memory").json["destination_hostgroup"] == 10


def test_a_pattern_that_does_not_compile_is_no_miss_like_the_others(
    sandbox_project: Project,
) -> None:
    rule = "  - {{rule_id: {}, match_pattern: '{}', destination_hostgroup: 1}}\n"
    patterns = ("a", "b", "[a-", "c", "d")
    rules = "".join(rule.format(number, text) for number, text in enumerate(patterns, 1))
    sandbox_project.write(f"version: 1\nmysql_query_rules:\n{rules}")
    out = proxyctl("explain", "SELECT 1").out
    assert "3  no     match_pattern does not compile, so the rule never matches" in out


def test_rules_of_the_postgresql_side(offline: Project) -> None:
    offline.write(
        "version: 1\nproxysql_version: '3.0.3'\n"
        "pgsql_query_rules:\n"
        "  - {rule_id: 1, database: crm, match_digest: '^SELECT', destination_hostgroup: 2}\n"
    )
    lines = explained("SELECT 1", "--pgsql", "--schemaname", "crm")
    assert "  1  match  destination_hostgroup 2" in lines
    assert lines[-1].startswith("warning      not evaluated here: what ProxySQL itself does")
    assert "  1  no     another database   crm" in explained("SELECT 1", "--pgsql")
