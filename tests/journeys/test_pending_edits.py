"""An edit in MEMORY that an apply would publish is refused, with two fixes."""

from __future__ import annotations

import pytest

from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import FILES, applied, apply, ended, offered, plan
from tests.support.servers.instances import Instance
from tests.support.servers.layers import MEMORY, dump, in_layers, of_layer

SCOPE = """\
manage:
  mysql_query_rules: {rule_id: "1-99"}
  mysql_users: {username: [app, batch]}
  mysql_servers: {hostgroup_id: "10-29"}
"""
THEIRS = (
    "INSERT INTO mysql_query_rules (rule_id, active, match_digest) VALUES (200, 1, 'it''s'),"
    " (201, 0, 'off')",
    "INSERT INTO mysql_users (username, password, comment) VALUES ('theirs', 'pw', 'old')",
    "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (50, 'db5')",
)
MODULES = ("MYSQL QUERY RULES", "MYSQL USERS", "MYSQL SERVERS")
CHANGED = (
    FILES.replace("weight: 100", "weight: 50")
    .replace("'^SELECT'", "'^SELECT x'")
    .replace("default_hostgroup: reader", "default_hostgroup: writer")
    + SCOPE
)
"""Another change of each of these modules."""
NEW_RULE = "INSERT INTO mysql_query_rules (rule_id, active, match_digest) VALUES (500, 1, 'x')"

OFF = "UPDATE mysql_servers SET status='OFFLINE_HARD' WHERE hostname="
EDITS = {
    NEW_RULE: "rule 500: row added",
    "UPDATE mysql_query_rules SET active=0, comment='x' WHERE rule_id=200": (
        "rule 200: active, comment edited"
    ),
    "UPDATE mysql_query_rules SET active=1 WHERE rule_id=201": "rule 201: row added",
    "DELETE FROM mysql_query_rules WHERE rule_id=200": "rule 200: row deleted",
    "UPDATE mysql_users SET comment='new' WHERE username='theirs'": "user theirs: comment edited",
    "UPDATE mysql_servers SET status='OFFLINE_SOFT', weight=7 WHERE hostname='db5'": (
        "server db5:3306 in hostgroup 50: status, weight edited"
    ),
    f"{OFF}'db5'": "server db5:3306 in hostgroup 50: status edited",
    f"{OFF}'db3'": "server db3:3306 in hostgroup 20: status edited",  # no file sets it
}


@pytest.fixture
def in_sync(project: Project, instance: Instance) -> Project:
    """An instance whose layers hold the files' rows, and rows that others manage."""
    instance.execute(*THEIRS)
    instance.load(*MODULES, saves=True)
    project.write(FILES + SCOPE)
    applied()
    return project


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_is_refused_and_can_be_taken_back_exactly(
    in_sync: Project, instance: Instance, edit: str
) -> None:
    before = of_layer(dump(instance), MEMORY)
    # LOAD ... FROM DISK would take back more than the edit.
    instance.run("UPDATE disk.mysql_query_rules SET comment='on disk' WHERE rule_id=10")
    instance.run("UPDATE disk.mysql_users SET comment='on disk' WHERE username='app'")
    instance.run("UPDATE disk.mysql_servers SET comment='on disk' WHERE hostname='db1'")
    instance.run(edit)
    in_sync.write(CHANGED)
    edited = dump(instance)
    edit_text = f"{EDITS[edit]} in MEMORY, not loaded to RUNTIME"
    ended(apply("--no-save"), 3, edit_text, "take back:", "publish:")
    assert dump(instance) == edited
    for sql in offered("take back:"):
        instance.run(sql)
    assert of_layer(dump(instance), MEMORY) == before
    applied("--no-save")


@pytest.mark.parametrize("edit", [NEW_RULE, f"{OFF}'db5'"])
def test_an_edit_is_published_by_its_own_load_and_save(
    in_sync: Project, instance: Instance, edit: str
) -> None:
    instance.run(edit)
    in_sync.write(CHANGED)
    assert apply().code == 3
    for sql in offered("publish:"):
        instance.run(sql)
    applied()
    assert plan().code == 0


