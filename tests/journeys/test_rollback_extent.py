"""What rollback brings back and what it leaves to others: what an apply owned, a part, a shard."""

from __future__ import annotations

from tests.journeys.layers import everything, everywhere
from tests.journeys.story import FILES, applied, apply, plan, rolled_back, said
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

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
    for sql in (
        "INSERT INTO mysql_query_rules (rule_id, active, match_digest) VALUES (7, 1, 'theirs')",
        "INSERT INTO mysql_query_rules_fast_routing VALUES ('app', 'tenant', 0, 3, '')",
        "UPDATE mysql_servers SET weight=9",
        "LOAD MYSQL SERVERS TO RUNTIME",
        "SAVE MYSQL SERVERS TO DISK",
        "LOAD MYSQL QUERY RULES TO RUNTIME",
        "SAVE MYSQL QUERY RULES TO DISK",
    ):
        instance.execute(sql)
    found = rolled_back()
    assert "mysql_query_rules: 1 row outside rule_id 100-199" in found.out
    rules = "SELECT rule_id, match_digest FROM {}mysql_query_rules ORDER BY rule_id"
    assert everywhere(instance, rules) == [("7", "theirs"), ("100", "^SELECT")]
    assert everywhere(instance, "SELECT schemaname FROM {}mysql_query_rules_fast_routing") == [
        ("tenant",)
    ]
    servers = "SELECT weight, max_connections FROM {}mysql_servers"
    assert everywhere(instance, servers) == [("9", "1")]


def test_further_back_undoes_what_later_applies_owned(project: Project, instance: Instance) -> None:
    project.write("version: 1\nscheduler: []\nmysql_servers: [{hostgroup_id: 1, hostname: a}]\n")
    applied()
    before = everything(instance)
    project.write("version: 1\nmysql_servers: [{hostgroup_id: 1, hostname: b}]\n")
    applied("--force")
    project.write("version: 1\nmysql_users: [{username: u, password: x}]\n")
    applied()
    found = rolled_back("2", "--force", "--dry-run")
    assert "mysql_users: left alone: it was changed since" in found.out
    rolled_back("--force")
    rolled_back("3", "--force")
    assert everything(instance) == before


def test_a_part_of_it(project: Project, instance: Instance) -> None:
    project.write(FILES)
    applied()
    project.write(FILES.replace("8.0.36", "8.4.0").replace("weight: 100", "weight: 70"))
    applied()
    rolled_back("--only", "mysql_servers")
    assert everywhere(instance, "SELECT DISTINCT weight FROM {}mysql_servers ORDER BY 1") == [
        ("1",),
        ("100",),
    ]
    version = (
        "SELECT variable_value FROM {}global_variables WHERE variable_name='mysql-server_version'"
    )
    assert everywhere(instance, version) == [("8.4.0",)]


def test_a_part_of_which_nothing_goes_back(project: Project, instance: Instance) -> None:
    """The apply changed something else; there are no files that could manage it."""
    project.write("version: 1\nscheduler: []\n")
    instance.execute("INSERT INTO scheduler (id, interval_ms, filename) VALUES (1, 1000, '/a')")
    instance.execute("LOAD SCHEDULER TO RUNTIME")
    applied("--force", "--discard-pending")
    before = everything(instance)
    for name in ("MYSQL SERVERS", "mysql_users"):
        found = proxyctl("rollback", "--auto-approve", "--only", name)
        said(found, 64, f"--only {name}: nothing of it goes back", "what goes back: SCHEDULER")
        assert "files" not in found.text
    assert everything(instance) == before


SHARDS = """\
version: 1
hostgroups: {shard0: {id: 10}, shard1: {id: 11}}
mysql_servers: [{hostgroup_id: 10, hostname: a}, {hostgroup_id: 11, hostname: b}]
mysql_users: [{username: app, password: x}]
sharding:
  - name: shop
    tables: {t1: shard0, t2: shard1}
    assign: explicit
    hostgroups: [shard0, shard1]
    first_rule_id: 100
"""


def test_a_table_does_not_change_shard_unasked(project: Project) -> None:
    project.write(SHARDS)
    applied()
    project.write(SHARDS.replace("t1: shard0", "t1: shard1").replace("t2: shard1", "t2: shard0"))
    assert apply().code == 3
    applied("--allow-shard-moves")
    said(proxyctl("rollback", "--auto-approve"), 3, "table t1 would go from 11 (shard1) to 10")
    rolled_back("--allow-shard-moves")
    project.write(SHARDS)
    assert plan().code == 0
