"""What `import` writes of a proxysql.cnf is a file that `validate` accepts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli import Project, proxyctl

ODD = r"""
admin_variables = { admin_credentials="admin:admin;app:x" ; ssl_keylog_file="keys" }
mysql_servers = ( { address="h" ; hostgroup=1 ; max_latency_ms=10000000 } )
mysql_replication_hostgroups = (
  { writer_hostgroup=1 ; reader_hostgroup=2 },
  { writer_hostgroup=2 ; reader_hostgroup=3 } )
mysql_users = (
  { username="app" ; password="secret" },
  { username="b" ; password="secret" ; attributes="[1e400]" },
  { username="c" ; password="secret" } )
mysql_query_rules = (
  { rule_id=1 ; match_digest="((" },
  { rule_id=2 ; match_digest="((" ; active=0 },
  { rule_id=3 ; re_modifiers="CASELESS, GLOBAL" },
  { rule_id=4 ; client_addr="10.%.1" },
  { rule_id=5 ; digest="123" } )
scheduler = ( { id=1 ; interval_ms=1000 ; filename="/bin/a\"b" } )
proxysql_servers = ( { hostname="a" ; port=70000 } )
"""

SAID = (
    "p.cnf:2: admin-ssl_keylog_file: left out, a comment in the file shows it: expected",
    "p.cnf:3: mysql_servers 1:h:3306: max_latency_ms 10000000 is written as 1410065",
    "p.cnf:6: mysql_replication_hostgroups 2: left out",
    "p.cnf:9: mysql_users b:1: left out, a comment in the file shows it: attributes: a number",
    "p.cnf:12: mysql_query_rules 1: left out, a comment in the file shows it: match_digest: not a",
    "p.cnf:14: mysql_query_rules 3: re_modifiers 'CASELESS, GLOBAL' is written as 'CASELESS'",
    "p.cnf:15: mysql_query_rules 4: left out",
    "p.cnf:16: mysql_query_rules 5: digest '123' is written as '0x000000000000007B'",
    "p.cnf:17: scheduler 1: left out",
    "p.cnf:18: proxysql_servers a:70000: left out",
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project(tmp_path, monkeypatch)
    made.write(ODD, "p.cnf")
    return made


@pytest.mark.parametrize("secrets", ["hash", "omit", "clear"])
def test_what_validate_would_refuse_is_said_with_its_place(project: Project, secrets: str) -> None:
    found = proxyctl("import", "p.cnf", "--secrets", secrets, "-o", "proxyctl.yaml")
    assert found.code == 0, found.text
    for said in SAID:
        assert f"warning: {said}" in found.err
    accepted = proxyctl("validate")
    assert accepted.code == 0, accepted.text
    assert "secret" not in found.text
    assert "deletes" not in found.err


def test_a_user_with_the_login_of_an_administrator_is_left_out_where_that_is_written(
    project: Project,
) -> None:
    found = proxyctl("import", "p.cnf", "--secrets", "clear", "-o", "proxyctl.yaml")
    assert "p.cnf:8: mysql_users app:1: left out" in found.err
    assert "p.cnf:8: mysql_users: app is an administrator too" in found.err
