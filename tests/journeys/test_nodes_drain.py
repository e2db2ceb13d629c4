"""nodes drain and nodes restore where no monitor places servers."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from dataclasses import replace

import pytest

from proxyctl.sandbox import Sandbox
from tests.journeys.watched import Killable
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.commands.story import applied
from tests.support.parameters import crossed
from tests.support.protocol.faulty_proxy import Exchange, Fault, FaultyProxy
from tests.support.servers.instances import Instance

FILES = """\
version: 1
mysql_servers:
  - {hostgroup_id: 10, hostname: db1, weight: 5}
  - {hostgroup_id: 10, hostname: db2}
  - {hostgroup_id: 20, hostname: db2, max_connections: 50}
  - {hostgroup_id: 20, hostname: db3, port: 3307}
"""
LAYERS = ("runtime_mysql_servers", "mysql_servers", "disk.mysql_servers")


@pytest.fixture
def servers(project: Project, instance: Instance) -> Instance:
    """An instance that holds the servers of the files."""
    project.connect(instance)
    project.write(FILES)
    applied()
    return instance


def drained(*arguments: str) -> Outcome:
    done = proxyctl("nodes", "drain", *arguments)
    assert done.code == 0, done.text
    return done


def rows(instance: Instance, table: str) -> list[tuple[str | None, ...]]:
    return instance.query(f"SELECT * FROM {table} ORDER BY hostgroup_id, hostname")


def status(instance: Instance, host: str, table: str = "runtime_mysql_servers") -> set[str]:
    found = instance.query(f"SELECT status FROM {table} WHERE hostname='{host}'")
    return {str(cell) for (cell,) in found}


def test_a_server_is_drained_at_runtime_only_and_comes_back_exactly(servers: Instance) -> None:
    before = {table: rows(servers, table) for table in LAYERS}
    found = drained("db2")
    assert found.out == (
        "db2:3306 is drained: it receives no new connections until it is restored\ndb2:3306: no"
        " connection is in use\n"
    )
    assert status(servers, "db2") == {"OFFLINE_SOFT"}
    assert status(servers, "db1") == {"ONLINE"}
    for table in LAYERS[1:]:
        assert rows(servers, table) == before[table]
    assert "db2:3306 is already drained" in drained("db2").out

    restored = proxyctl("nodes", "restore", "db2:3306")
    assert (restored.code, restored.out) == (0, "db2:3306 is back in service\n"), restored.text
    assert {table: rows(servers, table) for table in LAYERS} == before
    again = proxyctl("nodes", "restore", "db2")
    assert (again.code, again.out) == (0, "db2:3306 is not drained: nothing to do\n")


@pytest.mark.parametrize(
    ("old", "new", "options"),
    [
        ("weight: 5", "weight: 6", ()),
        ("weight: 5", "weight: 6", ("--no-save",)),
        ("max_connections: 50", "max_connections: 60", ()),
    ],
    ids=["of another server", "not saved", "of the node"],
)
def test_an_apply_leaves_it_drained(
    servers: Instance, project: Project, old: str, new: str, options: tuple[str, ...]
) -> None:
    drained("db2")
    project.write(FILES.replace(old, new))
    applied(*options)
    assert status(servers, "db2") == {"OFFLINE_SOFT"}
    assert status(servers, "db2", "disk.mysql_servers") == {"ONLINE"}
    applied()
    assert proxyctl("plan", "--detailed-exitcode").code == 0
    assert proxyctl("nodes", "restore", "db2").code == 0
    assert status(servers, "db2") == {"ONLINE"}
    assert proxyctl("plan", "--detailed-exitcode").code == 0


@pytest.mark.parametrize("command", ["drain", "restore"])
def test_an_edit_right_after_the_load_hides_what_became_of_it(
    sandbox_project: Project, sandbox_instance: Instance, sandbox: Sandbox, command: str
) -> None:
    sandbox_project.write(FILES)
    applied()
    if command == "restore":
        drained("db2")
    looks: list[str] = []

    def edit(sql: str) -> None:
        if "mysql-query_processor_regex" in sql:
            looks.append(sql)
            if len(looks) == 2:
                sandbox.run("UPDATE mysql_servers SET comment='mine' WHERE hostname='db1'")

    sandbox.options.before_statement = edit
    found = proxyctl("nodes", command, "db2")
    assert found.code == 4, found.text
    assert "loaded, but it is not known whether db2:3306 is drained: " in found.err
    assert (status(sandbox_instance, "db2") == {"OFFLINE_SOFT"}) is (command == "drain")


def ended(exchange: Exchange) -> None:
    """Answer the statement, and end its process with SIGTERM, as a pipeline does."""
    answer = exchange.ask()
    os.kill(os.getpid(), signal.SIGTERM)
    exchange.deliver(answer)


def lost(exchange: Exchange) -> None:
    """Let the statement run, and break the connection before the answer."""
    exchange.ask()
    exchange.hang_up()


@pytest.fixture
def proxy(servers: Instance, project: Project) -> Iterator[FaultyProxy]:
    """The instance behind a proxy that can break its connections."""
    with FaultyProxy(servers.host, servers.port) as running:
        project.connect(replace(servers, host="127.0.0.1", port=running.port))
        yield running


@pytest.mark.parametrize(("fault", "code"), [(ended, 130), (lost, 4)])
@pytest.mark.parametrize("command", ["drain", "restore"])
def test_a_command_that_is_cut_off_says_what_became_of_the_node(
    proxy: FaultyProxy, servers: Instance, command: str, fault: Fault, code: int
) -> None:
    """Interrupt at each statement from the first change to the one that restores MEMORY."""
    configured = rows(servers, "mysql_servers")
    other = "restore" if command == "drain" else "drain"
    if command == "restore":
        drained("db2")
    proxy.arm({})
    assert proxyctl("nodes", command, "db2").code == 0
    proxy.settle()
    sent = [sql for _, sql in proxy.log]
    begin = next(n for n, sql in enumerate(sent) if re.match("UPDATE .*mysql_servers|LOAD", sql))
    end = sent.index("LOAD MYSQL SERVERS FROM DISK")
    for place, sql in proxy.log[begin : end + 1]:
        assert proxyctl("nodes", other, "db2").code == 0
        proxy.arm({place: fault})
        found = proxyctl("nodes", command, "db2")
        proxy.arm({})
        assert found.code == code, (sql, found.text)
        is_drained = status(servers, "db2") == {"OFFLINE_SOFT"}
        assert f"db2:3306 is {'drained' if is_drained else 'not drained'}" in found.err, sql
        assert rows(servers, "mysql_servers") == configured, sql
        assert rows(servers, "disk.mysql_servers") == configured
        assert proxyctl("nodes", command, "db2").code == 0


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("command", "second"), crossed(["drain", "restore"], ["the same", "apply"])
)
def test_after_a_command_that_is_killed_a_second_one_finishes(
    proxy: FaultyProxy, servers: Instance, project: Project, command: str, second: str
) -> None:
    """Kill the command at each statement that writes."""
    configured = rows(servers, "mysql_servers")
    other = "restore" if command == "drain" else "drain"
    if command == "restore":
        drained("db2")
    killable = Killable(project, proxy, ("nodes", command, "db2"))
    for place, sql in killable.statements("proxyctl_lock", "LOAD MYSQL SERVERS FROM DISK"):
        assert proxyctl("nodes", other, "db2").code == 0
        killable.kill_after(place)
        assert proxyctl("plan", "--detailed-exitcode").code == 0, sql
        if second == "apply":
            applied()
        assert proxyctl("nodes", command, "db2").code == 0, sql
        assert (status(servers, "db2") == {"OFFLINE_SOFT"}) is (command == "drain"), sql
        for table in LAYERS[1:]:
            assert rows(servers, table) == configured, (table, sql)
        found = proxyctl("plan", "--detailed-exitcode")
        assert (found.code, "died" in found.text) == (0, False), (sql, found.text)
