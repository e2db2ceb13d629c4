"""Which instance a command talks to: options before the environment before the files."""

from __future__ import annotations

import pytest

from tests.journeys.story import said
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance, free_port

COMMANDS = [["plan"], ["drift"], ["apply", "--auto-approve"], ["export"], ["unlock"]]


@pytest.fixture
def named(project: Project, instance: Instance, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The files name the instance `here`, and `gone` where nothing listens."""
    for name in ("HOST", "PORT", "USER", "PASSWORD"):
        monkeypatch.delenv(f"PROXYCTL_{name}")
    monkeypatch.setenv("ADMIN", instance.password)
    project.write(
        "instances:\n"
        f"  - {{name: here, host: {instance.host}, port: {instance.port}, user: {instance.user},"
        " password: {env: ADMIN}}\n"
        f"  - {{name: gone, host: 127.0.0.1, port: {free_port()}}}\n"
        "variables: {mysql-max_connections: 2048}\n"
    )
    return project


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_an_instance_of_the_files(named: Project, command: list[str]) -> None:
    found = proxyctl(*command, "--instance", "here")
    assert found.code in (0, 2), found.text
    said(proxyctl(*command, "--instance", "gone"), 1, "cannot connect to 127.0.0.1")
    said(proxyctl(*command, "--instance", "her"), 64, "no such instance", "here, gone")
    said(proxyctl(*command), 64, "several instances", "here, gone")


def test_an_option_beats_the_environment(
    named: Project, instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROXYCTL_HOST", "127.0.0.1")
    monkeypatch.setenv("PROXYCTL_PORT", str(free_port()))
    assert proxyctl("plan", "--instance", "here").code == 0
    monkeypatch.setenv("PROXYCTL_INSTANCE", "here")
    login = ["--user", instance.user, "--port", str(instance.port)]
    monkeypatch.setenv("PROXYCTL_PASSWORD", instance.password)
    found = proxyctl("plan", "--host", "localhost", *login)
    assert found.code == 0, found.text
    assert found.out.startswith(f"localhost:{instance.port}  ProxySQL")


def test_the_port_of_an_option_beats_the_socket_of_a_file(
    project: Project, instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PROXYCTL_HOST")
    monkeypatch.delenv("PROXYCTL_PORT")
    project.write("[client]\nsocket=/nowhere.sock\n", "my.cnf")
    where = ["--defaults-file", "my.cnf", "--port", str(instance.port)]
    assert proxyctl("export", *where).code == 0
    said(proxyctl("export", "--defaults-file", "my.cnf"), 1, "/nowhere.sock")


def test_export_needs_no_files(project: Project, instance: Instance) -> None:
    project.write("this is: [no yaml")
    assert proxyctl("export").code == 0
