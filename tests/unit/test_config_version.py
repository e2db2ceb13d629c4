"""The ProxySQL version of the files: from `proxysql_version`, the option, or neither."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands.cli import Project, proxyctl

NEW_TABLE = "pgsql_servers_ssl_params: [{hostname: db1}]\n"
NEW_RULE = "mysql_query_rules: [{rule_id: 1, match_digest: '^SELECT', attributes: {}}]\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("key", "options", "message"),
    [
        ("", (), "ProxySQL 3.0.3 has no table pgsql_servers_ssl_params; it came with 3.0.8"),
        ("3.0.8", (), None),
        ("2.7.1", (), "ProxySQL 2.7.1 has no table pgsql_servers_ssl_params; it came with 3.0.8"),
        ("2.7.1", ("--proxysql-version", "3.0.12"), None),
        ("3.0.8", ("--proxysql-version", "3.0.7"), "ProxySQL 3.0.7 has no table"),
    ],
)
@pytest.mark.parametrize("command", ["validate", "render", "lint", "explain"])
def test_the_version_that_counts(
    project: Project, command: str, key: str, options: tuple[str, ...], message: str | None
) -> None:
    project.write((f"proxysql_version: {key}\n" if key else "") + NEW_TABLE)
    query = ("SELECT 1",) if command == "explain" else ()
    found = proxyctl(command, *query, *options)
    assert found.code == (1 if message else 0), found.text
    assert (message or "") in found.text


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("2.7", "expected a version, got the decimal number 2.7"),
        ("latest", "not a ProxySQL version: 'latest'"),
        ("1.4.16", "the catalogue does not know ProxySQL 1.4.16"),
        ("2.9.0", "known: 2.4.0 to 2.7 and 3.0.0 to 3.0.12"),
    ],
)
def test_a_text_that_is_not_a_version(project: Project, value: str, message: str) -> None:
    project.write(f"proxysql_version: {value}\n")
    found = proxyctl("validate")
    assert found.code == 1
    assert "proxyctl.yaml:1:19: proxysql_version: " in found.text
    assert message in found.text
    assert found.text.endswith("fix: write it like 3.0.3\n1 mistake in the files\n")


def test_files_of_two_versions_are_a_mistake(project: Project) -> None:
    project.write("proxysql_version: 2.7.1\n", "a.yaml")
    project.write("proxysql_version: 3.0.3\n", "b.yaml")
    project.write("proxysql_version: '2.7.1-16-g2726c27'\n", "c.yaml")
    found = proxyctl("validate", "-f", "a.yaml", "-f", "b.yaml", "-f", "c.yaml")
    assert found.code == 1
    assert "b.yaml:1:19: proxysql_version: 3.0.3 differs from 2.7.1 at a.yaml:1" in found.text
    assert "c.yaml" not in found.text


@pytest.mark.parametrize(
    ("value", "used"), [("3.0.14", "3.0.12"), ("3.1.12", "3.0.12"), ("4.0.10", "3.0.10")]
)
def test_files_for_another_proxysql_are_checked_as_for_the_nearest_known(
    project: Project, value: str, used: str
) -> None:
    project.write(f"proxysql_version: {value}\n{NEW_TABLE}")
    found = proxyctl("validate")
    assert found.code == 0
    assert f"proxysql_version {value}" in found.text
    assert f"the files are checked as if for {used}" in " ".join(found.text.split())


@pytest.mark.parametrize("given", ["3.0.13", "3.1.12", "4.0.10", "2.8.0", "x", "3"])
def test_the_option_takes_what_the_catalogue_describes(project: Project, given: str) -> None:
    project.write("{}\n")
    found = proxyctl("validate", "--proxysql-version", given)
    assert found.code == 64
    line, fix = found.text.splitlines()
    assert line.startswith("error: --proxysql-version: ")
    assert fix == "fix: see proxyctl validate --help"


def test_render_names_the_version_that_somebody_named(project: Project) -> None:
    project.write(NEW_RULE)
    assert "proxysql_version" not in proxyctl("render").text
    named = proxyctl("render", "--proxysql-version", "2.7.1").text
    assert "version: 1\nproxysql_version: 2.7.1\n" in named
    project.write(named)
    assert proxyctl("render").text == named
