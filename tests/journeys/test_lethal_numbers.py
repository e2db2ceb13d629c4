"""Rows with numbers that crash a ProxySQL that shows them: proxyctl does not read them."""

from __future__ import annotations

import pytest

from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import FILES, applied, ended, plan
from tests.support.servers.instances import Instance

RULES = "LOAD MYSQL QUERY RULES TO RUNTIME"
SERVERS = "LOAD MYSQL SERVERS TO RUNTIME"


CASES = {
    "server db7:3306 in hostgroup 77": (
        "INSERT INTO mysql_servers (hostgroup_id, hostname, max_connections)"
        " VALUES (77, 'db7', 3000000000)",
        SERVERS,
        "UPDATE mysql_servers SET max_connections=1000 WHERE hostgroup_id=77",
    ),
    "route app:s:0": (
        "INSERT INTO mysql_query_rules_fast_routing VALUES ('app', 's', 0, 3000000000, '')",
        RULES,
        "DELETE FROM mysql_query_rules_fast_routing",
    ),
}
"""What is named, how it comes to RUNTIME, and the statement that corrects it."""


@pytest.mark.parametrize("named", CASES)
def test_runtime_is_not_asked_for_what_ends_proxysql(
    project: Project, instance: Instance, named: str
) -> None:
    insert, load, correct = CASES[named]
    project.write(FILES + "mysql_query_rules_fast_routing: []\n")
    applied()
    instance.run(insert)
    instance.run(load)
    try:
        ended(plan(), 1, f"{named} has a number that ProxySQL reads as negative", load)
        ended(proxyctl("export"), 1, named)
    finally:
        instance.run(correct)
        instance.run(load)
    assert plan().code in (0, 2)


def test_a_hostgroup_row_that_no_load_survives_is_named_before_one_is_sent(
    project: Project, instance: Instance
) -> None:
    project.write(FILES)
    instance.run(
        "INSERT INTO mysql_galera_hostgroups (writer_hostgroup, backup_writer_hostgroup,"
        " reader_hostgroup, offline_hostgroup, max_writers) VALUES (0, 1, 2, 3, 3000000000)"
    )
    ended(proxyctl("apply", "--auto-approve"), 1, "galera hostgroups 0 has a number")
    instance.run("DELETE FROM mysql_galera_hostgroups")
    applied()
    member = "hostname, port, weight) VALUES ('px2', 6032, 3000000000)"
    instance.run(f"INSERT INTO proxysql_servers ({member}")
    ended(plan(), 1, "proxysql server px2:6032", "restart ProxySQL")