def test_discard_pending_overwrites_rows_of_the_files_and_no_others(
    in_sync: Project, instance: Instance
) -> None:
    instance.run("UPDATE mysql_query_rules SET match_digest='wip' WHERE rule_id=20")
    instance.run(NEW_RULE)
    in_sync.write(CHANGED)
    ours = "MYSQL QUERY RULES: 1 pending edit would be discarded; the files say otherwise\n"
    theirs = "MYSQL QUERY RULES: 1 pending edit not in the files\n"
    ended(apply(), 3, ours, theirs, "rule 20: match_digest edited in MEMORY", "--discard-pending")
    found = apply("--discard-pending", "--force")
    ended(found, 3, theirs)
    assert ours not in found.text
    instance.run("DELETE FROM mysql_query_rules WHERE rule_id=500")
    applied("--discard-pending")
    rules = in_layers(instance, "SELECT match_digest FROM {}mysql_query_rules WHERE rule_id=20")
    assert {*map(tuple, rules.values())} == {(("^SELECT x",),)}


def test_an_edit_on_disk_alone_is_not_called_one_in_memory(
    in_sync: Project, instance: Instance
) -> None:
    instance.run("UPDATE disk.mysql_servers SET status='OFFLINE_SOFT' WHERE hostname='db3'")
    in_sync.write(CHANGED)
    ended(apply(), 3, "server db3:3306 in hostgroup 20: status differs between MEMORY and DISK")
    assert "LOAD MYSQL SERVERS TO RUNTIME" not in offered("publish:")
    # Without a SAVE nothing of it moves.
    applied("--no-save")


def test_a_secret_is_masked_where_it_is_taken_back(in_sync: Project, instance: Instance) -> None:
    instance.run("UPDATE mysql_users SET password='other' WHERE username='theirs'")
    instance.run("UPDATE disk.mysql_users SET comment='on disk' WHERE username='app'")
    in_sync.write(CHANGED)
    statement, comment = offered("take back:")
    assert statement.startswith("UPDATE mysql_users SET password='***' WHERE username='theirs'")
    assert comment.strip() == "-- with the secret in place of ***"


def test_many_edits_are_counted(in_sync: Project, instance: Instance) -> None:
    values = ",".join(f"({number},1)" for number in range(500, 540))
    instance.run(f"INSERT INTO mysql_query_rules (rule_id, active) VALUES {values}")
    in_sync.write(CHANGED)
    found = plan()
    assert "MYSQL QUERY RULES: 40 pending edits not in the files" in found.out
    assert "... and 20 more rows" in found.out
    assert "refused" not in proxyctl("plan", "--only", "MYSQL USERS").out


INACTIVE = """\
mysql_query_rules:
  - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 20, apply: true}
  - {rule_id: 2, active: false, match_digest: '^WITH', destination_hostgroup: 10}
mysql_users:
  - {username: app, password: {env: APP_PASSWORD}, default_hostgroup: 10}
  - {username: old, password: {env: OTHER_PASSWORD}, default_hostgroup: 10, active: false}
"""
HIDDEN = {
    "UPDATE mysql_query_rules SET destination_hostgroup=20, comment='x' WHERE rule_id=2": (
        "rule 2: destination_hostgroup, comment"
    ),
    "INSERT INTO mysql_query_rules (rule_id, active, comment) VALUES (3, 0, 'x')": "rule 3: row",
    "UPDATE mysql_users SET default_hostgroup=20 WHERE username='old'": (
        "user old: default_hostgroup"
    ),
}


@pytest.mark.parametrize("edit", HIDDEN)
def test_an_edit_that_runtime_never_shows_is_not_lost_unasked(
    project: Project, instance: Instance, edit: str
) -> None:
    project.write(INACTIVE)
    applied()
    instance.run(edit)
    edited = dump(instance)
    for options in ([], ["--no-save"], ["--force"]):
        ended(apply(*options), 3, f"{HIDDEN[edit]} differs between MEMORY and DISK")
    assert dump(instance) == edited
    applied("--discard-pending")
    assert proxyctl("drift").code == 0


def test_a_rule_that_was_switched_off_and_loaded_is_no_edit(
    project: Project, instance: Instance
) -> None:
    project.write(INACTIVE)
    applied()
    instance.run("UPDATE mysql_query_rules SET active=0 WHERE rule_id=1")
    instance.run("LOAD MYSQL QUERY RULES TO RUNTIME")
    applied()
    assert proxyctl("drift").code == 0


def test_without_a_save_what_was_not_saved_is_no_obstacle(
    project: Project, instance: Instance
) -> None:
    project.write(FILES)
    applied()
    instance.execute("SET mysql-max_connections=777")
    instance.execute("LOAD MYSQL VARIABLES TO RUNTIME")
    project.write(FILES.replace("8.0.36", "8.4.0"))
    assert "differs between MEMORY and DISK" in plan().out
    assert "1 LOAD, 0 SAVE" in applied("--no-save").out
