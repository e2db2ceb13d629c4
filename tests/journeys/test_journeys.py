"""The main stories, from the command line: start, take over, change, and what stands in the way."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.cli import SECRETS, Outcome, Project, proxyctl
from tests.journeys.layers import dump, everywhere, in_layers, of_layer
from tests.servers import Instance

FILES = """\
version: 1
variables:
  mysql-server_version: "8.0.36"
hostgroups:
  writer: {id: 10}
  reader: {id: 20, multiplex: false}
mysql_servers:
  - {hostgroup_id: writer, hostname: db1, max_connections: 500}
  - {hostgroup_id: reader, hostname: db1, weight: 1}
  - {hostgroup_id: reader, hostname: db2, weight: 100}
  - {hostgroup_id: reader, hostname: db3, weight: 100}
mysql_users:
  - {username: app, password: {env: APP_PASSWORD}, default_hostgroup: writer}
  - {username: batch, password: {env: OTHER_PASSWORD}, default_hostgroup: reader}
mysql_query_rules:
  - {rule_id: 10, match_digest: '^SELECT.*FOR UPDATE', destination_hostgroup: writer, apply: true}
  - {rule_id: 20, match_digest: '^SELECT', destination_hostgroup: reader, apply: true}
"""

BY_HAND = (
    "INSERT INTO mysql_servers (hostgroup_id, hostname, status, weight, comment)"
    " VALUES (10, 'db1', 'ONLINE', 5, 'it''s \\ \"it\"'), (20, 'db2', 'OFFLINE_SOFT', 1, '')",
    "INSERT INTO mysql_users (username, password, default_hostgroup)"
    " VALUES ('app', 's3cret-of-app', 10)",
    "INSERT INTO mysql_users (username, password, active, default_schema)"
    " VALUES ('idle', NULL, 0, 'größe')",
    "INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup, comment)"
    " VALUES (1, 1, '^SELECT \\d+', 20, 'new\nline'), (2, 0, '^OFF', NULL, '')",
    "INSERT INTO mysql_query_rules_fast_routing VALUES ('app', 'shop', 0, 20, '')",
    "INSERT INTO scheduler (id, active, interval_ms, filename, arg1)"
    " VALUES (7, 0, 1000, '/bin/true', '')",
    "UPDATE global_variables SET variable_value='4321' WHERE variable_name='mysql-max_connections'",
)
MODULES = ("MYSQL SERVERS", "MYSQL USERS", "MYSQL QUERY RULES", "MYSQL VARIABLES", "SCHEDULER")


def plan(*arguments: str) -> Outcome:
    return proxyctl("plan", "--detailed-exitcode", *arguments)


def apply(*arguments: str) -> Outcome:
    return proxyctl("apply", "--auto-approve", *arguments)


def applied(*arguments: str) -> Outcome:
    """Apply, and expect that it worked."""
    found = apply(*arguments)
    assert found.code == 0, found.text
    return found


def by_hand(instance: Instance, *steps: str) -> None:
    """Set an instance up as an administrator would: MEMORY, then LOAD and SAVE."""
    for statement in BY_HAND:
        instance.execute(statement)
    for module in MODULES:
        for step in steps:
            instance.execute(step.format(module))


LOAD, SAVE = "LOAD {} TO RUNTIME", "SAVE {} TO DISK"


def test_start_from_nothing(project: Project, instance: Instance) -> None:
    assert proxyctl("init", "start").code == 0
    assert proxyctl("validate", "-f", "start").code == 0
    project.write(FILES)

    before = dump(instance)
    shown = plan()
    assert shown.code == 2
    assert "Plan: 9 to add, 1 to change, 0 to delete at RUNTIME." in shown.out
    assert dump(instance) == before

    done = applied()
    assert "every layer was read back" in done.out
    assert len(project.snapshots()) == 1
    assert oct(project.snapshots()[0].stat().st_mode & 0o777) == "0o600"
    assert plan().code == 0
    assert "No changes" in apply().out
    assert len(project.snapshots()) == 1

    assert everywhere(
        instance, "SELECT hostgroup_id, hostname, weight FROM {}mysql_servers ORDER BY 1, 2"
    ) == [("10", "db1", "1"), ("20", "db1", "1"), ("20", "db2", "100"), ("20", "db3", "100")]
    assert everywhere(instance, "SELECT DISTINCT username FROM {}mysql_users ORDER BY 1") == [
        ("app",),
        ("batch",),
    ]
    assert everywhere(instance, "SELECT rule_id FROM {}mysql_query_rules ORDER BY 1") == [
        ("10",),
        ("20",),
    ]


@pytest.mark.parametrize("layer", ["runtime", "memory", "disk"])
def test_take_over_a_running_proxysql(project: Project, instance: Instance, layer: str) -> None:
    by_hand(instance, LOAD, SAVE)
    before = dump(instance)
    exported = proxyctl("export", "--layer", layer)
    assert (exported.code, exported.err) == (0, "")
    project.write(exported.out)
    found = plan()
    assert (found.code, "No changes" in found.out) == (0, True), found.text
    assert proxyctl("drift").code == 0
    assert "Applied" not in apply().out
    assert dump(instance) == before


def test_export_of_a_layer_shows_exactly_the_layers_that_differ(
    project: Project, instance: Instance
) -> None:
    by_hand(instance, LOAD)
    exported = proxyctl("export", "--layer", "runtime")
    assert "MEMORY and DISK differ" in exported.err
    project.write(exported.out)
    found = plan("--format", "json").json["instances"][0]
    layers = {tuple(c["layers"]) for m in found["modules"] for c in m["changes"]}
    assert layers == {("disk",)}
    applied()
    assert plan().code == 0
    assert everywhere(instance, "SELECT hostname FROM {}mysql_servers ORDER BY 1")


def test_change_what_runs(project: Project, instance: Instance) -> None:
    project.write(FILES)
    applied()
    changed = FILES
    for old, new in {
        "'^SELECT', destination_hostgroup: reader": "'^SELECT', destination_hostgroup: writer",
        "{username: app, password: {env: APP": "{username: app, password: {env: OTHER",
        "hostname: db2, weight: 100": "hostname: db2, weight: 50",
        '"8.0.36"': '"8.4.0"',
        "  - {hostgroup_id: reader, hostname: db3, weight: 100}\n": "",
    }.items():
        assert old in changed
        changed = changed.replace(old, new)
    project.write(changed)

    shown = plan()
    for line in (
        r"~ mysql-server_version +8\.0\.36 -> 8\.4\.0",
        r"~ server 20 \(reader\) db2:3306\n +weight +100 -> 50",
        r"- server 20 \(reader\) db3:3306 +in no file",
        r"~ rule 20 +\^SELECT\n +destination_hostgroup +20 \(reader\) -> 10 \(writer\)",
        r"~ user app\n +password +\(sensitive\)",
        r"0 to add, 4 to change, 1 to delete at RUNTIME",
    ):
        assert re.search(line, shown.out), f"{line}\n{shown.out}"
    statements = plan("--format", "sql").out.splitlines()
    assert len([line for line in statements if line.startswith("UPDATE")]) == 4
    assert len([line for line in statements if line.startswith("DELETE")]) == 1

    applied()
    assert plan().code == 0
    assert everywhere(
        instance, "SELECT hostname, weight FROM {}mysql_servers WHERE hostgroup_id=20 ORDER BY 1"
    ) == [("db1", "1"), ("db2", "50")]
    assert everywhere(
        instance, "SELECT destination_hostgroup FROM {}mysql_query_rules WHERE rule_id=20"
    ) == [("10",)]
    assert everywhere(
        instance, "SELECT DISTINCT password FROM {}mysql_users WHERE username='app'"
    ) == [(SECRETS["OTHER_PASSWORD"],)]
    assert everywhere(
        instance,
        "SELECT variable_value FROM {}global_variables WHERE variable_name='mysql-server_version'",
    ) == [("8.4.0",)]


def test_drift_is_found_named_and_mended(project: Project, instance: Instance) -> None:
    project.write(FILES)
    applied()
    instance.execute("UPDATE mysql_servers SET weight=7 WHERE hostname='db2'")
    instance.execute("LOAD MYSQL SERVERS TO RUNTIME")
    found = proxyctl("drift")
    assert found.code == 2
    assert "1 row differs" in found.out
    assert "7 -> 100" in found.out
    assert "changed and loaded by hand, not saved" in found.out
    applied()
    assert proxyctl("drift").code == 0


def test_no_save_leaves_disk_alone(project: Project, instance: Instance) -> None:
    project.write(FILES)
    before = of_layer(dump(instance), "DISK")
    done = applied("--no-save")
    assert "a restart of ProxySQL takes the change back" in done.out
    assert of_layer(dump(instance), "DISK") == before
    found = in_layers(instance, "SELECT count(*) FROM {}mysql_query_rules")
    assert found == {"RUNTIME": [("2",)], "MEMORY": [("2",)], "DISK": [("0",)]}
    assert "DISK is behind" in plan().out
    applied()
    assert plan().code == 0


def test_only_leaves_the_other_modules_alone(project: Project, instance: Instance) -> None:
    project.write(FILES)
    applied("--only", "MYSQL SERVERS", "--only", "mysql_query_rules")
    assert everywhere(instance, "SELECT count(*) FROM {}mysql_servers") == [("4",)]
    assert everywhere(instance, "SELECT count(*) FROM {}mysql_query_rules") == [("2",)]
    assert everywhere(instance, "SELECT count(*) FROM {}mysql_users") == [("0",)]
    assert plan("--only", "mysql_query_rules").code == 0
    assert plan().code == 2
    unknown = plan("--only", "mysql_usrs")
    assert (unknown.code, "no such admin module or table" in unknown.err) == (64, True)
    unmanaged = plan("--only", "scheduler")
    assert (unmanaged.code, "the files do not manage it" in unmanaged.err) == (64, True)


# -- saved plans ----------------------------------------------------------------------------------


def test_a_saved_plan_is_applied(project: Project, instance: Instance) -> None:
    project.write(FILES, "px.yaml")
    saved = plan("-f", "px.yaml", "--out", "plan.out")
    assert saved.code == 2
    path = project.folder / "plan.out"
    assert oct(path.stat().st_mode & 0o777) == "0o600"
    text = path.read_text()
    assert not any(secret in text for secret in SECRETS.values())
    assert "INSERT" not in text
    done = proxyctl("apply", "plan.out")
    assert done.code == 0, done.text
    assert plan("-f", "px.yaml").code == 0
    again = proxyctl("apply", "plan.out")
    assert (again.code, "stale" in again.err) == (3, True)


def test_a_saved_plan_keeps_its_options(project: Project, instance: Instance) -> None:
    project.write(FILES)
    plan("--only", "mysql_query_rules", "--out", "plan.out")
    refused = proxyctl("apply", "plan.out", "--force")
    assert (refused.code, "carries its own options" in refused.err) == (64, True)
    assert proxyctl("apply", "plan.out").code == 0
    assert everywhere(instance, "SELECT count(*) FROM {}mysql_query_rules") == [("2",)]
    assert everywhere(instance, "SELECT count(*) FROM {}mysql_servers") == [("0",)]


def test_a_saved_plan_asks_for_its_variables(project: Project, instance: Instance) -> None:
    project.write(FILES.replace("'^SELECT'", "'{{ pattern }}'"), "px.yaml.j2")
    made = plan("-f", "px.yaml.j2", "--var", "pattern=^SELECT x", "--out", "plan.out")
    assert made.code == 2, made.text
    assert json.loads((project.folder / "plan.out").read_text())["variables"] == ["pattern"]
    missing = proxyctl("apply", "plan.out")
    assert (missing.code, "--var pattern" in missing.err) == (64, True)
    other = proxyctl("apply", "plan.out", "--var", "pattern=^SELECT y")
    assert (other.code, "stale" in other.err) == (3, True)
    assert proxyctl("apply", "plan.out", "--var", "pattern=^SELECT x").code == 0


def test_a_stale_plan_is_refused(project: Project, instance: Instance) -> None:
    project.write(FILES)
    plan("--out", "plan.out")
    instance.execute("INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (99, 'new')")
    before = dump(instance)
    found = proxyctl("apply", "plan.out")
    assert found.code == 3
    assert "stale" in found.err
    assert "run plan again" in found.err
    assert dump(instance) == before


def test_a_plan_for_another_address_is_refused(project: Project, instance: Instance) -> None:
    project.write(FILES)
    plan("--out", "plan.out")
    path = project.folder / "plan.out"
    path.write_text(path.read_text().replace(f":{instance.port}", ":1"))
    before = dump(instance)
    found = proxyctl("apply", "plan.out")
    assert (found.code, "the plan was made for 127.0.0.1:1" in found.err) == (3, True), found.text
    assert dump(instance) == before


@pytest.mark.parametrize(
    ("old", "new", "code", "message"),
    [
        ('"kind": "proxyctl plan"', '"kind": "else"', 1, "not a saved plan"),
        ('"format": 1', '"format": 99', 1, "reads format 1"),
        ('"options": []', '"options": [7]', 1, "damaged"),
        ('"options": []', '"options": ["--frob"]', 1, "damaged"),
        ('"options": []', '"options": ["--force"]', 0, ""),
        ('"paths": [', '"paths": 3, "was": [', 1, "damaged"),
        ("{", "", 1, "no JSON"),
        ("", "\ud800", 1, "no JSON"),
    ],
)
def test_a_damaged_plan_file_is_said_so(
    sandbox_project: Project,
    sandbox_instance: Instance,
    old: str,
    new: str,
    code: int,
    message: str,
) -> None:
    sandbox_project.write(FILES)
    plan("--out", "plan.out")
    path = sandbox_project.folder / "plan.out"
    text = path.read_text().replace(old, new, 1) if old else "\udcff\udcfe"
    path.write_text(text, errors="surrogateescape")
    before = dump(sandbox_instance)
    found = proxyctl("apply", "plan.out")
    assert found.code == code, found.text
    assert message in found.err
    assert "Traceback" not in found.err
    assert (dump(sandbox_instance) == before) is (code != 0)


def test_an_edited_plan_cannot_bring_in_a_statement(
    sandbox_project: Project, sandbox_instance: Instance
) -> None:
    sandbox_project.write(FILES)
    plan("--out", "plan.out")
    path = sandbox_project.folder / "plan.out"
    document = json.loads(path.read_text())
    document["plan"]["modules"][0]["changes"] = []
    document["plan"]["modules"].append({"module": "DELETE FROM mysql_users", "changes": []})
    path.write_text(json.dumps(document))
    assert proxyctl("apply", "plan.out").code == 0
    assert plan().code == 0


def test_no_plan_file_is_said_so(sandbox_project: Project) -> None:
    found = proxyctl("apply", "nowhere.out")
    assert (found.code, found.err) == (1, "error: nowhere.out: No such file or directory\n")


# -- asking, locking, dying -----------------------------------------------------------------------


def test_apply_without_a_terminal_asks_for_a_decision(project: Project, instance: Instance) -> None:
    project.write(FILES)
    before = dump(instance)
    found = proxyctl("apply")
    assert found.code == 64
    assert "--auto-approve" in found.err
    assert "Plan: 9 to add" in found.out
    assert dump(instance) == before


LOCK = (
    "CREATE TEMP TABLE IF NOT EXISTS proxyctl_lock(id INTEGER PRIMARY KEY CHECK(id=1), owner, host,"
    " pid INT, purpose, stage, modules, expires INT)"
)


def hold_lock(instance: Instance, *, host: str, pid: int, modules: str = "[]", for_s: int) -> None:
    instance.execute("DROP TABLE IF EXISTS proxyctl_lock")
    instance.execute(LOCK)
    instance.execute(
        f"INSERT INTO proxyctl_lock VALUES (1, 'them', '{host}', {pid}, 'apply', 'staging MEMORY',"
        f" '{modules}', CAST(strftime('%s','now') AS INT)+{for_s})"
    )


def drop_lock(instance: Instance) -> None:
    instance.execute("DROP TABLE IF EXISTS proxyctl_lock")


def test_the_lock_of_another_apply_is_respected(project: Project, instance: Instance) -> None:
    project.write(FILES)
    hold_lock(instance, host="elsewhere", pid=1, for_s=60)
    before = dump(instance)
    found = apply("--lock-timeout", "0")
    assert found.code == 3
    assert "locked: apply by pid 1 on elsewhere, staging MEMORY" in found.err
    assert "--lock-timeout" in found.err
    assert dump(instance) == before
    assert plan().code == 2
    removed = proxyctl("unlock")
    assert "removed the lock of apply by pid 1 on elsewhere" in removed.err
    assert proxyctl("unlock").err == "there is no lock\n"
    applied("--lock-timeout", "0")
    assert instance.query("SELECT count(*) FROM proxyctl_lock") == [("0",)]
    drop_lock(instance)


def _dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    process.wait()
    return process.pid


@pytest.mark.parametrize("death", ["expired", "killed here"])
def test_a_dead_lock_is_taken_over_and_its_leftovers_are_ours(
    project: Project, instance: Instance, death: str
) -> None:
    project.write(FILES)
    applied()
    changed = FILES.replace("'^SELECT', destination_hostgroup: reader", "'^SELECT', cache_ttl: 5")
    project.write(changed)
    # The dead one was staging a change of ours that is not the one in the files now.
    instance.execute("UPDATE mysql_query_rules SET cache_ttl=4 WHERE rule_id=20")
    assert apply().code == 3
    host = os.uname().nodename
    if death == "expired":
        modules = '["MYSQL QUERY RULES"]'
        hold_lock(instance, host="elsewhere", pid=1, modules=modules, for_s=-1)
    else:
        hold_lock(instance, host=host, pid=_dead_pid(), modules='["MYSQL QUERY RULES"]', for_s=60)
    applied("--lock-timeout", "0")
    assert plan().code == 0
    drop_lock(instance)


MANY = FILES + "".join(
    f"  - {{rule_id: {number}, match_digest: '^SELECT {number}', comment: {'x' * 200}}}\n"
    for number in range(100, 3000)
)


@pytest.mark.parametrize("stage", ["staging MEMORY", "LOAD", "SAVE"])
def test_a_second_run_after_a_killed_one_finishes(
    project: Project, instance: Instance, stage: str
) -> None:
    project.write(FILES)
    applied()
    project.write(MANY)
    process = subprocess.Popen(
        [sys.executable, "-m", "proxyctl", "apply", "--auto-approve"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=project.folder,
    )
    # Wait until it says that it is there; however far it gets before the signal, the law holds.
    while process.poll() is None:
        rows = instance.query(
            "SELECT 1 FROM sqlite_temp_master WHERE name='proxyctl_lock'"
        ) and instance.query("SELECT stage FROM proxyctl_lock")
        if rows and str(rows[0][0]).startswith(stage):
            break
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()

    found = in_layers(instance, "SELECT count(*) FROM {}mysql_query_rules")
    whole = {(str(2),), (str(2 + 2900),)}
    assert set(found["RUNTIME"]) <= whole
    assert set(found["DISK"]) <= whole
    applied("--lock-timeout", "0")
    assert everywhere(instance, "SELECT count(*) FROM {}mysql_query_rules") == [("2902",)]
    assert plan().code == 0
    drop_lock(instance)
