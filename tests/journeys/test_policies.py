"""Policies of the files: what a plan refuses, and what was there before."""

from __future__ import annotations

from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import FILES, applied, apply, ended, plan
from tests.support.servers.instances import Instance
from tests.support.servers.layers import dump

POLICIES = """\
policies:
  - {name: limit, for: mysql_users, that: row.max_connections <= 500, message: have 500}
  - {name: stay, for: change, that: action != 'delete', message: delete nothing}
"""
WITHIN = FILES.replace("hostgroup: writer}", "hostgroup: writer, max_connections: 500}").replace(
    "hostgroup: reader}", "hostgroup: reader, max_connections: 500}"
)
BEYOND = WITHIN.replace("writer, max_connections: 500}", "writer, max_connections: 900}")
REFUSED = (
    "user app: have 500 (policy limit) (guards.policies)\n    fix: correct the row, or correct"
)


def codes(*options: str) -> list[str]:
    (found,) = plan("--format", "json", *options).json["instances"]
    return [refusal["code"] for refusal in found["refusals"]]


def test_a_policy_refuses_once_and_then_it_is_a_state(project: Project, instance: Instance) -> None:
    project.write(WITHIN + POLICIES)
    applied()
    before = dump(instance)
    project.write(BEYOND + POLICIES)
    ended(apply(), 3, REFUSED, "or allow it with --force")
    assert dump(instance) == before

    assert codes("--force") == []
    applied("--force")
    project.write(BEYOND.replace("weight: 100", "weight: 99") + POLICIES)
    assert codes() == []
    applied()


def test_the_files_say_what_a_broken_policy_does(project: Project) -> None:
    project.write(BEYOND + POLICIES + "guards: {policies: warn}\n")
    assert codes() == []
    assert "PX601 [error] user app: have 500" in plan().out
    project.write(BEYOND + POLICIES + 'guards: {policies: "off"}\n')
    assert "PX601" not in plan().out


def test_rows_that_the_files_leave_alone_are_a_state(project: Project, instance: Instance) -> None:
    instance.query("INSERT INTO mysql_users (username, max_connections) VALUES ('other', 9000)")
    instance.query("LOAD MYSQL USERS TO RUNTIME")
    instance.query("SAVE MYSQL USERS TO DISK")
    project.write(WITHIN + POLICIES + "manage: {mysql_users: {username: [app, batch]}}\n")
    applied()


def test_a_policy_for_changes_sees_what_the_files_leave_to_the_instance(project: Project) -> None:
    project.write(WITHIN)
    applied()
    kept = WITHIN.replace("password: {env: APP_PASSWORD}, ", "").replace("500}", "501}")
    that = "table != 'mysql_users' or after.password != ''"
    policy = f"{{name: p, for: change, that: {that}, message: have a password}}"
    project.write(f"{kept}policies:\n  - {policy}\n")
    applied()


def test_validate_says_whether_the_policies_hold(offline: Project) -> None:
    for text, code, count in ((WITHIN, 0, 0), (BEYOND, 1, 1)):
        offline.write(text + POLICIES)
        found = proxyctl("validate", "--format", "json")
        assert (found.code, found.json["valid"]) == (code, code == 0)
        assert [finding["code"] for finding in found.json["findings"]] == ["PX601"] * count
