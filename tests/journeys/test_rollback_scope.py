"""What rollback brings back and what it leaves to others; and that it shows no secret."""

from __future__ import annotations

from tests.journeys.layers import everything, everywhere
from tests.journeys.story import FILES, applied, plan, rolled_back, said
from tests.support.cli import SECRETS, Project, proxyctl
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
    project.write("version: 1\nscheduler: []\n")
    instance.execute("INSERT INTO scheduler (id, interval_ms, filename) VALUES (1, 1000, '/a')")
    instance.execute("LOAD SCHEDULER TO RUNTIME")
    applied("--force", "--discard-pending")
    before = everything(instance)
    for name in ("MYSQL SERVERS", "mysql_users"):
        found = proxyctl("rollback", "--auto-approve", "--only", name)
        said(found, 64, f"--only {name}: the apply of that snapshot did not manage it")
    assert everything(instance) == before


REFERENCES = """\
version: 1
variables: {mysql-monitor_password: {env: APP_PASSWORD}}
mysql_users:
  - {username: app, password: {env: APP_PASSWORD}, comment: {env: APP_PASSWORD}}
  - {username: leaves, password: {env: OTHER_PASSWORD}}
scheduler:
  - {id: 1, active: 0, interval_ms: 1000, filename: /bin/true, arg1: {env: OTHER_PASSWORD}}
"""


def test_no_secret_is_shown(project: Project, instance: Instance) -> None:
    """Neither one that comes back, nor one that leaves, nor one that only a later apply put."""
    project.write(REFERENCES.replace("{env: OTHER_PASSWORD}}\n", "plain}\n"))
    applied()
    swapped = REFERENCES.replace("APP_", "X_").replace("OTHER_", "APP_").replace("X_", "OTHER_")
    project.write(REFERENCES)
    applied()
    project.write(
        swapped + "  - {id: 2, active: 0, interval_ms: 9999, filename: a, arg1: "
        "{env: APP_PASSWORD}}\n"
    )
    applied()
    for arguments in (
        ("rollback", "--dry-run"),
        ("rollback", "2", "--dry-run"),
        ("rollback", "3", "--dry-run", "--force"),
        ("rollback", "--dry-run", "--format", "json"),
        ("rollback", "--auto-approve", "--debug"),
        ("rollback", "--auto-approve", "--format", "json"),
        ("snapshot", "--format", "json"),
        ("rollback", "--dry-run"),
        ("history",),
        ("history", "--format", "json"),
    ):
        found = proxyctl(*arguments)
        assert found.code == 0, found.text
        assert not any(secret in found.text for secret in SECRETS.values()), arguments
