"""A server that was loaded SHUNNED serves nobody, also where the plan is about something else."""

from __future__ import annotations

import pytest

from tests.journeys.layers import in_layers
from tests.journeys.story import applied, apply, plan, said
from tests.journeys.test_guards import MONITOR
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

SERVERS = """\
mysql_servers:
  - {hostgroup_id: 50, hostname: db1}
  - {hostgroup_id: 10, hostname: db2}
"""
USERS = """\
mysql_users:
  - {username: app, password: {env: APP_PASSWORD}, default_hostgroup: 50}
"""
RULES = """\
mysql_query_rules:
  - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 50, apply: true}
"""
FAMILY = "mysql_replication_hostgroups:\n  - {writer_hostgroup: 10, reader_hostgroup: 20}\n"
DB2 = "WHERE hostname='db2'"
LOAD, SAVE = "LOAD MYSQL SERVERS TO RUNTIME", "SAVE MYSQL SERVERS TO DISK"
USERS_TURNED = (
    "hostgroup 10 would be the default hostgroup of 1 user (app)"
    " and has no server that takes queries"
)
RULES_TURNED = (
    "hostgroup 10 would be the destination of 1 rule (1) and has no server that takes queries"
)


def turned(files: str, hostgroup: int) -> str:
    return files.replace("default_hostgroup: 50", f"default_hostgroup: {hostgroup}").replace(
        "destination_hostgroup: 50", f"destination_hostgroup: {hostgroup}"
    )


@pytest.fixture
def shunned(project: Project, instance: Instance) -> Project:
    """Hostgroup 10 has one server, which somebody wrote SHUNNED, loaded and saved."""
    project.write(SERVERS + USERS + RULES)
    applied()
    for statement in (f"UPDATE mysql_servers SET status='SHUNNED' {DB2}", LOAD, SAVE):
        instance.run(statement)
    return project


@pytest.mark.parametrize(
    ("files", "options", "refused"),
    [
        (SERVERS + USERS, [], USERS_TURNED),
        (SERVERS + USERS, ["--only", "MYSQL USERS"], USERS_TURNED),
        (SERVERS + RULES, ["--only", "mysql_query_rules"], RULES_TURNED),
        (USERS, [], USERS_TURNED),
        (RULES, [], RULES_TURNED),
    ],
    ids=["all", "only users", "only rules", "files of users", "files of rules"],
)
def test_nobody_is_sent_there_whatever_the_files_manage(
    shunned: Project, files: str, options: list[str], refused: str
) -> None:
    shunned.write(turned(files, 10))
    assert refused in plan(*options).out
    said(apply(*options), 3, refused)


@pytest.mark.parametrize("manages", [True, False], ids=["with servers", "without servers"])
@pytest.mark.parametrize("stands_in", [10, 20])
def test_nobody_is_sent_where_such_a_node_of_a_family_stands(
    project: Project, instance: Instance, stands_in: int, manages: bool
) -> None:
    """The monitor had moved it, so that MEMORY has it in another hostgroup."""
    project.write(MONITOR + SERVERS + USERS + FAMILY)
    applied()
    for statement in (
        f"UPDATE mysql_servers SET status='SHUNNED', hostgroup_id={stands_in} {DB2}",
        LOAD,
        f"UPDATE mysql_servers SET hostgroup_id=10 {DB2}",
        SAVE,
    ):
        instance.run(statement)
    rows = in_layers(instance, "SELECT hostgroup_id, status FROM {}mysql_servers " + DB2)
    assert rows["RUNTIME"] == [(str(stands_in), "SHUNNED")]
    project.write((MONITOR + SERVERS + FAMILY if manages else "") + turned(USERS, stands_in))
    refused = f"hostgroup {stands_in} would be the default hostgroup of 1 user (app) and has no"
    assert refused in plan().out
    said(apply(), 3, refused)


def test_files_that_say_online_end_it_where_memory_has_the_node_elsewhere(
    project: Project, instance: Instance
) -> None:
    online = SERVERS.replace("db2}", "db2, status: ONLINE}")
    project.write(MONITOR + online + FAMILY)
    applied()
    there = f"UPDATE mysql_servers SET status='SHUNNED', hostgroup_id=20 {DB2}"
    for statement in (there, LOAD, SAVE):
        instance.run(statement)
    assert proxyctl("drift").code == 2
    applied()
    rows = in_layers(instance, "SELECT status FROM {}mysql_servers " + DB2)
    assert rows == {layer: [("ONLINE",)] for layer in ("RUNTIME", "MEMORY", "DISK")}
