"""What comes by {env: ...} or {file: ...} is a secret in whatever column it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.journeys.story import applied, plan
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

ANY_COLUMN = """\
version: 1
variables: {mysql-init_connect: {env: APP_PASSWORD}}
mysql_servers: [{hostgroup_id: 1, hostname: {file: host}}]
mysql_hostgroup_attributes: [{hostgroup_id: 1, init_connect: {env: APP_PASSWORD}}]
mysql_servers_ssl_params: [{hostname: a, port: 1, ssl_key: {env: APP_PASSWORD}}]
scheduler: [{id: 1, interval_ms: 1000, filename: /x, arg1: {env: APP_PASSWORD}}]
"""
OLD, NEW = "SET @a='the first'", "SET @a='the second'"


@pytest.mark.since("2.6.0", "no mysql_servers_ssl_params")
@pytest.mark.parametrize("command", ["plan", "drift", "render", "apply"])
def test_a_reference_is_not_shown(
    project: Project,
    instance: Instance,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    command: str,
) -> None:
    project.write("db1\n", "host")
    project.write(ANY_COLUMN)
    monkeypatch.setenv("APP_PASSWORD", OLD)
    told = [applied().text, *(plan("--format", f).text for f in ("text", "json"))]
    monkeypatch.setenv("APP_PASSWORD", NEW)
    saved = tmp_path / "saved.json"
    match command:
        case "plan":
            formats = ("text", "json", "markdown", "sql")
            told += [plan("--format", name).text for name in formats]
            told += [plan("-o", str(saved)).text, saved.read_text()]
            assert "(sensitive)" in told[-2]
        case "drift":
            told.append(proxyctl("drift").text)
        case "render":
            told += [
                proxyctl("render", "--format", name, "--secrets", secrets).text
                for name in ("yaml", "sql", "cnf")
                for secrets in ("hash", "omit")
            ]
        case "apply":
            told.append(applied().text)
    for text in told:
        assert "the first" not in text
        assert "the second" not in text
    if command == "apply":
        assert plan().code == 0
        assert instance.query("SELECT arg1 FROM runtime_scheduler") == [(NEW,)]


def test_a_saved_plan_does_not_replace_another_file(project: Project, instance: Instance) -> None:
    project.write("version: 1\nmysql_servers: []\n")
    found = plan("-o", "proxyctl.yaml")
    assert found.code == 3
    assert "proxyctl.yaml" in found.err
    assert plan("-o", "saved.json").code == 0
    assert plan("-o", "saved.json").code == 0


@pytest.mark.since("2.6.0", "no mysql_servers_ssl_params")
@pytest.mark.parametrize("layer", ["memory", "runtime"])
def test_a_reference_is_not_shown_where_only_some_layers_differ(
    project: Project, instance: Instance, monkeypatch: pytest.MonkeyPatch, layer: str
) -> None:
    """As an apply that was killed leaves it: MEMORY, and perhaps RUNTIME, hold the new text."""
    project.write("db1\n", "host")
    project.write(ANY_COLUMN)
    monkeypatch.setenv("APP_PASSWORD", OLD)
    applied()
    monkeypatch.setenv("APP_PASSWORD", NEW)
    new = NEW.replace("'", "''")
    variable = "variable_name='mysql-init_connect'"
    instance.execute(f"UPDATE global_variables SET variable_value='{new}' WHERE {variable}")
    for column, table in (("arg1", "scheduler"), ("init_connect", "mysql_hostgroup_attributes")):
        instance.execute(f"UPDATE {table} SET {column}='{new}'")
    if layer == "runtime":
        for module in ("MYSQL VARIABLES", "SCHEDULER", "MYSQL SERVERS"):
            instance.execute(f"LOAD {module} TO RUNTIME")
    told = [plan("--format", f).text for f in ("text", "json", "markdown", "sql")]
    told += [proxyctl("drift", "--format", f).text for f in ("text", "json", "prometheus")]
    told.append(applied("--debug").text)
    for text in told:
        assert "the first" not in text
        assert "the second" not in text
