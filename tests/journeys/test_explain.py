"""explain: invalid files of queries, odd queries, and the rules of an instance.

`tests/golden/pages/explain.md` has its output for queries.
"""

from __future__ import annotations

import pytest

from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import applied
from tests.support.servers.instances import Instance

RULES = """
hostgroups: {writer: {id: 10}, reader: {id: 30}}
mysql_servers:
  - {hostgroup_id: reader, hostname: db2.example.com}
  - {hostgroup_id: reader, hostname: db3.example.com, status: OFFLINE_SOFT}
mysql_users:
  - {username: app, password: {env: APP_PASSWORD}, default_hostgroup: writer}
mysql_query_rules:
  - {rule_id: 40, match_digest: '^SELECT', destination_hostgroup: reader, apply: true}
"""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("SELECT 1", "not JSON: "),
        ("[]", "expected an object with the key `query`"),
        ('{"query": "SELECT 1", "user": "app"}', "unknown key 'user'; the keys are query, "),
        ('{"query": "SELECT 1", "flagIN": -1}', "`flagIN` is not an integer of 0 or more"),
        (r'{"query": "\ud800"}', "`query` contains half a character (a lone surrogate)"),
    ],
)
def test_a_line_that_is_no_query(offline: Project, line: str, message: str) -> None:
    offline.write(RULES)
    offline.write(f'{{"query": "SELECT 1"}}\n\n{line}\n', "q.jsonl")
    found = proxyctl("explain", "--queries", "q.jsonl")
    assert found.code == 1
    assert f"q.jsonl:3:1: {message}" in found.err
    assert found.out == ""


def test_the_schema_that_is_assumed_of_a_user(offline: Project) -> None:
    user = "username: app, password: {env: APP_PASSWORD}"
    offline.monkeypatch.setenv("SCHEMA", "hidden")
    asked = ("explain", "SELECT 1", "--username", "app")
    for more, variable, schema in (
        ("", "hq", "hq (mysql-default_schema)"),
        ("default_schema: shop", "hq", "shop (default_schema"),
        ("", "{env: SCHEMA}", "(sensitive) ("),
        ("default_schema: {env: SCHEMA}", "hq", "(sensitive) ("),
    ):
        text = (
            f"mysql_users: [{{{user}, {more}}}]\nvariables: {{mysql-default_schema: {variable}}}\n"
        )
        offline.write(text)
        found = proxyctl(*asked)
        assert f"session      user app, schema {schema}" in found.out
        assert "hidden" not in found.text
    assert "session      user app, schema x\n" in proxyctl(*asked, "--schemaname", "x").out


def test_an_instance_is_asked_when_the_command_line_names_it(
    project: Project, instance: Instance
) -> None:
    project.write(RULES)
    applied("--force")
    project.write("version: 1\nhostgroups: {replica: {id: 30}}\nmysql_query_rules: []\n")
    address = ("--host", instance.host, "--port", str(instance.port))
    asked = ("explain", "SELECT 1", "--username", "app", "--format", "json")
    of_files, of_instance = proxyctl(*asked).json, proxyctl(*asked, *address).json
    assert (of_files["destination_hostgroup"], of_instance["destination_hostgroup"]) == (None, 30)
    assert [server["hostname"] for server in of_instance["servers"]] == [
        "db2.example.com",
        "db3.example.com",
    ]
    text = proxyctl(*asked[:-2], *address).out
    assert f"rules        RUNTIME of {instance.host}:{instance.port}\n" in text
    assert "goes to      hostgroup 30 (replica), rule 40\n" in text
    instance.execute("DELETE FROM mysql_query_rules")
    assert proxyctl(*asked, *address).json["destination_hostgroup"] == 30
    assert proxyctl(*asked, *address, "--layer", "memory").json["destination_hostgroup"] == 10
