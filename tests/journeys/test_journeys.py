"""The main stories, from the command line: start, take over, change, drift."""

from __future__ import annotations

import pytest

from tests.support.commands.cli import SECRETS, Project, proxyctl
from tests.support.commands.story import FILES, applied, apply, plan
from tests.support.servers.instances import Instance
from tests.support.servers.layers import dump, everywhere, in_layers, of_layer

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


def by_hand(instance: Instance, *more: str) -> None:
    """Set up an instance as an administrator does: MEMORY, then LOAD and SAVE."""
    instance.execute(*BY_HAND, *more)
    instance.load(*MODULES, saves=True)


def test_start_from_nothing(project: Project, instance: Instance) -> None:
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


@pytest.mark.parametrize("layer", ["runtime", "memory", "disk"])
def test_take_over_a_running_proxysql(project: Project, instance: Instance, layer: str) -> None:
    by_hand(instance)
    before = dump(instance)
    exported = proxyctl("export", "--layer", layer)
    assert (exported.code, exported.err) == (0, "")
    project.write(exported.out)
    found = apply()
    assert (found.code, "No changes" in found.out) == (0, True), found.text
    assert proxyctl("drift").code == 0
    assert dump(instance) == before


@pytest.mark.parametrize("secrets", ["hash", "omit"])
def test_export_leaves_a_second_password_alone(
    project: Project, instance: Instance, secrets: str
) -> None:
    by_hand(instance)
    instance.execute(
        """UPDATE mysql_users SET attributes='{"additional_password":"736573616d65"}'"""
    )
    instance.load("MYSQL USERS", saves=True)
    exported = proxyctl("export", "--secrets", secrets)
    assert "736573616d65" not in exported.text
    project.write(exported.out)
    assert plan().code == 0
    project.write(exported.out.replace("username: ", "comment: changed, username: "))
    applied()
    held = "SELECT DISTINCT attributes FROM {}mysql_users WHERE comment='changed'"
    assert [row[0] for row in everywhere(instance, held)] == [
        '{"additional_password":"736573616d65"}'
    ]


@pytest.mark.parametrize("layer", ["runtime", "memory", "disk"])
def test_export_of_a_dead_fast_routing(project: Project, instance: Instance, layer: str) -> None:
    rules = "INSERT INTO mysql_query_rules (rule_id, active, apply) VALUES (3, 1, 1)"
    by_hand(instance, rules)
    found = proxyctl("export", "--layer", layer, "-o", "proxyctl.yaml")
    assert "mysql_query_rules_fast_routing: ProxySQL skips this table" in found.err
    assert plan().code == 0
    text = (project.folder / "proxyctl.yaml").read_text()
    project.write(text.replace("keep_fast_routing_alive: false\n", ""))
    assert "+ rule 4  keeps fast routing alive" in plan().out


@pytest.mark.since("2.6.0", "RUNTIME holds a hash of the password")
def test_change_what_runs(project: Project, instance: Instance) -> None:
    project.write(FILES)
    applied()
    changed = (
        FILES.replace("'^SELECT', destination_hostgroup: reader", "'^SELECT', cache_ttl: 5")
        .replace("app, password: {env: APP", "app, password: {env: OTHER")
        .replace("db2, weight: 100", "db2, weight: 50")
        .replace('"8.0.36"', '"8.4.0"')
        .replace("  - {hostgroup_id: reader, hostname: db3, weight: 100}\n", "")
    )
    project.write(changed)

    applied()
    assert plan().code == 0
    assert everywhere(
        instance, "SELECT hostname, weight FROM {}mysql_servers WHERE hostgroup_id=20 ORDER BY 1"
    ) == [("db1", "1"), ("db2", "50")]
    assert everywhere(instance, "SELECT cache_ttl FROM {}mysql_query_rules WHERE rule_id=20") == [
        ("5",)
    ]
    assert everywhere(
        instance, "SELECT DISTINCT password FROM {}mysql_users WHERE username='app'"
    ) == [(SECRETS["OTHER_PASSWORD"],)]
    assert everywhere(
        instance,
        "SELECT variable_value FROM {}global_variables WHERE variable_name='mysql-server_version'",
    ) == [("8.4.0",)]


def test_no_save_leaves_disk_alone(project: Project, instance: Instance) -> None:
    project.write(FILES)
    before = of_layer(dump(instance), "DISK")
    done = applied("--no-save")
    assert "a restart of ProxySQL will revert the change" in done.out
    assert of_layer(dump(instance), "DISK") == before
    found = in_layers(instance, "SELECT count(*) FROM {}mysql_query_rules")
    assert found == {"RUNTIME": [("2",)], "MEMORY": [("2",)], "DISK": [("0",)]}
    assert "saves DISK" in plan().out
    applied()
    assert plan().code == 0


@pytest.mark.parametrize("more", ["variables: {mysql-max_connections: 777}\n", ""])
def test_files_may_have_tables_of_an_admin_module_and_not_its_main_one(
    project: Project, instance: Instance, more: str
) -> None:
    """proxyctl then does not read mysql_servers, even where the admin module is in sync."""
    files = "mysql_replication_hostgroups: [{{writer_hostgroup: 10, reader_hostgroup: {0}}}]\n"
    project.write(files.format(20))
    applied()
    project.write(files.format(20 if more else 30) + more)
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
