"""Edits in MEMORY of rows that RUNTIME does not show: inactive ones, and servers taken off."""

from __future__ import annotations

import pytest

from tests.journeys.held_lock import hold_dead_lock
from tests.journeys.layers import MEMORY, in_layers
from tests.journeys.story import applied, apply, plan, said
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

FILES = """\
version: 1
mysql_servers:
  - {hostgroup_id: 10, hostname: db1}
  - {hostgroup_id: 20, hostname: db1}
  - {hostgroup_id: 20, hostname: db2, weight: 100}
mysql_users:
  - {username: app, password: {env: APP_PASSWORD}, default_hostgroup: 10}
  - {username: old, password: {env: OTHER_PASSWORD}, default_hostgroup: 10, active: false}
mysql_query_rules:
  - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 20, apply: true}
  - {rule_id: 2, active: false, match_digest: '^WITH', destination_hostgroup: 10}
"""
RULE = "UPDATE mysql_query_rules SET destination_hostgroup=20, comment='wip' WHERE rule_id=2"
NEW_RULE = "INSERT INTO mysql_query_rules (rule_id, active, comment) VALUES (3, 0, 'wip')"
NO_RULE = "DELETE FROM mysql_query_rules WHERE rule_id=2"
USER = "UPDATE mysql_users SET default_hostgroup=20, comment='wip' WHERE username='old'"
SERVER = "UPDATE mysql_servers SET weight=9, comment='wip' WHERE hostname='db2'"
TAKEN_OFF = "UPDATE mysql_servers SET status='OFFLINE_HARD' WHERE hostname='db2'"
EDITS = {
    "a rule": (RULE, "mysql_query_rules 2: destination_hostgroup, comment"),
    "a new rule": (NEW_RULE, "mysql_query_rules 3: row"),
    "a rule taken out": (NO_RULE, "mysql_query_rules 2: row"),
    "a user": (USER, "mysql_users old:1: default_hostgroup, comment"),
    "a server": (SERVER, "mysql_servers 20:db2:3306: weight, comment"),
}
TABLES = {"a user": "mysql_users", "a server": "mysql_servers"}


@pytest.fixture
def at_work(project: Project, instance: Instance) -> Project:
    """An instance in sync, where somebody took a server off: its status is in no file."""
    project.write(FILES)
    applied()
    instance.run(TAKEN_OFF)
    instance.run("LOAD MYSQL SERVERS TO RUNTIME")
    instance.run("SAVE MYSQL SERVERS TO DISK")
    assert proxyctl("drift").code == 0
    return project


@pytest.mark.parametrize("what", EDITS)
def test_an_edit_is_not_lost_unasked(at_work: Project, instance: Instance, what: str) -> None:
    edit, told = EDITS[what]
    table = TABLES.get(what, "mysql_query_rules")
    rows = f"SELECT * FROM {MEMORY}{table}"
    instance.run(edit)
    edited = instance.query(rows)
    refused = f"{told} edited in MEMORY, not saved to DISK; the files say otherwise"
    drift = proxyctl("drift")
    assert "an apply would refuse" in drift.out
    assert refused in plan().out
    assert 'pattern="memory"} 1' in proxyctl("drift", "--format", "prometheus").out
    for options in ([], ["--no-save"], ["--include-pending"], ["--force"]):
        said(apply(*options), 3, f"{refused}   allow with --discard-pending")
    assert instance.query(rows) == edited
    applied("--discard-pending")
    assert proxyctl("drift").code == 0


def test_a_loaded_removal_that_nobody_saved_hides_no_edit(
    project: Project, instance: Instance
) -> None:
    project.write(FILES)
    applied()
    instance.run(TAKEN_OFF)
    instance.run("LOAD MYSQL SERVERS TO RUNTIME")
    assert apply().code == 0
    instance.run(SERVER)
    said(apply(), 3, f"{EDITS['a server'][1]} edited in MEMORY, not saved to DISK")


def test_a_rule_that_was_switched_off_and_loaded_is_no_edit(
    project: Project, instance: Instance
) -> None:
    project.write(FILES)
    applied()
    instance.run("UPDATE mysql_query_rules SET active=0 WHERE rule_id=1")
    instance.run("LOAD MYSQL QUERY RULES TO RUNTIME")
    assert len(in_layers(instance, "SELECT rule_id FROM {}mysql_query_rules")["RUNTIME"]) == 0
    applied()
    assert proxyctl("drift").code == 0


def test_what_was_saved_is_no_edit_any_more(at_work: Project, instance: Instance) -> None:
    for edit in (RULE, USER, SERVER):
        instance.run(edit)
    for module in ("QUERY RULES", "USERS", "SERVERS"):
        instance.run(f"SAVE MYSQL {module} TO DISK")
    assert "an apply would refuse" not in proxyctl("drift").out
    applied()
    assert proxyctl("drift").code == 0


def test_what_an_apply_of_ours_that_died_staged_is_no_edit(
    at_work: Project, instance: Instance
) -> None:
    for edit in (RULE, USER, SERVER):
        instance.run(edit)
    hold_dead_lock(instance, "MYSQL SERVERS", "MYSQL QUERY RULES", "MYSQL USERS")
    applied()
    assert proxyctl("drift").code == 0


def test_a_rollback_asks_as_well(at_work: Project, instance: Instance) -> None:
    at_work.write(FILES.replace("default_hostgroup: 10}", "default_hostgroup: 20}"))
    applied()
    instance.run(RULE)
    refused = "mysql_query_rules 2: destination_hostgroup, comment edited in MEMORY"
    said(proxyctl("rollback", "--auto-approve"), 3, refused)
    assert proxyctl("rollback", "--auto-approve", "--discard-pending").code == 0
    at_work.write(FILES)
    assert proxyctl("drift").code == 0
