"""A SHUNNED in mysql_servers, which ProxySQL loads and never undoes, and one of ProxySQL itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from proxyctl.catalog import Version
from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import applied, ended, plan, rolled_back
from tests.support.servers.galera_family import HOSTS, GaleraFamily
from tests.support.servers.instances import Instance, sandbox_of
from tests.support.servers.layers import everywhere, in_layers
from tests.support.servers.monitor import place
from tests.support.servers.placement_samples import settle

INSERT = "INSERT INTO mysql_servers (hostgroup_id, hostname, status) VALUES (10, 'db1', 'SHUNNED')"
STATUS = "SELECT status FROM {}mysql_servers"
FILE = "version: 1\nmysql_servers: [{{hostgroup_id: 10, hostname: db1{}}}]\n"
ONLINE, UNSET = FILE.format(", status: ONLINE"), FILE.format("")
LEFT_ALONE = "db1:3306 in hostgroup 10 SHUNNED, which ProxySQL never undoes: write `status: ONLINE`"


@pytest.fixture
def shunned(project: Project, instance: Instance) -> Project:
    """A project whose instance has db1 SHUNNED in all layers."""
    instance.run(INSERT)
    instance.load("MYSQL SERVERS", saves=True)
    return project


def changed_layers() -> list[list[str]]:
    """Return the layers of each change of a plan."""
    modules = plan("--format", "json").json["instances"][0]["modules"]
    return [change["layers"] for module in modules for change in module["changes"]]


def test_an_apply_ends_it(shunned: Project, instance: Instance) -> None:
    shunned.write(ONLINE)
    assert f"{'status':<24}SHUNNED -> ONLINE\n" in plan().out
    assert changed_layers() == [["runtime", "memory", "disk"]]
    drift = proxyctl("drift")
    assert (drift.code, "status is SHUNNED, the files say ONLINE" in drift.out) == (2, True)
    assert "1 LOAD, 1 SAVE" in applied().out
    assert everywhere(instance, STATUS) == [("ONLINE",)]
    assert plan().code == proxyctl("drift").code == 0


def test_a_rollback_brings_it_back(shunned: Project, instance: Instance) -> None:
    """A rollback restores what was held before the apply, whatever it was."""
    shunned.write(ONLINE)
    applied()
    rolled_back()
    assert everywhere(instance, STATUS) == [("SHUNNED",)]
    assert changed_layers() == [["runtime", "memory", "disk"]]


TO_ONLINE, TO_SHUNNED = (
    f"UPDATE mysql_servers SET status='{status}'" for status in ("ONLINE", "SHUNNED")
)


@pytest.mark.parametrize(
    ("statements", "layers"),
    [
        pytest.param([TO_ONLINE], ["runtime", "disk"], id="MEMORY"),
        pytest.param(
            [TO_ONLINE, "SAVE MYSQL SERVERS TO DISK", TO_SHUNNED], ["runtime", "memory"], id="DISK"
        ),
    ],
)
def test_one_layer_with_online_does_not_end_it(
    shunned: Project, instance: Instance, statements: list[str], layers: list[str]
) -> None:
    instance.execute(*statements)
    shunned.write(ONLINE)
    assert changed_layers() == [layers]
    applied()
    assert everywhere(instance, STATUS) == [("ONLINE",)]


def test_an_export_leaves_it_out_and_a_plan_leaves_it_alone(
    shunned: Project, instance: Instance
) -> None:
    for layer in ("runtime", "memory", "disk"):
        Path("proxyctl.yaml").unlink(missing_ok=True)
        exported = proxyctl("export", "--layer", layer, "-o", "proxyctl.yaml")
        assert "server db1:3306 in hostgroup 10: status SHUNNED is left out" in exported.err
        assert "SHUNNED" not in Path("proxyctl.yaml").read_text("utf-8")
        assert proxyctl("validate").code == 0
        found = plan()
        assert found.code == 0, found.text
        assert "left alone" in found.out
        assert LEFT_ALONE in " ".join(found.out.split())
    assert f"no drift ({LEFT_ALONE})" in proxyctl("drift").out
    for form in ("sql", "cnf"):
        exported = proxyctl("export", "--format", form)
        assert "status SHUNNED is left out" in exported.err
        assert "SHUNNED" not in exported.out
    shunned.write(UNSET.replace("db1", "db1, weight: 5"))
    applied()
    assert everywhere(instance, STATUS) == [("SHUNNED",)]


def test_the_other_commands_agree(shunned: Project, instance: Instance) -> None:
    assert "stays SHUNNED in 10" in proxyctl("nodes", "list", "--no-ask").out
    ended(proxyctl("nodes", "restore", "db1"), 3, "db1:3306 stays SHUNNED in hostgroup 10")
    found = proxyctl("doctor", "--no-ask")
    assert (found.code, "db1:3306: server-stays-shunned [error]" in found.out) == (1, True)
    assert "server-shunned" not in found.out
    # The statements of the doctor, for an instance without files.
    (fix,) = (line for line in found.out.splitlines() if "; or UPDATE" in line)
    for statement in fix.partition("; or ")[2].split(", "):
        instance.run(statement)
    assert everywhere(instance, STATUS) == [("ONLINE",)]
    assert "stays SHUNNED" not in proxyctl("nodes", "list", "--no-ask").out
    assert "shunned" not in proxyctl("doctor", "--no-ask").out


def test_one_of_proxysql_itself_is_no_difference(
    sandbox_project: Project, sandbox_instance: Instance
) -> None:
    instance = sandbox_instance
    instance.run(INSERT.replace("SHUNNED", "ONLINE"))
    instance.load("MYSQL SERVERS", saves=True)
    assert instance.sandbox
    instance.sandbox.shun(10, "db1", 3306)
    for file in (ONLINE, UNSET):
        sandbox_project.write(file)
        found = plan()
        assert (found.code, "left alone" in found.out) == (0, False), found.text
    assert "SHUNNED" not in proxyctl("export").text
    assert "stays SHUNNED" not in proxyctl("nodes", "list", "--no-ask").out
    assert "is not drained: nothing to do" in proxyctl("nodes", "restore", "db1").out
    doctor = proxyctl("doctor", "--no-ask").out
    assert "server-shunned [warning]" in doctor
    assert "server-stays-shunned" not in doctor
    assert in_layers(instance, STATUS)["RUNTIME"] == [("SHUNNED",)]


def test_memory_alone_has_it(project: Project, instance: Instance) -> None:
    """As after a SHUNNED of ProxySQL itself that a LOAD took from MEMORY, and a query ended."""
    instance.run(INSERT.replace("SHUNNED", "ONLINE"))
    instance.load("MYSQL SERVERS", saves=True)
    instance.run("UPDATE mysql_servers SET status='SHUNNED'")
    instance.run("SAVE MYSQL SERVERS TO DISK")
    project.write(ONLINE)
    assert "RUNTIME is unchanged; writes MEMORY, saves DISK" in plan().out
    assert "stays SHUNNED" not in proxyctl("nodes", "list", "--no-ask").out
    applied()
    assert everywhere(instance, STATUS) == [("ONLINE",)]
    # A LOAD of other rows would take the server out of service.
    instance.run("UPDATE mysql_servers SET status='SHUNNED'")
    project.write(UNSET.replace("db1", "db1, weight: 5"))
    ended(proxyctl("apply", "--auto-approve"), 3, "status edited in MEMORY, not loaded to RUNTIME")


def test_a_galera_family_ends_it(family: GaleraFamily, offline: Project) -> None:
    writer, instance = family.writer, family.instance
    instance.run(f"UPDATE mysql_servers SET status='SHUNNED' WHERE hostname='{writer}'")
    instance.load("MYSQL SERVERS", saves=True)
    if instance.sandbox:
        place(instance.sandbox, 10, writers=[(writer, family.port)])
    settle(instance, HOSTS)
    assert ("SHUNNED",) in family.cells("status", writer, "")
    assert plan().code == 0
    assert '"stays_shunned": true' not in proxyctl("nodes", "list", "--format", "json").out
    assert "server-stays-shunned" not in proxyctl("doctor", "--no-ask").out
    offline.write(family.files.replace("node_defaults: {", "node_defaults: {status: ONLINE, "))
    found = plan()
    assert "RUNTIME is unchanged; writes MEMORY, saves DISK" in found.out, found.text
    applied()
    assert plan().code == 0


def check_postgresql(instance: Instance, project: Project) -> None:
    project.connect(instance)
    instance.run(INSERT.replace("mysql", "pgsql"))
    instance.load("PGSQL SERVERS", saves=True)
    exported = proxyctl("export")
    assert "pgsql server db1:5432 in hostgroup 10: status SHUNNED is left out" in exported.err
    doctor = proxyctl("doctor", "--no-ask").out
    assert (
        "db1:5432: server-stays-shunned [error] receives no queries in pgsql hostgroup 10" in doctor
    )
    project.write(UNSET.replace("mysql", "pgsql"))
    assert "left alone   pgsql db1:5432 in hostgroup 10 SHUNNED, which" in plan().out
    project.write(ONLINE.replace("mysql", "pgsql"))
    assert changed_layers() == [["runtime", "memory", "disk"]]
    applied()
    assert everywhere(instance, STATUS.replace("mysql", "pgsql")) == [("ONLINE",)]
    assert plan().code == 0
    assert "shunned" not in proxyctl("doctor", "--no-ask").out


def test_of_postgresql(offline: Project) -> None:
    with sandbox_of(Version(3, 0, 3)) as instance:
        check_postgresql(instance, offline)


@pytest.mark.real
@pytest.mark.since("3.0.0", "it has no PostgreSQL")
def test_of_a_real_postgresql_side(offline: Project, real_proxysql: Instance) -> None:
    check_postgresql(real_proxysql, offline)


FILES_WITH_IT = {
    "mysql_servers": "mysql_servers: [{hostname: a, status: WORD}]\n",
    "pgsql_servers": "proxysql_version: 3.0.3\npgsql_servers: [{hostname: a, status: WORD}]\n",
    "pxc_clusters": """\
pxc_clusters:
  - {name: a, writer_hostgroup: 1, backup_writer_hostgroup: 2, reader_hostgroup: 3,
     offline_hostgroup: 4, nodes: [{hostname: a, status: WORD}]}
""",
    "a CSV file": "mysql_servers: {csv: servers.csv}\n",
}


@pytest.mark.parametrize("command", ["validate", "lint"])
@pytest.mark.parametrize("status", ["SHUNNED", "shunned"])
@pytest.mark.parametrize("file", FILES_WITH_IT)
def test_no_file_may_set_it(offline: Project, file: str, status: str, command: str) -> None:
    offline.write(f"hostgroup_id,hostname,status\n1,a,{status}\n", "servers.csv")
    offline.write(f"version: 1\n{FILES_WITH_IT[file]}".replace("WORD", status))
    fix = "write ONLINE, or OFFLINE_SOFT to keep the server out of service"
    ended(proxyctl(command), 1, "status: ProxySQL sets SHUNNED itself", fix)


def test_an_editor_does_not_offer_it() -> None:
    assert "SHUNNED" not in proxyctl("schema").out
