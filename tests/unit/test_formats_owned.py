"""Rendered files own what the files that they come from own, and no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from proxyctl.cli.app import run
from proxyctl.config.project import Sources, load_project

FILE = """
hostgroups: {writer: {id: 10}}
mysql_servers: [{hostgroup_id: writer, hostname: db1, weight: 5}]
mysql_users: [{username: app_1, password: secret}, {username: app_2}]
mysql_query_rules: [{rule_id: 10}]
variables: {mysql-threads: 4}
manage:
  mysql_servers: {hostgroup_id: [writer, 11], hostname: "db?*"}
  mysql_users: {username: ["app_*", "it's"]}
  mysql_query_rules: {rule_id: "10-99,500"}
  ignore: {mysql_servers: [weight, comment]}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("proxyctl.yaml").write_text(FILE)
    return tmp_path


def test_rendered_yaml_owns_what_the_files_own(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["render"]) == 0
    (folder / "again.yaml").write_text(capsys.readouterr().out)
    tables = load_project(Sources(("proxyctl.yaml",))).desired.tables
    again = load_project(Sources(("again.yaml",))).desired.tables
    assert again.keys() == tables.keys()
    for name, table in tables.items():
        scope, other = table.scope, again[name].scope
        assert (scope and scope.terms) == (other and other.terms)
        assert table.keep_on_update == again[name].keep_on_update
    assert tables["mysql_servers"].rows == again["mysql_servers"].rows


def test_a_cnf_says_what_it_cannot_keep_apart(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["render", "--format", "cnf"]) == 0
    assert "# mysql_query_rules: the files own rule_id 10-99,500 and nothing else of it\n" in (
        capsys.readouterr().out
    )


def test_a_script_without_passwords_says_that_it_creates_no_users(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["render", "--format", "sql", "--secrets", "omit"]) == 0
    assert "-- this script holds no passwords and creates no users" in capsys.readouterr().out
