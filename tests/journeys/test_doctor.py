"""The command doctor on an instance: exit codes, formats, what is ignored."""

from __future__ import annotations

import pytest

from proxyctl.sandbox import Sandbox
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

RULE = (
    "INSERT INTO mysql_query_rules (rule_id,active,match_digest,destination_hostgroup,apply)"
    " VALUES (5,1,'^SELECT',20,1)"
)
LOAD, SAVE = "LOAD MYSQL QUERY RULES TO RUNTIME", "SAVE MYSQL QUERY RULES TO DISK"


def test_one_line_where_nothing_is_wrong(project: Project) -> None:
    found = proxyctl("doctor")
    assert (found.code, found.err) == (0, "")
    assert found.out.endswith(": nothing is wrong\n")
    assert len(found.out.splitlines()) == 1


def test_an_error_is_the_exit_code_and_a_warning_is_with_strict(
    project: Project, instance: Instance
) -> None:
    instance.run(RULE)
    assert proxyctl("doctor").code == 0
    found = proxyctl("doctor", "--strict")
    assert found.code == 1
    assert "warning  MYSQL QUERY RULES  (not-loaded)" in found.out
    instance.run(LOAD)
    instance.run(SAVE)
    found = proxyctl("doctor")
    assert found.code == 1
    assert "error  hostgroup 20  (hostgroup-without-servers)" in found.out
    found = proxyctl("doctor", "--format", "json")
    assert (found.code, found.json["healthy"]) == (1, False)
    assert [one["code"] for one in found.json["findings"]] == ["hostgroup-without-servers"]


def test_rules_are_told_also_where_no_digest_can_be_made(
    sandbox_project: Project, sandbox_instance: Instance
) -> None:
    for statement in (
        RULE.replace(",1)", ",0)"),
        LOAD,
        SAVE,
        # A list of more than 127 values can end a ProxySQL that makes digests with this.
        "SET mysql-query_digests_grouping_limit=200",
        "LOAD MYSQL VARIABLES TO RUNTIME",
        "SAVE MYSQL VARIABLES TO DISK",
    ):
        sandbox_instance.run(statement)
    found = proxyctl("doctor")
    assert found.code == 1, found.text
    assert "error  hostgroup 20  (hostgroup-without-servers)" in found.out


def test_what_is_meant_can_be_left_out(project: Project, instance: Instance) -> None:
    instance.run(RULE)
    instance.run(LOAD)
    codes = ("hostgroup-without-servers", "not-saved")
    found = proxyctl("doctor", *(f"--ignore={code}" for code in codes))
    assert found.code == 0
    assert found.out.endswith(": nothing is wrong, 2 ignored\n")
    found = proxyctl("doctor", "--ignore", "not-save")
    assert found.code == 64
    assert "did you mean 'not-saved'?" in found.err


def test_a_drained_node_is_no_edit_that_waits(project: Project, instance: Instance) -> None:
    instance.run("INSERT INTO mysql_servers (hostgroup_id,hostname) VALUES (10,'db1'), (10,'db2')")
    instance.run("LOAD MYSQL SERVERS TO RUNTIME")
    instance.run("SAVE MYSQL SERVERS TO DISK")
    assert proxyctl("nodes", "drain", "db1", "--reason", "new disk").code == 0
    off = ("--no-ask", "--ignore", "monitor-off", "--format", "json")
    (one,) = proxyctl("doctor", *off).json["findings"]
    assert (one["code"], one["where"]) == ("node-drained", "db1:3306")
    assert one["message"].endswith("UTC: new disk")
    assert proxyctl("nodes", "restore", "db1:3306").code == 0
    assert proxyctl("doctor", *off).json["findings"] == []


def test_hostgroups_have_the_names_of_the_files(project: Project, instance: Instance) -> None:
    project.write("version: 1\nhostgroups:\n  reader: {id: 20}\n")
    instance.run(RULE)
    instance.run(LOAD)
    assert "hostgroup 20 (reader)" in proxyctl("doctor").out


@pytest.mark.parametrize("version", ["2.0.1", "2.0.4", "2.4.8", "2.5.5", "2.7.3", "3.0.0"])
def test_every_version_can_be_looked_at(offline: Project, version: str) -> None:
    with Sandbox(version) as served:
        offline.connect(Instance(served.host, served.port, sandbox=served))
        served.run("INSERT INTO mysql_servers (hostgroup_id,hostname) VALUES (10,'db1')")
        served.run("LOAD MYSQL SERVERS TO RUNTIME")
        found = proxyctl("doctor", "--no-ask", "--memory", "--format", "json")
        assert found.code == 0, found.text
        codes = {one["code"] for one in found.json["findings"]}
        old = {"digests-stall-queries"} if version < "2.5.2" else set()
        assert codes == {"not-saved"} | old


@pytest.mark.parametrize(("version", "code"), [("2.5.5", 0), ("2.6.2", 0), ("2.6.3", 1)])
def test_the_most_servers_that_may_be_online_count_since_they_do(
    offline: Project, version: str, code: int
) -> None:
    """ProxySQL before 2.6.3 has the column, and takes no notice of it."""
    with Sandbox(version) as served:
        offline.connect(Instance(served.host, served.port, sandbox=served))
        for statement in (
            "INSERT INTO mysql_servers (hostgroup_id,hostname) VALUES (20,'db1'), (20,'db2')",
            "INSERT INTO mysql_hostgroup_attributes (hostgroup_id,max_num_online_servers)"
            " VALUES (20,1)",
            "LOAD MYSQL SERVERS TO RUNTIME",
            RULE,
            LOAD,
        ):
            served.run(statement)
        found = proxyctl("doctor", "--no-ask")
        assert found.code == code, found.text
        assert ("2 servers are ONLINE" in found.out) is bool(code)
