"""Guards judge everything that a LOAD brings, also edits of others that go along."""

from __future__ import annotations

import pytest

from tests.journeys.layers import dump
from tests.journeys.story import applied, apply, plan, said
from tests.journeys.test_guards import MONITOR
from tests.support.cli import Project
from tests.support.servers import Instance

INCLUDE = "--include-pending"
SERVERS = """\
mysql_servers:
  - {hostgroup_id: 10, hostname: db1}
  - {hostgroup_id: 20, hostname: db2}
"""
RULES = """\
mysql_query_rules:
  - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 20, apply: true}
"""
FAMILY = "mysql_replication_hostgroups:\n  - {writer_hostgroup: 10, reader_hostgroup: 11}\n"
FAST_ROUTING = """\
mysql_query_rules_fast_routing:
  - {username: app, schemaname: shop, flagIN: 0, destination_hostgroup: 10}
"""
ATTRIBUTES = "hostgroups:\n  other: {id: 30, multiplex: false}\n"
ADMIN = "variables:\n  admin-refresh_interval: 2500\n"
VARIABLE = "variables:\n  mysql-ping_timeout_server: 444\n"
SET = "UPDATE global_variables SET variable_value='{}' WHERE variable_name='{}'"
DB2 = "UPDATE mysql_servers SET status='{}' WHERE hostname='db2'"
EMPTY = "hostgroup 20 is used by rules and would have no ONLINE server (guards.empty_hostgroup)"


@pytest.mark.parametrize(
    ("files", "edit", "refused"),
    [
        (ATTRIBUTES, DB2.format("OFFLINE_SOFT"), EMPTY),
        (ATTRIBUTES, DB2.format("OFFLINE_HARD"), EMPTY),
        (ATTRIBUTES, DB2.format("SHUNNED"), EMPTY),
        (ATTRIBUTES, "DELETE FROM mysql_servers", "mysql_servers: nothing would be left"),
        (
            FAST_ROUTING,
            "UPDATE mysql_query_rules SET destination_hostgroup=99",
            "hostgroup 99 would be the destination of 1 rule (1)"
            " and has no server that takes queries",
        ),
        (
            FAST_ROUTING,
            "INSERT INTO mysql_query_rules (rule_id, active, match_pattern, error_msg, apply)"
            " VALUES (0, 1, '.', 'no', 1)",
            "guards.blocks_everything",
        ),
        (
            FAST_ROUTING,
            "UPDATE mysql_query_rules SET active=0",
            "mysql_query_rules: no rule would be active any more",
        ),
        (ADMIN, SET.format("other:pw", "admin-admin_credentials"), "the login in use, would not"),
        (ADMIN, SET.format("true", "admin-read_only"), "could not SAVE, nor undo it"),
        (
            VARIABLE,
            SET.format("", "mysql-monitor_username"),
            "mysql-monitor_username would become empty, while the monitor places the servers",
        ),
    ],
    ids=[
        "OFFLINE_SOFT",
        "OFFLINE_HARD",
        "SHUNNED",
        "all servers",
        "a rule turned",
        "a catch-all",
        "all rules switched off",
        "our login",
        "read-only",
        "the monitor's account",
    ],
)
def test_what_others_have_edited_is_refused_as_well(
    project: Project, instance: Instance, files: str, edit: str, refused: str
) -> None:
    project.write("version: 1\n" + MONITOR + SERVERS + FAMILY + RULES)
    applied()
    instance.run(edit)
    project.write("version: 1\n" + files)
    before = dump(instance)
    assert refused in plan(INCLUDE).out
    said(apply(INCLUDE), 3, refused)
    assert dump(instance) == before


def test_rows_that_others_have_deleted_count(project: Project, instance: Instance) -> None:
    for number in range(100, 120):
        instance.run(f"INSERT INTO mysql_query_rules (rule_id, active) VALUES ({number}, 1)")
    instance.run("LOAD MYSQL QUERY RULES TO RUNTIME")
    instance.run("SAVE MYSQL QUERY RULES TO DISK")
    project.write("version: 1\nmanage:\n  mysql_query_rules: {rule_id: '1-99'}\n" + RULES)
    # Switched off they are still there.
    instance.run("UPDATE mysql_query_rules SET active=0 WHERE rule_id>=110")
    assert "guards." not in plan(INCLUDE).out
    instance.run("DELETE FROM mysql_query_rules WHERE rule_id>=110")
    said(apply(INCLUDE), 3, "mysql_query_rules: 10 of 20 rows would be deleted")
    applied(INCLUDE, "--force")


def test_peers_that_they_cut_off_are_told(
    sandbox_project: Project, sandbox_instance: Instance
) -> None:
    logins = "admin-admin_credentials"
    account = {logins: "admin:admin;peer:p1", "admin-cluster_username": "peer"}
    for name, value in {**account, "admin-cluster_password": "p1"}.items():
        sandbox_instance.run(SET.format(value, name))
    sandbox_instance.run("LOAD ADMIN VARIABLES TO RUNTIME")
    sandbox_instance.run("SAVE ADMIN VARIABLES TO DISK")
    for host in ("px1", "px2"):
        sandbox_instance.run(f"INSERT INTO proxysql_servers (hostname) VALUES ('{host}')")
    sandbox_instance.run("LOAD PROXYSQL SERVERS TO RUNTIME")
    sandbox_instance.run("SAVE PROXYSQL SERVERS TO DISK")
    sandbox_instance.run(SET.format("admin:admin", logins))
    sandbox_project.write("version: 1\n" + ADMIN)
    assert "this member refuses peers that log in with it" in plan(INCLUDE).out


BLIND = "mysql-monitor_password would become empty, while the monitor places the servers of writer"
SWITCHED_OFF = MONITOR.replace("monitor_enabled: true", "monitor_enabled: false")
NO_PASSWORD = "  mysql-monitor_password: ''\n"


@pytest.mark.parametrize("families", [SERVERS + FAMILY, ""], ids=["of the files", "in no file"])
@pytest.mark.parametrize("by_others", [(), ("password",), ("switch",), ("password", "switch")])
def test_a_monitor_that_is_switched_on_with_it_is_left_without_its_account(
    project: Project, instance: Instance, by_others: tuple[str, ...], families: str
) -> None:
    project.write("version: 1\n" + SWITCHED_OFF + SERVERS + FAMILY)
    applied()
    text = "version: 1\nvariables:\n  mysql-ping_timeout_server: 444\n"
    if "switch" in by_others:
        instance.run(SET.format("true", "mysql-monitor_enabled"))
    else:
        text += "  mysql-monitor_enabled: true\n"
    if "password" in by_others:
        instance.run(SET.format("", "mysql-monitor_password"))
    else:
        text += NO_PASSWORD
    project.write(text + families)
    before = dump(instance)
    said(apply(INCLUDE), 3, f"{BLIND} hostgroup 10 (guards.monitor_credentials)")
    assert dump(instance) == before


def test_a_monitor_that_stays_off_needs_no_account(project: Project, instance: Instance) -> None:
    project.write("version: 1\n" + SWITCHED_OFF + SERVERS + FAMILY)
    applied()
    project.write("version: 1\n" + SWITCHED_OFF + NO_PASSWORD + SERVERS + FAMILY)
    applied()
