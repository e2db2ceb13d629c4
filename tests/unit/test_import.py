"""What `import` writes of a proxysql.cnf, and what it says of the rest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from proxyctl.catalog import REFERENCE
from proxyctl.formats.imported import leave_out_administrators
from proxyctl.state.fold import Exported
from tests.support.build import layout, row
from tests.support.cli import Project, proxyctl

ODD = r"""
admin_variables = { admin_credentials="admin:admin;app:x" ; ssl_keylog_file="keys" }
mysql_servers = ( { address="h" ; hostgroup=1 ; max_latency_ms=10000000 } )
mysql_replication_hostgroups = (
  { writer_hostgroup=1 ; reader_hostgroup=2 },
  { writer_hostgroup=2 ; reader_hostgroup=3 } )
mysql_users = (
  { username="app" ; password="hunter2" },
  { username="b" ; password="hunter2" ; attributes="[1e400]" },
  { username="c" ; password="hunter2" } )
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
    "p.cnf:2: admin-ssl_keylog_file: left out (see the comment in the file): expected",
    "p.cnf:3: server h:3306 in hostgroup 1: max_latency_ms 10000000 is written as 1410065",
    "p.cnf:6: replication hostgroups 2: left out",
    "p.cnf:8: user app: left out (see the comment in the file): an administrator has",
    "p.cnf:9: user b: left out (see the comment in the file): attributes: not JSON",
    "p.cnf:12: rule 1: left out (see the comment in the file): match_digest: not a",
    "p.cnf:14: rule 3: re_modifiers 'CASELESS, GLOBAL' is written as 'CASELESS'",
    "p.cnf:15: rule 4: left out",
    "p.cnf:16: rule 5: digest '123' is written as '0x000000000000007B'",
    "p.cnf:17: scheduler 1: left out",
    "p.cnf:18: proxysql server a:70000: left out",
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project(tmp_path, monkeypatch)
    made.write(ODD, "p.cnf")
    return made


@pytest.mark.parametrize("secrets", ["hash", "omit", "clear"])
def test_what_validate_would_refuse_is_reported_with_its_place(
    project: Project, secrets: str
) -> None:
    found = proxyctl("import", "p.cnf", "--secrets", secrets, "-o", "proxyctl.yaml")
    assert found.code == 0, found.text
    for said in SAID:
        assert f"warning: {said}" in found.err
    accepted = proxyctl("validate")
    assert accepted.code == 0, accepted.text
    assert "hunter2" not in found.text
    assert "deletes" not in found.err
    assert f"import left out or changed {len(SAID)} things: see the warnings above\n" in found.err


@pytest.mark.parametrize("secrets", ["hash", "omit", "clear"])
def test_a_user_named_like_an_administrator_is_a_comment(project: Project, secrets: str) -> None:
    users = 'mysql_users = ( {username="u"}, {username="stats"}, {username="v"} )'
    for credentials, names in (("", "stats"), ("x:y;u:z", "u|stats")):
        text = f'admin_variables = {{ admin_credentials = "{credentials}" }}' if credentials else ""
        project.write(text + users, "p.cnf")
        (project.folder / "proxyctl.yaml").unlink(missing_ok=True)
        found = proxyctl("import", "p.cnf", "--secrets", secrets, "-o", "proxyctl.yaml")
        lines = (project.folder / "proxyctl.yaml").read_text().splitlines()
        commented = [line for line in lines if line.startswith("#   - {username: ")]
        assert len(commented) == found.err.count("an administrator has this name too")
        assert re.findall(r"username: (\w+)", " ".join(commented)) == names.split("|")


def test_so_is_an_account_of_a_server_with_the_name_of_an_administrator() -> None:
    users = layout("mysql_users")
    exported = Exported(REFERENCE, {users.name: users})
    exported.tables[users.name] = [row(users.name, username=name) for name in ("admin", "app")]
    leave_out_administrators(exported, {})
    assert list(exported.left_out[users.name]) == [("admin", 1)]


