"""The command doctor on the sandbox and a real ProxySQL: findings, exit codes, formats, --all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from proxyctl.sandbox import Sandbox
from tests.journeys.fleet import listed
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

RELEASE = ("--ignore", "security-fixes-missing")
OFF = ("--no-ask", "--ignore", "monitor-off", *RELEASE)
"""The monitor of these instances is off, their servers do not exist, and any release will do."""
RULE = (
    "INSERT INTO mysql_query_rules (rule_id,active,match_digest,destination_hostgroup,apply)"
    " VALUES (5,1,'^SELECT',20,1)"
)
LOAD, SAVE = "LOAD MYSQL QUERY RULES TO RUNTIME", "SAVE MYSQL QUERY RULES TO DISK"


def load(instance: Instance | Sandbox, module: str, *statements: str) -> None:
    """Change, load and save."""
    for statement in (*statements, f"LOAD {module} TO RUNTIME", f"SAVE {module} TO DISK"):
        instance.run(statement)


def findings(*options: str) -> list[tuple[str, str]]:
    """Return code and place of each finding."""
    found = proxyctl("doctor", *OFF, "--format", "json", *options).json["findings"]
    return [(one["code"], one["where"]) for one in found]


def test_one_line_where_nothing_is_wrong(project: Project) -> None:
    found = proxyctl("doctor", *RELEASE)
    assert (found.code, found.err) == (0, "")
    assert re.search(r": nothing is wrong(, 1 ignored)?\n\Z", found.out)
    assert len(found.out.splitlines()) == 1


def test_an_edit_is_a_warning_until_it_is_at_runtime_and_on_disk(
    project: Project, instance: Instance
) -> None:
    load(
        instance,
        "MYSQL SERVERS",
        "INSERT INTO mysql_servers (hostgroup_id,hostname) VALUES (20,'db1')",
    )
    instance.run(RULE)
    assert findings() == [("not-loaded", "MYSQL QUERY RULES")]
    assert proxyctl("doctor", *OFF).code == 0
    assert proxyctl("doctor", *OFF, "--strict").code == 1
    instance.run(LOAD)
    assert findings() == [("not-saved", "MYSQL QUERY RULES")]
    instance.run(SAVE)
    assert findings() == []


def test_users_in_two_halves_are_no_edit(project: Project, instance: Instance) -> None:
    load(
        instance,
        "MYSQL SERVERS",
        "INSERT INTO mysql_servers (hostgroup_id,hostname) VALUES (0,'db1')",
    )
    load(instance, "MYSQL USERS", "INSERT INTO mysql_users (username,password) VALUES ('app','x')")
    instance.run("SAVE MYSQL USERS TO MEMORY")
    assert findings() == []


def test_a_drained_node_is_no_edit(project: Project, instance: Instance) -> None:
    add = "INSERT INTO mysql_servers (hostgroup_id,hostname) VALUES (10,'db1'), (10,'db2')"
    load(instance, "MYSQL SERVERS", add)
    assert proxyctl("nodes", "drain", "db1").code == 0
    assert findings() == [("node-drained", "db1:3306")]
    assert proxyctl("nodes", "restore", "db1").code == 0
    assert findings() == []


def test_a_variable_that_waits_for_a_restart(project: Project, instance: Instance) -> None:
    instance.run("SET mysql-threads=8")
    instance.run("SAVE MYSQL VARIABLES TO DISK")
    found = proxyctl("doctor", *OFF)
    assert found.code == 0
    assert "note  mysql-threads  (restart-pending)" in found.out
    assert ", 8 after a restart" in found.out


def test_hostgroups_in_use_without_servers(project: Project, instance: Instance) -> None:
    load(
        instance,
        "MYSQL USERS",
        "INSERT INTO mysql_users (username,default_hostgroup) VALUES ('app',30)",
    )
    fast = "INSERT INTO mysql_query_rules_fast_routing VALUES ('app','shop',0,20,'')"
    load(instance, "MYSQL QUERY RULES", RULE.replace(",1)", ",0)"), fast)
    project.write("version: 1\nhostgroups:\n  reader: {id: 20}\n")
    found = proxyctl("doctor", *OFF)
    assert found.code == 1
    assert "error  hostgroup 20 (reader)  (hostgroup-without-servers)" in found.out
    assert (
        "queries of rule 5 and 1 fast-routing row fail after 10 s: the hostgroup has no server"
        in found.out
    )
    assert "error  hostgroup 30  (users-without-servers)" in found.out
    add = "INSERT INTO mysql_servers (hostgroup_id,hostname) VALUES (20,'db1'), (30,'db2')"
    load(instance, "MYSQL SERVERS", add)
    assert findings() == []


def test_a_rule_that_answers_needs_no_servers(project: Project, instance: Instance) -> None:
    answer = "UPDATE mysql_query_rules SET error_msg='no' WHERE rule_id=5"
    load(instance, "MYSQL QUERY RULES", RULE, answer)
    assert findings() == []


def test_what_variables_break(project: Project, instance: Instance) -> None:
    load(
        instance,
        "MYSQL SERVERS",
        "INSERT INTO mysql_servers (hostgroup_id,hostname) VALUES (20,'db1')",
    )
    users = "INSERT INTO mysql_users (username,default_hostgroup,use_ssl) VALUES ('app',20,1)"
    load(instance, "MYSQL USERS", users)
    fast = "INSERT INTO mysql_query_rules_fast_routing VALUES ('app','shop',0,20,'')"
    load(instance, "MYSQL QUERY RULES", RULE, fast)
    load(
        instance,
        "MYSQL VARIABLES",
        "SET mysql-query_digests='false'",
        "SET mysql-have_ssl='false'",
    )
    assert findings() == [
        ("users-cannot-use-tls", "mysql-have_ssl"),
        ("digests-off-with-rules", "mysql-query_digests"),
        ("fast-routing-skipped", "mysql_query_rules_fast_routing"),
    ]


def test_a_finding_can_be_ignored_by_its_code(project: Project, instance: Instance) -> None:
    instance.run(RULE)
    instance.run(LOAD)
    codes = ("hostgroup-without-servers", "not-saved")
    found = proxyctl("doctor", *RELEASE, *(f"--ignore={code}" for code in codes))
    assert found.code == 0
    assert re.search(r": nothing is wrong, [23] ignored\n\Z", found.out)
    found = proxyctl("doctor", "--ignore", "not-save")
    assert found.code == 64
    assert "did you mean 'not-saved'?" in found.err


@pytest.mark.parametrize("version", ["2.4.0", "2.4.8", "2.5.5", "2.7.3", "3.0.0"])
def test_every_version_can_be_examined(offline: Project, version: str) -> None:
    with Sandbox(version) as served:
        offline.connect(Instance(served.host, served.port, sandbox=served))
        served.run("INSERT INTO mysql_servers (hostgroup_id,hostname) VALUES (10,'db1')")
        served.run("LOAD MYSQL SERVERS TO RUNTIME")
        found = proxyctl("doctor", "--no-ask", "--memory", "--format", "json")
        assert found.code == 0, found.text
        codes = {one["code"] for one in found.json["findings"]}
        old = {"digests-stall-queries"} if version < "2.5.2" else set()
        assert codes == {"not-saved"} | old


# -- --all -----------------------------------------------------------------------------------------

HOSTGROUPS = "version: 1\nhostgroups:\n  reader: {id: 20}\n"


@pytest.fixture
def sandboxes(offline: Project) -> Iterator[list[Sandbox]]:
    """Three instances, named in the files."""
    with ExitStack() as stack:
        made = [stack.enter_context(Sandbox()) for _ in range(3)]
        offline.write(HOSTGROUPS + listed([one.port for one in made]))
        yield made


def test_json_has_each_instance_under_its_own_name(sandboxes: list[Sandbox]) -> None:
    load(sandboxes[1], "MYSQL QUERY RULES", RULE)
    found = proxyctl("doctor", "--all", "--format", "json")
    assert found.code == 1
    document = found.json
    assert (document["format"], document["failed"]) == (1, [])
    assert [(one["name"], one["counts"]["error"]) for one in document["instances"]] == [
        ("px1", 0),
        ("px2", 1),
        ("px3", 0),
    ]
    alone = proxyctl("doctor", "--instance", "px2", "--format", "json").json
    assert {"format": 1, **document["instances"][1]} == alone
