"""rollback restores the snapshot in all layers, and leaves rows that others manage."""

from __future__ import annotations

from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import FILES, applied, apply, ended, plan, rolled_back
from tests.support.every_table import whole_files
from tests.support.servers.instances import Instance
from tests.support.servers.layers import dump, everywhere, in_layers

MORE = """variables:
  mysql-default_charset: latin1
  mysql-default_collation_connection: latin1_bin
  mysql-monitor_password: {env: APP_PASSWORD}
  mysql-threads: 3
  admin-cluster_mysql_users_diffs_before_sync: 3
"""
CHANGES = {
    "latin1": "utf8mb4",
    "APP_PASSWORD": "OTHER_PASSWORD",
    "mysql-threads: 3": "mysql-threads: 5",
    "before_sync: 3": "before_sync: 0",
    "4096": "2048",
    "2500": "1500",
    "max_connections: 500": "comment: \"größe 'x'\", status: OFFLINE_SOFT",
    "db3": "db4",
    "check_type: super_read_only": "comment: new",
    "max_writers: 2": "max_writers: 3",
    "writer_is_also_reader: 2": "active: false",
    "add_lag_ms: 40": "add_lag_ms: 50",
    "servers_defaults: {weight: 7}": "init_connect: \"SET @a='b'\"",
    "username: batch": "username: comes",
    "rule_id: 10,": "rule_id: 9, active: false,",
    "schemaname: shop": "schemaname: shop2",
    "DETECTING": "PROTECTING",
    "s&1o1": "s&1",
    "interval_ms: 60000, filename: /bin/true": "interval_ms: 60000, filename: a'b",
    "uri: u": "uri: v",
    "proxysql_servers: []": "proxysql_servers: [{hostname: 127.0.0.1, port: 1, weight: 1}]",
}
"""Of rows, of fields and of variables: something in every table."""


ALLOWED = ("--force", "--allow-shard-moves")


def test_after_a_change_of_every_kind(project: Project, instance: Instance) -> None:
    """Rows that no file described are restored like rows from files."""
    older = whole_files(instance.version).replace("variables:\n", MORE)
    newer = older
    for old, new in CHANGES.items():
        newer = newer.replace(old, new)
    fresh = dump(instance)
    project.write(older)
    applied()
    before = dump(instance)
    project.write(newer)
    applied(*ALLOWED)
    after = dump(instance)
    assert [place for place in after if after[place] == before[place] and before[place]] == []

    assert "Applied to" in rolled_back(*ALLOWED).out
    assert dump(instance) == before
    project.write(older)
    assert plan().code == 0
    rolled_back(*ALLOWED)
    assert dump(instance) == after, "rolling back the rollback"
    rolled_back(*ALLOWED)
    rolled_back("5", *ALLOWED)
    assert dump(instance) == fresh


def test_bytes_that_are_not_utf8(project: Project, instance: Instance) -> None:
    with instance.connect() as connection, connection.cursor() as cursor:
        cursor.execute(
            b"INSERT INTO mysql_servers (hostgroup_id, hostname, comment)"
            b" VALUES (7, 'db7', 'caf\xe9')"
        )
    instance.load("MYSQL SERVERS", saves=True)
    before = dump(instance)
    assert "\udce9" in repr(before[("RUNTIME", "mysql_servers")]).encode().decode("unicode_escape")
    project.write("version: 1\nmysql_servers: [{hostgroup_id: 1, hostname: db1}]\n")
    applied("--force")
    rolled_back(*ALLOWED)
    assert dump(instance) == before


def test_an_interface_that_was_not_set(project: Project) -> None:
    project.write('version: 1\nvariables: {admin-telnet_admin_ifaces: "127.0.0.1:0"}\n')
    applied()
    found = rolled_back()
    assert (
        "admin-telnet_admin_ifaces: left alone: no statement restores its earlier value"
        in found.out
    )


# -- what went before -----------------------------------------------------------------------------


def test_after_an_apply_that_failed(project: Project, instance: Instance) -> None:
    project.write(FILES)
    applied()
    before = dump(instance)
    refused = "  mysql-eventslog_filename: /no/such/folder/events\n"
    project.write(FILES.replace("variables:\n", f"variables:\n{refused}"))
    ended(apply(), 4, "everything was restored")
    assert "No changes: MEMORY, RUNTIME and DISK hold what the snapshot says." in rolled_back().out
    rolled_back("2", "--force")
    project.write(FILES)
    applied()
    assert dump(instance) == before


def test_unloaded_edits_of_memory_are_reported(project: Project, instance: Instance) -> None:
    project.write(FILES)
    applied()
    instance.execute("UPDATE mysql_query_rules SET comment='not loaded' WHERE rule_id=20")
    project.write(FILES.replace("^SELECT.*FOR", "^SELECT .*FOR"))
    applied("--discard-pending")
    found = rolled_back()
    assert "mysql_query_rules: MEMORY and RUNTIME differed in rule 20 then" in found.out
    assert everywhere(instance, "SELECT comment FROM {}mysql_query_rules WHERE rule_id=20") == [
        (None,)
    ]


