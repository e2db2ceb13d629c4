"""Rows that a plugin of ProxySQL 4.0 owns: left alone by every command, and refused in files."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from proxyctl.sandbox import Sandbox
from proxyctl.sandbox.replies import AdminError
from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import FILES, applied, apply, ended, plan, rolled_back
from tests.support.servers.instances import Instance
from tests.support.servers.layers import Dump, dump
from tests.support.servers.plugin import INTERFACE, PLUGIN, ROWS, own, publish

LEFT_ALONE = f"{ROWS} rows of plugin {PLUGIN}"
TABLES = FILES + "mysql_group_replication_hostgroups: []\n"
"""Files with a section for every table with rows of the plugin."""

CHANGED = (
    TABLES.replace("weight: 100", "weight: 50")
    .replace("'^SELECT'", "'^SELECT x'")
    .replace("default_hostgroup: reader", "default_hostgroup: writer")
    .replace("multiplex: false", "multiplex: true")
)


@pytest.fixture
def instance(offline: Project) -> Iterator[Instance]:
    """A ProxySQL 4.0 with a plugin that has published its rows."""
    with Sandbox("4.0.12") as sandbox:
        served = Instance(sandbox.host, sandbox.port, sandbox=sandbox)
        offline.connect(served)
        publish(served)
        yield served
        served.close()


def _of_plugin(dumped: Dump) -> Dump:
    """Return the rows with the comment of the plugin, or one of its users."""
    return {
        place: [row for row in rows if any(str(cell).startswith(PLUGIN) for cell in row)]
        for place, rows in dumped.items()
    }


def test_an_apply_and_its_plan_leave_them_alone(project: Project, instance: Instance) -> None:
    theirs = _of_plugin(dump(instance))
    assert sum(map(len, theirs.values())) > 3 * ROWS
    project.write(TABLES)
    found = plan()
    assert f"left alone   {LEFT_ALONE}\n" in found.out
    assert "0 to delete" in found.out
    applied()
    again = plan()
    assert (again.code, "No changes" in again.out) == (0, True), again.text
    assert f"left alone   {LEFT_ALONE}\n" in again.out
    project.write(CHANGED)
    applied()
    assert _of_plugin(dump(instance)) == theirs
    assert plan().code == 0


def test_every_form_of_the_plan_says_so(project: Project, instance: Instance) -> None:
    project.write(TABLES)
    assert plan("--format", "json").json["instances"][0]["left_alone"] == [LEFT_ALONE]
    assert f"- left alone: {LEFT_ALONE.replace('_', chr(92) + '_')}" in (
        plan("--format", "markdown").out
    )
    assert "900000" not in plan("--format", "sql").out
    applied()
    assert proxyctl("drift").code == 0
    project.write(CHANGED)
    drift = proxyctl("drift")
    assert (drift.code, f"left alone   {LEFT_ALONE}\n" in drift.out) == (2, True), drift.text
    assert "900000" not in drift.out


def test_emptied_tables_keep_them(project: Project, instance: Instance) -> None:
    theirs = _of_plugin(dump(instance))
    project.write(TABLES)
    applied()
    project.write("mysql_servers: []\nmysql_users: []\nmysql_query_rules: []\n")
    applied("--force")
    assert _of_plugin(dump(instance)) == theirs
    assert instance.query("SELECT count(*) FROM mysql_query_rules") == [("5",)]
    assert instance.query("SELECT count(*) FROM mysql_servers") == [("3",)]


def test_a_failed_apply_restores_them_too(project: Project, instance: Instance) -> None:
    def fail(sql: str) -> None:
        if sql.startswith("LOAD MYSQL USERS"):
            assert instance.sandbox is not None
            instance.sandbox.options.before_statement = lambda _sql: None
            raise AdminError("out of memory", code=1045)

    project.write(TABLES)
    applied()
    before = dump(instance)
    project.write(CHANGED)
    assert instance.sandbox is not None
    instance.sandbox.options.before_statement = fail
    ended(apply(), 4, "out of memory", "everything was restored")
    assert dump(instance) == before


def test_they_are_counted_apart_from_rows_outside_of_a_scope(
    project: Project, instance: Instance
) -> None:
    instance.execute("INSERT INTO mysql_query_rules (rule_id, active) VALUES (500, 1)")
    instance.load("MYSQL QUERY RULES", saves=True)
    project.write(FILES + "manage: {mysql_query_rules: {rule_id: 1-99}}\n")
    found = plan("--format", "json").json["instances"][0]["left_alone"]
    assert found == [
        "mysql_query_rules: 1 row outside rule_id 1-99",
        f"{ROWS - 1} rows of plugin {PLUGIN}",
    ]


def test_an_export_leaves_them_out_and_plans_to_nothing(
    project: Project, instance: Instance
) -> None:
    project.write(TABLES)
    applied()
    note = f"left out: {ROWS} rows of plugin {PLUGIN}, which writes them itself"
    for layer in ("runtime", "memory", "disk"):
        for form in ("yaml", "sql", "cnf"):
            found = proxyctl("export", "--layer", layer, "--format", form)
            assert note in found.out
            assert f"warning: {note}" in found.err
            assert f"{PLUGIN}:" not in found.out  # no comment of its rows
    project.write(proxyctl("export").out)
    found = plan()
    assert (found.code, "No changes" in found.out) == (0, True), found.text


def test_an_exported_script_does_not_delete_them(project: Project, instance: Instance) -> None:
    project.write(TABLES)
    applied()
    before = dump(instance)
    instance.execute("INSERT INTO mysql_query_rules (rule_id, active) VALUES (500, 1)")
    script = proxyctl("export", "--layer", "disk", "--format", "sql").out.splitlines()
    statements = [line.removesuffix(";") for line in script if not line.startswith("--")]
    assert "DELETE FROM mysql_users WHERE username NOT IN ('router_rw','router_ro')" in statements
    instance.execute(*statements)
    after = dump(instance)
    assert _of_plugin(after) == _of_plugin(before)
    assert after["MEMORY", "mysql_query_rules"] == before["MEMORY", "mysql_query_rules"]


def test_a_rollback_leaves_them_as_they_are_now(project: Project, instance: Instance) -> None:
    project.write(TABLES)
    applied()
    project.write(CHANGED)
    applied()
    instance.execute("UPDATE mysql_query_rules SET log=1 WHERE rule_id=900000")
    instance.load("MYSQL QUERY RULES", saves=True)
    theirs = _of_plugin(dump(instance))
    rolled_back()
    assert _of_plugin(dump(instance)) == theirs
    project.write(TABLES)
    assert plan().code == 0


COLLISIONS = {
    "rule": ("- {rule_id: 20,", "rule 20 belongs to plugin", ("mysql_query_rule", 20)),
    "user": ("- {username: batch", "user batch belongs to plugin", ("mysql_user", "batch")),
    "server": (
        "- {hostgroup_id: writer, hostname: db1",
        "server db1:3306 in hostgroup 10 belongs to plugin",
        ("hostgroup", 10),
    ),
}


@pytest.mark.parametrize("case", COLLISIONS)
def test_a_row_of_the_files_that_the_plugin_owns_is_refused(
    project: Project, instance: Instance, case: str
) -> None:
    row, message, (kind, key) = COLLISIONS[case]
    own(instance, kind, key)
    project.write(FILES)
    line = FILES[: FILES.index(row)].count("\n") + 1
    fix = "fix: remove it from the files: the plugin writes this row itself"
    ended(plan(), 1, f"proxyctl.yaml:{line}:", f"{message} {PLUGIN}", fix)


def test_a_value_that_closes_its_interface_is_refused(project: Project, instance: Instance) -> None:
    own(instance, "mysql_interface", "0.0.0.0:6447")
    project.write("variables: {mysql-interfaces: '0.0.0.0:6033'}\n")
    ended(
        plan(),
        1,
        f"mysql-interfaces: plugin {PLUGIN} listens on {INTERFACE} and 0.0.0.0:6447, which",
        "which this value would close",
        "fix: add it to the value, or leave mysql-interfaces out of the files",
    )
    project.write(f"variables: {{mysql-interfaces: '0.0.0.0:6033;{INTERFACE};0.0.0.0:6447'}}\n")
    assert plan().code == 2


def test_an_object_that_nobody_can_read_stops_the_plan(
    project: Project, instance: Instance
) -> None:
    own(instance, "hostgroup", "8000a")
    project.write(FILES)
    message = "proxysql_plugin_owned_objects lists hostgroup '8000a', which this proxyctl does not"
    ended(plan(), 1, message, "fix: use a newer proxyctl")


RESERVED = {
    "mysql_query_rules: [{rule_id: 900123, apply: 1}]": "900123 is in the range 900000-900999",
    "mysql_servers: [{hostgroup_id: 8999, hostname: db1}]": "8999 is in the range 8000-8999",
    "hostgroups: {mine: {id: 8000, multiplex: false}}": "8000 is in the range 8000-8999",
    "mysql_replication_hostgroups: [{writer_hostgroup: 1, reader_hostgroup: 8500}]": (
        "8500 is in the range 8000-8999"
    ),
}


@pytest.mark.parametrize("text", RESERVED)
def test_numbers_that_plugins_take_are_refused(
    project: Project, instance: Instance, text: str
) -> None:
    message = f"{RESERVED[text]}, which plugins of ProxySQL 4.0.12 use"
    project.write(text + "\n")
    ended(plan(), 1, message, "fix: choose another number")
    assert proxyctl("validate").code == 0
    project.write(f"proxysql_version: 4.0.12\n{text}\n")
    for command in ("validate", "lint"):
        ended(proxyctl(command), 1, message)
    assert proxyctl("validate", "--proxysql-version", "3.0.12").code == 0


def test_a_rule_may_send_queries_to_a_hostgroup_of_the_plugin(
    project: Project, instance: Instance
) -> None:
    project.write(FILES.replace("destination_hostgroup: reader", "destination_hostgroup: 8002"))
    applied()
    assert plan().code == 0


def test_explain_and_replay_say_that_the_plugin_may_route_otherwise(
    project: Project, instance: Instance
) -> None:
    hook = f"plugin {PLUGIN}, whose routing hook may choose another hostgroup after the rules"
    project.write(FILES)
    applied()
    target = ("--host", instance.host, "--port", str(instance.port))
    query = ("explain", "SELECT 1", "--username", "app")
    found = " ".join(proxyctl(*query, *target).out.split())
    assert f"warning not verified on ProxySQL 4.0.12: {hook}" in found
    assert hook in proxyctl(*query, *target, "--format", "json").json["doubts"]
    handed = proxyctl("explain", "DO 1", "--proxy-port", "6446", *target, "--format", "json").json
    assert handed["rule_id"] == 900000
    attribute = "rule 900000: switch_to_fast_forward, so rules may not see the next queries"
    assert handed["doubts"] == [hook, attribute]
    assert hook not in proxyctl(*query).out
    replayed = proxyctl("replay")
    assert f"not replayed: {hook}" in replayed.out, replayed.text
    assert proxyctl("replay", "--format", "json").json["plugins"] == [PLUGIN]


def test_a_4_0_without_a_ledger_has_no_plugin(offline: Project) -> None:
    with Sandbox("4.0.12") as sandbox:
        served = Instance(sandbox.host, sandbox.port, sandbox=sandbox)
        offline.connect(served)
        offline.write(FILES)
        applied()
        assert "plugin" not in plan().text
        assert "plugin" not in proxyctl("export").text
        served.close()
