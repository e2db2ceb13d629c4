"""Instances by a DNS name: one for each address."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from proxyctl.config.files import ConfigFiles, Sources
from proxyctl.fleet.targets import resolved
from proxyctl.sandbox import Sandbox
from tests.journeys.watched_fleet import events, line_of, nothing, watched
from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import ended
from tests.support.servers.instances import Instance

FILES = """
instances:
  - {dns: proxysql.db.example, port: PORT, password: {env: APP_PASSWORD}}
mysql_servers: [{hostgroup_id: 10, hostname: db1.example.com}]
"""

NAME = "proxysql.db.example"
Answers = Callable[..., None]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    """Let the name have these addresses, from the next call on."""
    system = socket.getaddrinfo

    def set_answer(*addresses: str) -> None:
        def look_up(host: str, *rest: Any, **options: Any) -> list[Any]:
            if host != NAME:
                return system(host, *rest, **options)
            if not addresses:
                raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
            return [(0, 0, 0, "", (address, 0)) for address in addresses]

        monkeypatch.setattr(socket, "getaddrinfo", look_up)

    return set_answer


@pytest.fixture
def files(sandbox_project: Project, sandbox_instance: Instance) -> Project:
    sandbox_project.monkeypatch.delenv("PROXYCTL_HOST", raising=False)
    sandbox_project.monkeypatch.delenv("PROXYCTL_PORT", raising=False)
    sandbox_project.monkeypatch.delenv("PROXYCTL_PASSWORD", raising=False)
    sandbox_project.monkeypatch.setenv("APP_PASSWORD", sandbox_instance.password)
    sandbox_project.write(FILES.replace("PORT", str(sandbox_instance.port)))
    return sandbox_project


def test_each_address_is_an_instance(files: Project, answers: Answers) -> None:
    answers("127.0.0.1")
    found = proxyctl("plan")
    assert (found.code, found.out.startswith("127.0.0.1 ")) == (0, True)
    assert proxyctl("plan", "--instance", "127.0.0.1").out == found.out
    ended(proxyctl("plan", "--instance", "10.9.9.9"), 64, "choose from 127.0.0.1")
    answers("127.0.0.1", "127.0.0.9")
    ended(proxyctl("plan"), 64, "choose one with --instance: 127.0.0.1, 127.0.0.9")
    found = proxyctl("plan", "--all")
    ended(found, 1)
    assert "1 to add" in found.out
    assert "127.0.0.9" in found.text


def test_collecting_again_looks_the_name_up_again(
    files: Project, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = iter([("127.0.0.1", "127.0.0.9"), (), ("127.0.0.9",)])

    def wait(seconds: float) -> None:
        if (found := next(rounds, None)) is None:
            raise KeyboardInterrupt
        answers(*found)

    answers("127.0.0.1")
    monkeypatch.setattr(time, "sleep", wait)
    found = proxyctl("digest", "collect", "--all", "--store", "digests.db", "--every", "1h")
    ended(found, 0)
    heads = [line.split()[0] for line in found.err.splitlines() if line.startswith("127.")]
    both = ["127.0.0.1", "127.0.0.9"]
    assert heads == [*both, *both, "127.0.0.9"], found.err  # after the notes of a first collection
    assert found.err.count(f"error: {NAME} has no address") == 1


def test_a_watch_goes_on_at_the_others_while_a_name_has_no_address(
    files: Project, sandbox_instance: Instance, answers: Answers
) -> None:
    """The instance behind the name is not gone: its change is not taken for a new one."""
    with Sandbox(variables={"mysql-monitor_enabled": "false"}) as other:
        entry = f"  - {{name: px, host: 127.0.0.1, port: {other.port}, password: admin}}\n"
        listed = FILES.replace("PORT", str(sandbox_instance.port))
        listed = listed.replace("mysql_servers", f"{entry}mysql_servers")
        files.write(listed)
        answers("127.0.0.1")
        changed = listed.replace("db1.example.com}", "db1.example.com, weight: 7}")

        def lose() -> None:
            answers()
            files.write(changed)

        found = watched("--apply", steps=[lose, nothing, lambda: answers("127.0.0.1")])
        assert found.code == 0, found.text
        shown = Instance(other.host, other.port)
        assert shown.query("SELECT weight FROM runtime_mysql_servers") == [("7",)]
        shown.close()
    assert events(found, "px") == ["differs", "applied", "differs", "applied"]
    assert events(found, "127.0.0.1") == ["differs", "applied", "differs", "applied"]
    assert [event for event in events(found) if event.startswith("instances")] == [
        "instances_unknown",
        "instances_known",
    ]
    line = line_of(found, "instances_unknown")
    assert line["message"] == f"{NAME} has no address: name or service not known"
    assert f"getent ahosts {NAME}" in str(line["details"])


def test_a_watch_waits_while_the_only_name_has_no_address(files: Project, answers: Answers) -> None:
    answers()
    found = watched("--apply", steps=[nothing, lambda: answers("127.0.0.1"), answers])
    assert events(found) == [
        *("instances_unknown", "instances_known", "differs", "applied"),
        *("instances_unknown", "stopped"),
    ]


def test_a_name_without_an_address(files: Project, answers: Answers) -> None:
    answers()
    for command in (("plan",), ("plan", "--all"), ("plan", "--instance", "127.0.0.1")):
        found = proxyctl(*command)
        ended(found, 1, "proxysql.db.example has no address: name or service not known")
        assert "getent ahosts proxysql.db.example" in found.err


def test_files_alone_ask_nobody(files: Project, answers: Answers) -> None:
    answers()
    assert proxyctl("validate").code == 0
    ended(proxyctl("plan", "--host", "127.0.0.1", "--port", "1"), 1, "127.0.0.1:1")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{dns: p.example, name: px}", "instances[0].name: each address of `dns` is an instance"),
        ("{dns: p.example, name: px, host: h}", "instances[0].dns: both a host and a DNS name"),
        ("{dns: ''}", "instances[0]: host, socket or dns is missing"),
        ("{host: h}", "instances[0].name: name is missing"),
    ],
)
def test_mistakes(offline: Project, entry: str, message: str) -> None:
    offline.write(f"instances: [{entry}]\n")
    ended(proxyctl("validate"), 1, message)


def test_the_certificate_has_to_have_the_name(offline: Project) -> None:
    from proxyctl.api import login_of

    offline.write("instances: [{dns: p.example, tls_ca: ca.pem, tls_verify_identity: true}]\n")
    listed = ConfigFiles(Sources(("proxyctl.yaml",))).instances()
    logins = [login_of(instance) for instance in resolved(listed, lambda _: ["::1", "10.0.0.7"])]
    assert [(login.host, login.certificate_name, login.name) for login in logins] == [
        ("::1", "p.example", "::1"),
        ("10.0.0.7", "p.example", "10.0.0.7"),
    ]
