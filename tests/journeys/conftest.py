"""Fixtures: a folder with files, connected to the test's instance."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from proxyctl.sandbox import Sandbox
from tests.journeys.command_lines import Asked
from tests.journeys.secret_story import SecretStory
from tests.journeys.watched_fleet import Fleet, watched_fleet
from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import applied
from tests.support.digests.collecting import READ
from tests.support.digests.stored import CountingSandbox
from tests.support.protocol.faulty_proxy import FaultyProxy
from tests.support.servers.galera_family import GaleraFamily, on_proxysql, on_sandbox
from tests.support.servers.instances import Instance


@pytest.fixture
def project(offline: Project, instance: Instance) -> Project:
    """A folder connected to the sandbox, then to a real ProxySQL."""
    offline.connect(instance)
    return offline


@pytest.fixture
def sandbox_project(offline: Project, sandbox_instance: Instance) -> Project:
    """A folder connected to the sandbox."""
    offline.connect(sandbox_instance)
    return offline


@pytest.fixture
def shop(sandbox_project: Project, sandbox_instance: Instance) -> CountingSandbox:
    """A sandbox that has run READ ten times."""
    counting = CountingSandbox(sandbox_instance)
    counting.run(READ, 10)
    return counting


@pytest.fixture(params=["sandbox", pytest.param("real", marks=pytest.mark.real)])
def family(
    request: pytest.FixtureRequest, offline: Project, tmp_path: Path
) -> Iterator[GaleraFamily]:
    """The family on the sandbox, then behind a real ProxySQL; the project connects to it."""

    def apply_first(instance: Instance, files: str) -> None:
        offline.connect(instance)
        offline.write(files)
        applied()

    is_real = request.param == "real"
    on = on_proxysql(tmp_path / "proxysql", apply_first) if is_real else on_sandbox(apply_first)
    with on as found:
        yield found


@pytest.fixture
def proxy(family: GaleraFamily) -> Iterator[FaultyProxy]:
    """A proxy in front of the family's instance, which can make a statement fail."""
    with FaultyProxy(family.instance.host, family.instance.port) as running:
        yield running


@pytest.fixture
def ports() -> Iterator[list[int]]:
    """The ports of three sandboxes."""
    with ExitStack() as stack:
        yield [stack.enter_context(Sandbox()).port for _ in range(3)]


@pytest.fixture
def asked(offline: Project) -> Iterator[Asked]:
    """The port of an instance that no file names, and the statements that it received."""
    statements: list[str] = []
    with Sandbox(variables={"mysql-monitor_enabled": "false"}) as served:
        served.run("INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (10, 'db1')")
        served.run("LOAD MYSQL SERVERS TO RUNTIME")
        served.run("SAVE MYSQL SERVERS TO DISK")
        offline.monkeypatch.setenv("PROXYCTL_PASSWORD", "admin")
        port = ("--host", "127.0.0.1", "--port", str(served.port))
        assert proxyctl("digest", "snapshot", *port, "-o", "seen.gz").code == 0
        served.options.before_statement = statements.append
        yield served.port, statements


@pytest.fixture
def fleet(offline: Project) -> Iterator[Fleet]:
    """Two empty sandboxes for a watch."""
    with watched_fleet(offline) as found:
        yield found


@pytest.fixture
def synced(fleet: Fleet) -> Fleet:
    """The fleet after an apply of the files."""
    applied("--all")
    return fleet


@pytest.fixture(params=["2.7.1", pytest.param("3.0.0", marks=pytest.mark.sweep)])
def story(offline: Project, request: pytest.FixtureRequest) -> Iterator[SecretStory]:
    """A sandbox and files of two sides, each side with its own secrets."""
    version: str = request.param
    served = Sandbox(version, variables={"mysql-monitor_enabled": "false"})
    story = SecretStory(offline, served, version)
    with served:
        logins = f"admin:admin;boss:{story.login}"
        served.run(f"SET admin-admin_credentials='{logins}'")
        served.run("LOAD ADMIN VARIABLES TO RUNTIME")
        served.run("SAVE ADMIN VARIABLES TO DISK")
        # The password of the administrator is a secret as well.
        offline.connect(Instance(served.host, served.port, "boss", story.login))
        story.write("old")
        story.run("apply", "--auto-approve", "--debug")
        story.write("new")
        yield story
