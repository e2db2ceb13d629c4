"""Wrong files and wrong command lines: one clear message, the right code."""

from __future__ import annotations

import pytest

from tests.journeys.layers import dump
from tests.journeys.story import FILES, apply, plan, said
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

RULE = "mysql_query_rules:\n  - {rule_id: 1, match_digest: '^SELECT'}\n"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("mysql_serverz: []\n", ["proxyctl.yaml:1:1: mysql_serverz: ", "did you mean 'mysql_ser"]),
        (
            "mysql_users:\n  - {username: a, user: a}\n",
            ["proxyctl.yaml:2:19: mysql_users[0].user: ", "did you mean 'username'"],
        ),
        ("mysql_servers: 3\n", ["proxyctl.yaml:1:16: mysql_servers: "]),
        (
            "mysql_servers:\n  - {hostgroup_id: 1, hostname: a, port: five}\n",
            ["proxyctl.yaml:2:42: mysql_servers[0].port: "],
        ),
        ("variables: {mysql-server_version: 8.10}\n", ["proxyctl.yaml:1:35: ", "quote it"]),
        (
            "hostgroups: {writer: {id: 1}}\nmysql_servers:\n"
            "  - {hostgroup_id: writr, hostname: a}\n",
            ["proxyctl.yaml:3:20: ", "'writr'", "did you mean 'writer'"],
        ),
        (
            RULE + "  - {rule_id: 1, match_digest: x}\n",
            ["proxyctl.yaml:3:5: ", "proxyctl.yaml:2:5"],
        ),
        (
            "mysql_servers:\n  - {hostgroup_id: 1, hostname: a, status: BROKEN}\n",
            ["proxyctl.yaml:2:44: mysql_servers[0].status: "],
        ),
        (
            "mysql_servers:\n  - {hostgroup_id: 1, hostname: a, weight: -1}\n",
            ["proxyctl.yaml:2:44: mysql_servers[0].weight: "],
        ),
        (RULE.replace("^SELECT", "^SELECT ("), ["proxyctl.yaml:2:32: ", "match_digest"]),
        (
            RULE.replace("match_digest", "client_addr: '10.%.1', match_digest"),
            ["proxyctl.yaml:2:31: ", "client_addr"],
        ),
        ("mysql_users:\n  - {username: admin, password: x}\n", ["proxyctl.yaml:2:", "admin"]),
        ("mysql_users:\n  - {username: new}\n", ["proxyctl.yaml:2:", "no password"]),
        ("variables: {mysql-no_such: '1'}\n", ["proxyctl.yaml:1:13: ", "mysql-no_such"]),
        ("mysql_users: [\n", ["proxyctl.yaml:"]),
        ("a: \t- b\n", ["proxyctl.yaml:1:"]),
        ("mysql_users:\n  - {username: a, password: {env: NOT_SET}}\n", ["NOT_SET"]),
        ("mysql_users:\n  - {username: a, password: {file: nowhere}}\n", ["nowhere"]),
    ],
)
def test_a_mistake_in_the_files(
    sandbox_project: Project, sandbox_instance: Instance, text: str, parts: list[str]
) -> None:
    sandbox_project.write(text)
    before = dump(sandbox_instance)
    for found in (plan(), apply(), proxyctl("drift")):
        said(found, 1, *parts, "1 mistake in the files")
        assert found.out == ""
    machine = plan("--format", "json")
    error = machine.json["error"]
    assert (machine.code, error["type"], error["exit_code"]) == (1, "ConfigError", 1)
    assert error["mistakes"][0]["path"] == "proxyctl.yaml"
    assert dump(sandbox_instance) == before


def test_all_mistakes_are_said_at_once(sandbox_project: Project) -> None:
    sandbox_project.write("version: 2\nmysql_users:\n  - {usr: a}\nscheduler: {}\n")
    found = plan()
    said(found, 1, "mistakes in the files")
    places = [
        line.split(": ")[0] for line in found.err.splitlines() if line[0] not in " 0123456789"
    ]
    assert len(places) >= 3
    assert places == sorted(places)


def test_no_files(sandbox_project: Project) -> None:
    said(plan(), 1, "proxyctl.yaml: no such file", "proxyctl init")
    said(plan("-f", "nowhere"), 1, "nowhere: ")


def test_an_administrator_named_like_a_user(project: Project, instance: Instance) -> None:
    instance.execute("INSERT INTO mysql_users (username, password) VALUES ('shop', 'x')")
    project.write(
        'variables: {admin-admin_credentials: "admin:admin;radmin:radmin;shop:s3cret-of-app"}\n'
    )
    said(plan(), 1, "proxyctl.yaml:1:13: admin-admin_credentials: 'shop' is in mysql_users")
    project.write("mysql_users: []\n", "users.yaml")
    assert plan("-f", ".", "--force").code == 2


def test_a_user_named_like_an_administrator_at_runtime(
    project: Project, instance: Instance
) -> None:
    instance.execute(
        "UPDATE global_variables SET variable_value='admin:admin;radmin:radmin;boss:x'"
        " WHERE variable_name='admin-admin_credentials'"
    )
    instance.execute("LOAD ADMIN VARIABLES TO RUNTIME")
    project.write("mysql_users:\n  - {username: boss, password: {env: APP_PASSWORD}}\n")
    before = dump(instance)
    said(apply(), 1, "proxyctl.yaml:2:", "'boss' is an administrator", "lock the administrator out")
    assert dump(instance) == before


# -- the command line -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["frobnicate"],
        ["plan", "--frob"],
        ["plan", "--format", "xml"],
        ["plan", "--port", "0"],
        ["plan", "--port", "abc"],
        ["plan", "--var", "novalue"],
        ["plan", "--instance", "nowhere"],
        ["apply", "one", "two"],
        ["apply", "--lock-timeout", "-1"],
        ["export", "--layer", "moon"],
        ["export", "--secrets", "clear"],
        ["plan", "--format"],
        ["sandbox", "--proxysql-version", "x"],
    ],
)
def test_a_wrong_command_line(offline: Project, arguments: list[str]) -> None:
    offline.write(FILES)
    found = proxyctl(*arguments)
    said(found, 64)
    assert found.err.strip()
    assert found.out == ""


def test_no_command_at_all_shows_the_commands(offline: Project) -> None:
    found = proxyctl()
    said(found, 64)
    assert "Usage" in found.text


def test_a_misspelt_admin_module_has_a_hint(sandbox_project: Project) -> None:
    sandbox_project.write(FILES)
    said(plan("--only", "MYSQL USRES"), 64, "did you mean 'MYSQL USERS'?")


def test_several_instances_need_a_choice(offline: Project) -> None:
    offline.write(
        "instances:\n  - {name: a, host: 127.0.0.1, port: 1}\n  - {name: b, host: 127.0.0.1}\n"
    )
    said(plan(), 64, "several instances", "a, b")
    said(plan("--instance", "a"), 1, "cannot connect to 127.0.0.1:1")


def test_an_error_as_json(project: Project, instance: Instance) -> None:
    project.write(FILES)
    project.monkeypatch.setenv("PROXYCTL_PASSWORD", "wrong")
    for arguments in (["plan"], ["apply", "--auto-approve"], ["drift"]):
        found = proxyctl(*arguments, "--format", "json")
        error = found.json["error"]
        assert (found.code, error["type"], error["exit_code"]) == (1, "InstanceError", 1)
        assert "access denied" in error["message"]
        assert error["hint"]
