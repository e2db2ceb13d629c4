"""Other people's edits in MEMORY, let through with --include-pending: shown, and held to."""

from __future__ import annotations

import pytest

from tests.journeys.layers import in_layers
from tests.journeys.story import FILES, applied, plan
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

OURS = """\
manage:
  mysql_query_rules: {rule_id: "1000-1999"}
mysql_query_rules:
  - {rule_id: 1000, match_digest: '^SELECT', destination_hostgroup: 1, apply: true}
variables:
  mysql-ping_timeout_server: 400
"""


@pytest.fixture
def edited(project: Project, instance: Instance) -> Instance:
    """Two rules that are not ours: one was edited in MEMORY, another is new there."""
    instance.execute(
        "INSERT INTO mysql_query_rules (rule_id, active, comment) VALUES (200, 1, 'theirs')"
    )
    instance.execute("LOAD MYSQL QUERY RULES TO RUNTIME")
    instance.execute("SAVE MYSQL QUERY RULES TO DISK")
    instance.execute("UPDATE mysql_query_rules SET active=0 WHERE rule_id=200")
    instance.execute(
        "INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup)"
        " VALUES (50, 1, '.', 99)"
    )
    project.write(OURS)
    return instance


def test_they_are_listed(edited: Instance) -> None:
    found = plan("--include-pending")
    section = found.out.split("edited in MEMORY by others")[1]
    assert "+ rule 50" in section
    assert "- rule 200" in section
    assert "2 pending edits of others included" in found.out
    module = plan("--include-pending", "--format", "json").json["instances"][0]["modules"][1]
    edits = [(change["action"], change["key"], change["remark"]) for change in module["included"]]
    assert edits == [
        ("add", [50], None),
        ("delete", [200], "inactive in MEMORY"),
        ("change", [200], None),
    ]
    assert "+ rule 50" in plan("--include-pending", "--format", "markdown").out
    applied("--include-pending")
    rules = in_layers(edited, "SELECT rule_id FROM {}mysql_query_rules")
    assert sorted(rules["RUNTIME"]) == [("1000",), ("50",)]
    assert "MYSQL QUERY RULES 2 added, 1 deleted" in proxyctl("history").out


def test_a_later_edit_makes_a_saved_plan_stale(edited: Instance) -> None:
    plan("--include-pending", "--out", "plan.out")
    edited.execute("UPDATE mysql_query_rules SET destination_hostgroup=98 WHERE rule_id=50")
    found = proxyctl("apply", "plan.out")
    assert (found.code, "stale" in found.err) == (3, True)
    edited.execute("UPDATE mysql_query_rules SET destination_hostgroup=99 WHERE rule_id=50")
    assert proxyctl("apply", "plan.out").code == 0


def test_without_a_save_what_was_not_saved_is_no_obstacle(
    project: Project, instance: Instance
) -> None:
    project.write(FILES)
    applied()
    instance.execute("SET mysql-max_connections=777")
    instance.execute("LOAD MYSQL VARIABLES TO RUNTIME")
    project.write(FILES.replace("8.0.36", "8.4.0"))
    assert "not saved to DISK" in plan().out
    assert "1 LOAD, 0 SAVE" in applied("--no-save").out


@pytest.mark.parametrize(
    "files",
    [
        "manage:\n  mysql_servers: {hostgroup_id: '1-20'}\n"
        "mysql_servers:\n  - {hostgroup_id: 10, hostname: db1}\n",
        "hostgroups:\n  other: {id: 30, multiplex: false}\n",
    ],
    ids=["outside manage", "servers in no file"],
)
def test_a_server_of_theirs_that_they_set_offline_hard_stays_on_disk(
    project: Project, instance: Instance, files: str
) -> None:
    instance.run("INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (50, 'db5')")
    instance.run("LOAD MYSQL SERVERS TO RUNTIME")
    instance.run("SAVE MYSQL SERVERS TO DISK")
    instance.run("UPDATE mysql_servers SET status='OFFLINE_HARD'")
    project.write(f"version: 1\n{files}")
    refused = "mysql_servers 50:db5:3306: status edited in MEMORY, not loaded to RUNTIME (ONLINE ->"
    assert f"{refused} OFFLINE_HARD); not in the files" in plan().out
    section = plan("--include-pending").out.split("edited in MEMORY by others")[1]
    (line,) = [line for line in section.splitlines() if "- server 50 db5:3306" in line]
    assert line.endswith("RUNTIME only; OFFLINE_HARD in MEMORY")
    (line,) = [line for line in section.splitlines() if "~ server 50 db5:3306" in line]
    assert line.endswith("DISK only")
    assert "status ONLINE -> OFFLINE_HARD" in " ".join(section.split())
    assert "1 to delete at RUNTIME" in section
    applied("--include-pending")
    rows = in_layers(instance, "SELECT status FROM {}mysql_servers WHERE hostname='db5'")
    hard = [("OFFLINE_HARD",)]
    assert rows == {"RUNTIME": [], "MEMORY": hard, "DISK": hard}