def test_an_edit_made_since_is_not_lost_unasked(project: Project, instance: Instance) -> None:
    project.write(FILES)
    applied()
    project.write(FILES.replace("weight: 100", "weight: 70"))
    applied()
    instance.execute("UPDATE mysql_servers SET comment='mine' WHERE hostname='db3'")
    found = proxyctl("rollback", "--auto-approve")
    ended(found, 3, "comment edited in MEMORY", "the snapshot says otherwise", "--discard-pending")
    rolled_back("--discard-pending")
    assert in_layers(instance, "SELECT count(*) FROM {}mysql_servers WHERE comment='mine'") == {
        "RUNTIME": [("0",)],
        "MEMORY": [("0",)],
        "DISK": [("0",)],
    }


# -- what belongs to others ------------------------------------------------------------------------


OURS = """\
version: 1
manage:
  mysql_query_rules: {rule_id: "100-199"}
  ignore: {mysql_servers: [weight]}
mysql_query_rules:
  - {rule_id: 100, match_digest: '^SELECT', destination_hostgroup: 10}
mysql_servers:
  - {hostgroup_id: 10, hostname: db1, max_connections: 1}
"""


def test_only_what_the_apply_owned_goes_back(project: Project, instance: Instance) -> None:
    project.write(OURS)
    applied()
    project.write(OURS.replace("^SELECT", "^INSERT").replace("max_connections: 1", ""))
    applied()
    instance.execute(
        "INSERT INTO mysql_query_rules (rule_id, active, match_digest) VALUES (7, 1, 'theirs')",
        "INSERT INTO mysql_query_rules_fast_routing VALUES ('app', 'tenant', 0, 3, '')",
        "UPDATE mysql_servers SET weight=9",
    )
    instance.load("MYSQL SERVERS", "MYSQL QUERY RULES", saves=True)
    found = rolled_back()
    assert "mysql_query_rules: 1 row outside rule_id 100-199" in found.out
    rules = "SELECT rule_id, match_digest FROM {}mysql_query_rules ORDER BY rule_id"
    assert everywhere(instance, rules) == [("7", "theirs"), ("100", "^SELECT")]
    assert everywhere(instance, "SELECT schemaname FROM {}mysql_query_rules_fast_routing") == [
        ("tenant",)
    ]
    servers = "SELECT weight, max_connections FROM {}mysql_servers"
    assert everywhere(instance, servers) == [("9", "1")]


THEIRS = """\
version: 1
manage: {mysql_query_rules: {rule_id: "200-299"}}
variables: {mysql-max_connections: 4096}
mysql_query_rules: [{rule_id: 200, match_digest: theirs}]
"""


def test_another_teams_apply_since_is_not_reverted(project: Project, instance: Instance) -> None:
    ours = OURS + "variables: {mysql-monitor_history: 7000000}\n"
    project.write(ours)
    applied()
    project.write(ours.replace("^SELECT", "^INSERT").replace("7000000", "8000000"))
    applied()
    project.write(THEIRS, "theirs.yaml")
    applied("-f", "theirs.yaml")
    rolled_back("2")
    assert plan("-f", "theirs.yaml").code == 0
    project.write(ours)
    assert plan().code == 0
    rolled_back("2")
    assert plan("-f", "theirs.yaml").code == 2, "that was the snapshot before their apply"
    assert plan().code == 0


def test_a_part_of_it(project: Project, instance: Instance) -> None:
    project.write(FILES)
    applied()
    project.write(FILES.replace("8.0.36", "8.4.0").replace("weight: 100", "weight: 70"))
    applied()
    found = rolled_back("--only", "mysql_servers")
    assert found.err.endswith(
        "\ncorrect the files, too, or the next apply makes the change again\n"
    )
    again = rolled_back("2", "--only", "mysql_servers")
    assert "correct the files" not in again.text, "nothing was to do"
    assert everywhere(instance, "SELECT DISTINCT weight FROM {}mysql_servers ORDER BY 1") == [
        ("1",),
        ("100",),
    ]
    version = (
        "SELECT variable_value FROM {}global_variables WHERE variable_name='mysql-server_version'"
    )
    assert everywhere(instance, version) == [("8.4.0",)]


def test_a_part_of_which_nothing_goes_back(project: Project, instance: Instance) -> None:
    project.write("version: 1\nscheduler: []\n")
    instance.execute("INSERT INTO scheduler (id, interval_ms, filename) VALUES (1, 1000, '/a')")
    instance.load("SCHEDULER")
    applied("--force", "--discard-pending")
    before = dump(instance)
    for name in ("MYSQL SERVERS", "mysql_users"):
        found = proxyctl("rollback", "--auto-approve", "--only", name)
        ended(found, 64, f"--only {name}: the apply of that snapshot did not manage it")
    assert dump(instance) == before
