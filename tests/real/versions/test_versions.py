"""The main journey, on a sandbox of each version that changed a table, and on a real ProxySQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from proxyctl.catalog import parse_version
from proxyctl.sandbox import Sandbox
from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import applied, plan
from tests.support.every_table import changing_versions, tables_of, whole_files
from tests.support.servers.instances import Instance, ProxySQL, needed_binary, sandbox_of

pytestmark = pytest.mark.sweep


class Server:
    """A ProxySQL of some version, which can be restarted."""

    def __init__(self, running: Sandbox | ProxySQL, instance: Instance) -> None:
        self.running = running
        self.instance = instance
        self.version = instance.version

    def restart(self) -> None:
        """Restart it: only DISK survives."""
        self.instance.close()
        self.running.restart()


@pytest.fixture(
    params=[
        *(f"sandbox {version}" for version in changing_versions()),
        pytest.param("real", marks=pytest.mark.real),
    ]
)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    if request.param == "real":
        with ProxySQL(needed_binary(), tmp_path / "proxysql") as real:
            yield Server(real, real.instance)
        return
    with sandbox_of(parse_version(request.param.removeprefix("sandbox "))) as handle:
        assert handle.sandbox is not None
        yield Server(handle.sandbox, handle)


@pytest.fixture
def project(offline: Project, server: Server) -> Project:
    offline.connect(server.instance)
    offline.write(whole_files(server.version))
    return offline


def counts(server: Server, schema: str) -> dict[str, int]:
    """Return how many rows each table has in a layer."""
    found = {}
    for table in tables_of(server.version):
        [(count,)] = server.instance.query(f"SELECT count(*) FROM {schema}{table.name}")
        found[table.name] = int(str(count))
    return found


def test_every_table_is_applied_saved_and_stays(project: Project, server: Server) -> None:
    assert proxyctl("validate", "--proxysql-version", str(server.version)).code == 0
    assert plan().code == 2
    applied()
    assert plan().code == 0
    memory, disk = counts(server, "main."), counts(server, "disk.")
    assert memory == disk
    assert [name for name, count in memory.items() if not count] == ["proxysql_servers"]
    server.restart()
    assert plan().code == 0


@pytest.mark.parametrize("layer", ["runtime", "memory", "disk"])
def test_an_export_plans_to_nothing(project: Project, server: Server, layer: str) -> None:
    applied()
    exported = proxyctl("export", "--layer", layer)
    assert exported.code == 0
    # There is no hash of a PostgreSQL password that is safe to write instead.
    assert exported.err.startswith("warning: pgsql user app: ") == (server.version >= (3, 0, 0))
    assert exported.err.count("warning") <= 1
    assert f"\nproxysql_version: {server.version}\n" in exported.out
    project.write(exported.out)
    assert proxyctl("validate").code == 0
    assert plan().code == 0


def test_a_server_of_postgresql_that_an_operator_took_out_is_named(
    project: Project, server: Server
) -> None:
    if server.version < (3, 0, 0):
        pytest.skip("it has no PostgreSQL side")
    text = "version: 1\npgsql_servers: [{hostgroup_id: 7, hostname: pg1"
    project.write(text + "}]\n")
    applied()
    server.instance.execute("UPDATE pgsql_servers SET status='OFFLINE_SOFT'")
    server.instance.load("PGSQL SERVERS")
    words = (
        "pgsql pg1:5432 in hostgroup 7 OFFLINE_SOFT at RUNTIME and in MEMORY, set by an operator"
    )
    for command in ("drift", "plan"):
        found = proxyctl(command)
        assert (found.code, words in found.out) == (0, True), found.text
    # RUNTIME alone has it so after an undo in MEMORY: as a drain leaves it.
    server.instance.execute("UPDATE pgsql_servers SET status='ONLINE'")
    assert "pg1:5432 drained" in proxyctl("drift").out
    server.instance.execute("UPDATE pgsql_servers SET status='OFFLINE_SOFT'")
    project.write(text + ", status: ONLINE}]\n")
    found = proxyctl("drift")
    assert (found.code, words in found.out) == (2, False), found.text
    applied("--discard-pending")


def test_the_doctor_looks_at_both_protocols(offline: Project, server: Server) -> None:
    if server.version < parse_version("3.0.0"):
        pytest.skip("no PostgreSQL side before 3.0")
    offline.connect(server.instance)
    offline.write(
        "version: 1\n"
        "pgsql_servers: [{hostgroup_id: 1, hostname: pg1}]\n"
        "pgsql_users: [{username: app, password: x, default_hostgroup: 2}]\n"
        "pgsql_query_rules: [{rule_id: 5, match_digest: a, destination_hostgroup: 1},"
        " {rule_id: 6, match_digest: b, destination_hostgroup: 3}]\n"
    )
    applied("--force")
    found = proxyctl("doctor", "--no-ask", "--format", "json")
    errors = [finding for finding in found.json["findings"] if finding["severity"] == "error"]
    assert [(finding["code"], finding["where"]) for finding in errors] == [
        ("users-without-servers", "pgsql hostgroup 2"),
        ("hostgroup-without-servers", "pgsql hostgroup 3"),
    ]
    assert found.code == 1
    assert "restart-pending" not in [finding["code"] for finding in found.json["findings"]]
