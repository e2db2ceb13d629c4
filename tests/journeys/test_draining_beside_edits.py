"""nodes drain and restore with edits of others that go along: what they take out counts as well."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.faults.proxy import FaultyProxy
from tests.journeys.layers import in_layers
from tests.journeys.story import applied
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.servers import Instance

FILES = """\
version: 1
mysql_servers:
  - {hostgroup_id: 10, hostname: db1}
  - {hostgroup_id: 20, hostname: db2}
  - {hostgroup_id: 20, hostname: db3}
mysql_query_rules:
  - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 10, apply: true}
"""
OUT = {
    **{
        status: f"UPDATE mysql_servers SET status='{status}' WHERE hostname='{{}}'"
        for status in ("OFFLINE_SOFT", "OFFLINE_HARD", "SHUNNED")
    },
    "no weight": "UPDATE mysql_servers SET weight=0 WHERE hostname='{}'",
    "moved": "UPDATE mysql_servers SET hostgroup_id=99 WHERE hostname='{}'",
    "removed": "DELETE FROM mysql_servers WHERE hostname='{}'",
}
ROWS = "SELECT hostgroup_id, hostname, status, weight FROM {}mysql_servers ORDER BY 1, 2"


@pytest.fixture
def servers(project: Project, instance: Instance) -> Instance:
    project.write(FILES)
    applied()
    return instance


def nodes(command: str, *options: str) -> Outcome:
    return proxyctl("nodes", command, "db3", "--include-pending", *options)


@pytest.mark.parametrize("edit", OUT)
def test_a_node_is_the_last_one_where_an_edit_takes_the_other_out(
    servers: Instance, edit: str
) -> None:
    servers.run(OUT[edit].format("db2"))
    before = in_layers(servers, ROWS)
    refused = nodes("drain")
    assert refused.code == 3, refused.text
    assert "db3:3306 is the last usable node of hostgroup 20   allow with --force" in refused.err
    assert in_layers(servers, ROWS) == before
    assert nodes("drain", "--force").code == 0


@pytest.mark.parametrize("edit", OUT)
def test_an_edit_that_takes_the_last_node_of_another_hostgroup_out_is_refused(
    servers: Instance, edit: str
) -> None:
    told = "hostgroup 10 would have no usable node: edits in MEMORY take its last one out"
    assert nodes("drain").code == 0
    servers.run(OUT[edit].format("db1"))
    before = in_layers(servers, ROWS)
    refused = nodes("restore")
    assert refused.code == 3, refused.text
    assert f"{told}   allow with --force" in refused.err
    assert in_layers(servers, ROWS) == before
    assert nodes("restore", "--force").code == 0
    servers.run("LOAD MYSQL SERVERS FROM DISK")
    servers.run("LOAD MYSQL SERVERS TO RUNTIME")
    servers.run(OUT[edit].format("db1"))
    refused = nodes("drain")
    assert refused.code == 3, refused.text
    assert f"{told}   allow with --force" in refused.err
    assert nodes("drain", "--force").code == 0


def test_edits_that_leave_a_node_go_along(servers: Instance) -> None:
    servers.run("UPDATE mysql_servers SET max_connections=7 WHERE hostname='db2'")
    assert nodes("drain").code == 0
    assert nodes("restore").code == 0


def stopped_by(servers: Instance, project: Project, *edits: str) -> tuple[Outcome, list[str]]:
    """Drain while somebody else does this before the first statement that writes to MEMORY.

    Returns how it ended, and its LOADs.
    """
    left = [*edits]

    def edit(_connection: int, sql: str, _answer: bytes) -> None:
        if "stage='staging MEMORY'" in sql:
            while left:
                servers.run(left.pop(0))

    with FaultyProxy(servers.host, servers.port) as proxy:
        project.connect(replace(servers, port=proxy.port))
        proxy.watch = edit
        stopped = proxyctl("nodes", "drain", "db3")
        proxy.settle()
    return stopped, [sql for _, sql in proxy.log if sql.startswith("LOAD")]


def test_a_drain_that_loaded_nothing_leaves_what_somebody_loads_meanwhile(
    servers: Instance, project: Project
) -> None:
    edit = "UPDATE mysql_servers SET weight=7 WHERE hostname='db1'"
    load = ("LOAD MYSQL SERVERS TO RUNTIME", "SAVE MYSQL SERVERS TO DISK")
    stopped, loads = stopped_by(servers, project, edit, *load)
    assert (stopped.code, loads) == (1, []), stopped.text
    assert "mysql_servers 10:db1:3306: weight asked 1, holds 7" in stopped.err
    assert "nothing was loaded; MEMORY was put back" in stopped.err
    found = in_layers(servers, "SELECT weight FROM {}mysql_servers WHERE hostname='db1'")
    assert found == {"RUNTIME": [("7",)], "MEMORY": [("1",)], "DISK": [("7",)]}
    assert servers.query("SELECT count(*) FROM proxyctl_drains") == [("0",)]


def test_what_one_that_died_had_loaded_is_taken_back_all_the_same(
    servers: Instance, project: Project
) -> None:
    before = in_layers(servers, ROWS)
    assert nodes("drain").code == 0
    servers.run("UPDATE proxyctl_drains SET is_done=0")
    edit = "UPDATE mysql_servers SET weight=7 WHERE hostname='db1'"
    stopped, loads = stopped_by(servers, project, edit)
    assert (stopped.code, len(loads)) == (4, 1), stopped.text
    assert "what the drain had loaded before was taken back" in stopped.err
    assert in_layers(servers, ROWS) == before
    assert servers.query("SELECT count(*) FROM proxyctl_drains") == [("0",)]
