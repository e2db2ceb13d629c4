"""Wrong files, and users who are administrators. Command lines: `golden/pages/command-lines.md`."""

from __future__ import annotations

import pytest

from tests.journeys.command_lines import Asked
from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import apply, ended, plan
from tests.support.servers.instances import Instance
from tests.support.servers.layers import dump


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("mysql_serverz: []\n", ["proxyctl.yaml:1:1: mysql_serverz: ", "did you mean 'mysql_ser"]),
        ("mysql_users: [\n", ["proxyctl.yaml:"]),
        ("mysql_users:\n  - {username: new}\n", ["proxyctl.yaml:2:", "no password"]),
    ],
)
def test_a_mistake_in_the_files(
    sandbox_project: Project, sandbox_instance: Instance, text: str, parts: list[str]
) -> None:
    """`tests/golden/config` has the text and the place of each mistake."""
    sandbox_project.write(text)
    before = dump(sandbox_instance)
    for outcome in (plan(), apply(), proxyctl("drift")):
        ended(outcome, 1, *parts, "1 mistake in the files")
        assert outcome.out == ""
    machine = plan("--format", "json")
    error = machine.json["error"]
    assert (machine.code, error["type"], error["exit_code"]) == (1, "ConfigError", 1)
    assert error["mistakes"][0]["path"] == "proxyctl.yaml"
    assert dump(sandbox_instance) == before


@pytest.mark.parametrize("name", ["plan", "apply", "drift", "rollback"])
@pytest.mark.parametrize("typed", ["mysql_usres", "MYSQL-USRES"])
def test_only_with_a_typo_is_refused_before_connecting(
    offline: Project, asked: Asked, name: str, typed: str
) -> None:
    port, statements = asked
    offline.write("version: 1\nmysql_users: []\n")
    near = "mysql_users" if typed.islower() else "MYSQL USERS"
    found = proxyctl(name, "--port", str(port), "--only", typed)
    ended(found, 64, f"--only {typed}: no such admin module or table", f"did you mean {near!r}?")
    assert not statements


@pytest.mark.parametrize(
    "files",
    [
        "mysql_users: [{username: admin, password: {env: APP_PASSWORD}}]\n",
        'variables: {admin-admin_credentials: "admin:admin;radmin:radmin;theirs:x"}\n',
    ],
)
def test_a_user_named_like_an_administrator_is_refused_as_long_as_it_is_none(
    project: Project, instance: Instance, files: str
) -> None:
    instance.execute("INSERT INTO mysql_users (username, password) VALUES ('theirs', 'x')")
    instance.execute("LOAD MYSQL USERS TO RUNTIME")
    instance.execute("SAVE MYSQL USERS TO DISK")
    project.write(files + "manage: {mysql_users: {username: admin}}\n" * ("users" in files))
    before = dump(instance)
    ended(apply(), 3, "would be a user and a login of the admin interface", "guards.admin_access")
    assert dump(instance) == before


def test_a_user_takes_the_name_of_a_login_once_that_one_is_gone(
    project: Project, instance: Instance
) -> None:
    instance.execute("SET admin-admin_credentials='admin:admin;radmin:radmin;theirs:x'")
    instance.execute("LOAD ADMIN VARIABLES TO RUNTIME")
    instance.execute("SAVE ADMIN VARIABLES TO DISK")
    project.write(
        'variables: {admin-admin_credentials: "admin:admin;radmin:radmin"}\n'
        "mysql_users: [{username: theirs, password: x}]\n"
    )
    before = dump(instance)
    ended(apply("--force"), 3, "apply with --only 'ADMIN VARIABLES' first")
    assert dump(instance) == before
    assert apply("--only", "ADMIN VARIABLES").code == 0
    assert apply().code == 0
    assert plan("--detailed-exitcode").code == 0


def test_a_user_who_is_an_administrator_already_is_exported_and_plans_to_nothing(
    project: Project, instance: Instance
) -> None:
    """Nobody logs in as `stats` here, so the user does no harm."""
    instance.execute("INSERT INTO mysql_users (username, password) VALUES ('stats', 'stats')")
    instance.execute("LOAD MYSQL USERS TO RUNTIME")
    instance.execute("SAVE MYSQL USERS TO DISK")
    exported = proxyctl("export", "-o", "proxyctl.yaml")
    assert exported.code == 0, exported.text
    assert "username: stats" in (project.folder / "proxyctl.yaml").read_text()
    assert plan().code == 0
    (project.folder / "proxyctl.yaml").unlink()
    project.write("mysql_users: [{username: stats, comment: known}]\n")
    assert apply().code == 0


def test_no_command_at_all_shows_the_commands(offline: Project) -> None:
    found = proxyctl()
    assert (found.code, "Usage" in found.text) == (64, True)
