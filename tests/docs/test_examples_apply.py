"""Every example and starter is valid, applies, leaves an empty plan, and can be exported."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pymysql
import pytest

from proxyctl.config.files import load_project
from proxyctl.config.sources import Sources
from proxyctl.routing.routing_test import RoutingTest
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.documentation.pages import page_id
from tests.support.paths import ROOT
from tests.support.servers.instances import Instance, ProxySQL, needed_binary

FOLDERS = sorted(
    {
        file.parent
        for folder in ("examples", "templates")
        for file in (ROOT / folder).rglob("proxyctl.yaml*")
        if "kubernetes" not in file.parts  # its secrets are files: test_kubernetes.py
    }
)
PASSWORD = "secret of an account"


@pytest.mark.parametrize("folder", FOLDERS, ids=page_id)
def test_an_example_can_be_applied(
    folder: Path, instance: Instance, offline: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    offline.connect(instance)
    for file in (f for f in folder.iterdir() if f.is_file()):
        for name in re.findall(r"\{env: (\w+)\}", file.read_text(encoding="utf-8")):
            monkeypatch.setenv(name, PASSWORD)
    monkeypatch.setenv("PROXYCTL_FILE", str(folder))
    assert done("validate")
    assert not in_sync(done("plan", "--format", "json"))
    assert done("apply", "--auto-approve")
    again = done("plan", "--format", "json")
    assert in_sync(again), again.text
    assert PASSWORD not in again.text
    if instance.kind == "real":
        check_routing(instance, load_project(Sources((str(folder),))).routing_tests)


def check_routing(instance: Instance, tests: Sequence[RoutingTest]) -> None:
    """Check each routing test: without servers, ProxySQL's error names the hostgroup."""
    instance.execute(
        "SET mysql-connect_timeout_server_max=10",
        "SET mysql-poll_timeout=10",
        "DELETE FROM mysql_servers",
    )
    instance.load("MYSQL VARIABLES", "MYSQL SERVERS")
    [(interface,)] = instance.query("SELECT @@mysql-interfaces")
    port = int(str(interface).rpartition(":")[2])
    # LAST_INSERT_ID() of a new session is answered by ProxySQL itself.
    for test in (test for test in tests if "LAST_INSERT_ID" not in test.query):
        login = {"user": test.request.username, "password": PASSWORD, "autocommit": None}
        with (
            pymysql.connect(host="127.0.0.1", port=port, **login) as session,
            session.cursor() as cursor,
            pytest.raises(pymysql.err.MySQLError, match=f"hostgroup {test.expect['hostgroup']} "),
        ):
            cursor.execute(test.query)


def done(*arguments: str) -> Outcome:
    found = proxyctl(*arguments)
    assert found.code == 0, found.text
    return found


def in_sync(planned: Outcome) -> bool:
    (instance,) = planned.json["instances"]
    return bool(instance["in_sync"])


@pytest.mark.parametrize("folder", FOLDERS, ids=page_id)
def test_the_routing_tests_of_an_example_pass(folder: Path) -> None:
    texts = [file.read_text("utf-8") for file in folder.iterdir() if file.is_file()]
    has_tests = any("routing_tests:" in text for text in texts)
    variables = ["--var", "shards=3"] if folder.name == "any-number" else []
    found = proxyctl("test", "-f", str(folder), "--coverage", "--format", "json", *variables)
    assert found.code == (0 if has_tests else 1), found.text
    if has_tests:
        assert found.json["unreached_rules"] == []


EXAMPLE = ROOT / "examples" / "take-over"

_LOCAL = {
    "{": "{{",
    "}": "}}",
    "/var/lib/proxysql": "{folder}",
    "0.0.0.0:6032": "127.0.0.1:{port}",
    "0.0.0.0:6033": "127.0.0.1:{traffic_port}",
    "threads=4": "threads=4\n    monitor_enabled={monitor}",
}
"""The example with the folder and the ports of a test, and without looking for its servers."""


@pytest.mark.real
def test_a_plan_shows_nothing(
    tmp_path: Path, offline: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (EXAMPLE / "proxysql.cnf").read_text(encoding="utf-8")
    for old, new in _LOCAL.items():
        text = text.replace(old, new)
    with ProxySQL(needed_binary(), tmp_path / "proxysql", config=text) as started:
        offline.connect(started.instance)
        monkeypatch.setenv("APP_PASSWORD", "app-example")
        monkeypatch.setenv("MONITOR_PASSWORD", "monitor-example")
        found = proxyctl("plan", "-f", str(EXAMPLE), "--detailed-exitcode")
    assert found.code == 0, found.text