SECRETS = """datadir="/d"
errorlog="/e"
admin_variables = { admin_credentials="admin:admin"; cluster_password="" }
mysql_variables =
{
    monitor_password="hunter2"
    poll_timeout=2000
    threads=4
}
"""


def test_secrets_are_named_with_their_lines_at_the_end(project: Project) -> None:
    project.write(SECRETS, "p.cnf")
    found = proxyctl("import", "p.cnf", "-o", "proxyctl.yaml")
    assert found.code == 0, found.text
    assert found.err.splitlines()[-4:] == [
        "secrets are comments in proxyctl.yaml: set the variable, remove the `#`",
        "  p.cnf:3: admin-admin_credentials: line 4 takes ADMIN_ADMIN_CREDENTIALS",
        "  p.cnf:6: mysql-monitor_password: line 5 takes MYSQL_MONITOR_PASSWORD",
        "stays in p.cnf, where ProxySQL reads it at every start: datadir, errorlog",
    ]
    written = (project.folder / "proxyctl.yaml").read_text().splitlines()
    assert written[3] == "  # admin-admin_credentials: {env: ADMIN_ADMIN_CREDENTIALS}   # secret"
    assert written[4] == "  # mysql-monitor_password: {env: MYSQL_MONITOR_PASSWORD}   # secret"


def test_a_section_of_secrets_only_is_a_comment_too_and_its_line_is_named(
    project: Project,
) -> None:
    project.write('admin_variables = { admin_credentials="admin:hunter2" }\n', "p.cnf")
    found = proxyctl("import", "p.cnf", "-o", "proxyctl.yaml")
    written = (project.folder / "proxyctl.yaml").read_text().splitlines()
    assert written[2] == "# variables:"
    assert "remove the `#`, also in line 3\n" in found.err


def test_an_empty_secret_and_a_default_are_written(project: Project) -> None:
    project.write(SECRETS.replace("hunter2", ""), "p.cnf")
    written = proxyctl("import", "p.cnf").out.splitlines()
    assert "  mysql-monitor_password: ''" in written
    assert "  mysql-poll_timeout: 2000" in written
    assert "  # mysql-threads: 4   # takes effect at a restart, or is local" in written


@pytest.mark.parametrize("given", ["default_charset", "default_collation_connection"])
def test_a_character_set_comes_with_its_collation_as_at_a_start_of_proxysql(
    project: Project, given: str
) -> None:
    pair = {"default_charset": "latin1", "default_collation_connection": "latin1_swedish_ci"}
    project.write(f'mysql_variables= {{ {given}="{pair[given]}" }}\n', "p.cnf")
    found = proxyctl("import", "p.cnf", "-o", "proxyctl.yaml")
    assert (found.code, "left out" in found.err) == (0, False), found.err
    text = (project.folder / "proxyctl.yaml").read_text()
    assert all(f"  mysql-{name}: {value}\n" in text for name, value in pair.items())
    assert proxyctl("validate").code == 0


def test_a_checksum_that_is_off_becomes_the_count_that_proxysql_takes_for_0(
    project: Project,
) -> None:
    text = "admin_variables = { checksum_mysql_users=false ; checksum_mysql_servers=true }\n"
    project.write(text, "p.cnf")
    found = proxyctl("import", "p.cnf", "-o", "proxyctl.yaml")
    written = (project.folder / "proxyctl.yaml").read_text().splitlines()
    assert "  admin-cluster_mysql_users_diffs_before_sync: 0" in written
    assert "  admin-checksum_mysql_servers: true" in written
    assert "import left out or changed 1 thing" in found.err
    assert proxyctl("validate").code == 0


def test_every_address_that_proxysql_listens_at_is_a_comment(project: Project) -> None:
    text = 'admin_variables = { mysql_ifaces="0.0.0.0:6032" ; pgsql_ifaces="0.0.0.0:6132" }\n'
    project.write(text, "p.cnf")
    written = proxyctl("import", "p.cnf", "--proxysql-version", "3.0.3").out.splitlines()
    assert [line.split(":")[0] for line in written[4:]] == [
        "  # admin-mysql_ifaces",
        "  # admin-pgsql_ifaces",
    ]