def test_a_row_of_theirs_that_they_switched_off_stays_on_disk(
    project: Project, instance: Instance
) -> None:
    instance.execute("INSERT INTO mysql_users (username, password) VALUES ('theirs', 'x')")
    instance.execute(
        "INSERT INTO mysql_query_rules (rule_id, active, match_digest) VALUES (200, 1, '.')"
    )
    for module in ("MYSQL USERS", "MYSQL QUERY RULES"):
        instance.execute(f"LOAD {module} TO RUNTIME")
        instance.execute(f"SAVE {module} TO DISK")
    instance.execute("UPDATE mysql_users SET active=0 WHERE username='theirs'")
    instance.execute("UPDATE mysql_query_rules SET active=0, comment='off' WHERE rule_id=200")
    project.write(
        OURS.replace("manage:\n", "manage:\n  mysql_users: {username: [ours]}\n")
        + "mysql_users:\n  - {username: ours, password: z, default_hostgroup: 1}\n"
    )
    refused = plan().text
    assert "mysql_query_rules 200: active edited in MEMORY, not loaded to RUNTIME" in refused
    assert "mysql_users theirs:1: active edited in MEMORY, not loaded to RUNTIME" in refused
    found = plan("--include-pending")
    lines = [" ".join(line.split()) for line in found.out.splitlines()]
    assert "- rule 200 . RUNTIME only; inactive in MEMORY" in lines
    assert "- user theirs RUNTIME only; inactive in MEMORY" in lines
    rule = lines.index("~ rule 200 . DISK only")
    assert "goes to DISK with this" in lines[rule - 1]
    assert lines[rule + 1 : rule + 3] == ["active 1 -> 0", "comment NULL -> off"]
    assert "2 to delete at RUNTIME. 2 pending edits of others included." in found.out
    modules = plan("--include-pending", "--format", "json").json["instances"][0]["modules"]
    edits = [
        (change["action"], change["key"], change["layers"], [*change["fields"]])
        for module in modules
        for change in module["included"]
    ]
    assert edits == [
        ("delete", [200], ["runtime"], []),
        ("change", [200], ["disk"], ["active", "comment"]),
        ("delete", ["theirs", 1], ["runtime"], []),
        ("change", ["theirs", 1], ["disk"], ["active"]),
    ]
    applied("--include-pending")
    rules = in_layers(instance, "SELECT active FROM {}mysql_query_rules WHERE rule_id=200")
    users = in_layers(instance, "SELECT active FROM {}mysql_users WHERE username='theirs'")
    assert rules == users == {"RUNTIME": [], "MEMORY": [("0",)], "DISK": [("0",)]}


def test_why_a_row_of_theirs_leaves_runtime_is_said(project: Project, instance: Instance) -> None:
    """They deleted a rule, and ProxySQL will pass others over: no file has any of these."""
    run = instance.execute
    run("INSERT INTO mysql_users (username, password) VALUES ('half', 'x'), ('negative', 'x')")
    for number in (200, 201):
        run(
            f"INSERT INTO mysql_query_rules (rule_id, active, match_digest) VALUES ({number},1,'.')"
        )
    for module in ("MYSQL USERS", "MYSQL QUERY RULES"):
        run(f"LOAD {module} TO RUNTIME")
        run(f"SAVE {module} TO DISK")
    run("DELETE FROM mysql_query_rules WHERE rule_id=200")
    run("UPDATE mysql_query_rules SET client_addr='%1' WHERE rule_id=201")
    run("UPDATE mysql_users SET frontend=0 WHERE username='half'")
    run("UPDATE mysql_users SET default_hostgroup=-1 WHERE username='negative'")
    project.write(
        OURS.replace("manage:\n", "manage:\n  mysql_users: {username: [ours]}\n")
        + "mysql_users:\n  - {username: ours, password: z, default_hostgroup: 1}\n"
    )
    found = plan("--include-pending")
    lines = [" ".join(line.split()) for line in found.out.splitlines()]
    assert "- rule 200 . RUNTIME and DISK only; not in MEMORY" in lines
    skipped = "ProxySQL skips a rule whose % is not the last character"
    assert f"- rule 201 . RUNTIME only; {skipped}" in lines
    dropped = "ProxySQL drops a user with a negative default_hostgroup"
    assert f"- user negative RUNTIME only; {dropped}" in lines
    assert "in no file" not in found.out
    markdown = plan("--include-pending", "--format", "markdown").out
    assert "- rule 200 . (RUNTIME and DISK only; not in MEMORY)" in " ".join(markdown.split())
