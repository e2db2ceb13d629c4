"""--debug writes what a ticket needs, and no secret."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import pytest

from proxyctl.apply.apply import apply_files
from proxyctl.apply.request import ApplyRequest
from proxyctl.config.files import ConfigFiles, Sources
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.plan.files import plan_files
from proxyctl.plan.make import PlanOptions
from proxyctl.sandbox import Sandbox
from proxyctl.sandbox.replies import AdminError
from tests.support.commands.cli import SECRETS, Outcome, Project, proxyctl
from tests.support.commands.logs import logged
from tests.support.commands.story import FILES, ended
from tests.support.servers.instances import Instance


def debug_lines(found: Outcome) -> str:
    return "\n".join(line for line in found.err.splitlines() if line.startswith("debug: "))


def test_versions_statements_times_and_decisions(project: Project, instance: Instance) -> None:
    project.write(FILES)
    found = proxyctl("plan", "--debug")
    assert found.code == 0
    for part in (
        "proxyctl 0.",
        "command proxyctl plan; options: --debug; from the environment: PROXYCTL_HOST",
        "files of ./proxyctl.yaml; sections: hostgroups, mysql_query_rules",
        "the password comes from PROXYCTL_PASSWORD",
        f"connect to 127.0.0.1:{instance.port} as admin",
        "no TLS",
        "it reports version ",
        "main.mysql_users",
        "row read in",
        "decided: MYSQL USERS: 2 changes; 1 LOAD, SAVE",
        "exit code 0",
    ):
        assert part in debug_lines(found)
    assert "debug" not in found.out


def test_what_is_written_is_masked_by_field(project: Project, instance: Instance) -> None:
    """A refusal is a decision, too."""
    project.write(FILES)
    found = proxyctl("--debug", "apply", "--auto-approve")
    assert found.code == 0, found.text
    assert "INSERT INTO mysql_users" in debug_lines(found)
    assert "VALUES ('app','***',1" in debug_lines(found)
    assert not any(secret in found.text for secret in SECRETS.values())
    project.write("mysql_users: []\n")
    lines = debug_lines(proxyctl("plan", "--debug"))
    assert ("decided: refused: " in lines, "allowed by --force" in lines) == (True, True)


def test_a_name_cannot_begin_a_line_of_its_own(offline: Project) -> None:
    offline.write(FILES)
    found = proxyctl("plan", "--debug", "--host", "h\nerror: forged\x1b[31m")
    assert "\x1b" not in found.err
    assert "connect to h\\nerror: forged\\x1b[31m:6032" in debug_lines(found)


SECRET = "s3cret-in-an-exception"


def test_a_bug_shows_where_it_is_and_no_value(
    offline: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The messages of a KeyError, a driver's error and a ValueError hold values."""
    offline.write(FILES)

    def fail(*_: object, **__: object) -> None:
        try:
            raise ValueError(f"the driver says {SECRET}")
        except ValueError as error:
            raise KeyError(SECRET) from error

    monkeypatch.setattr("proxyctl.config.files.load_project", fail)
    plain = proxyctl("validate", "--format", "json")
    assert (plain.code, plain.json["error"]["type"]) == (1, "InternalError")
    assert "a bug in proxyctl: KeyError at cli/commands/files.py:" in plain.err
    assert "run again with --debug" in plain.err
    found = proxyctl("validate", "--debug")
    assert found.code == 1
    assert "debug: ValueError" in found.err
    assert "in validate: project = load_project(" in found.err
    assert SECRET not in plain.text + found.text


def test_a_server_that_repeats_a_statement_shows_no_secret(
    sandbox_project: Project, sandbox: Sandbox
) -> None:
    """The server may repeat only the beginning, so that a quote is never closed."""
    sandbox_project.write(FILES)

    def refuse(sql: str) -> None:
        if sql.startswith("INSERT INTO mysql_users"):
            cut = sql[: sql.index("s3cret-of-app") + 9]
            raise AdminError(f'unrecognized token: "{cut}', code=1045)

    sandbox.options.before_statement = refuse
    found = proxyctl("apply", "--auto-approve", "--debug")
    ended(found, 1, "unrecognized token", "nothing was loaded")
    assert "s3cret-of" not in found.text


@pytest.mark.parametrize("level", [1, logging.NOTSET])
def test_no_record_holds_a_secret(sandbox_project: Project, sandbox: Sandbox, level: int) -> None:
    """A user of the Python API may add any handler, which sees more of a record than its text."""
    monitor = "  mysql-monitor_password: {env: OTHER_PASSWORD}\nhostgroups:"
    sandbox_project.write(FILES.replace("hostgroups:", monitor))
    files, records = ConfigFiles(Sources(("proxyctl.yaml",))), list[Mapping[str, object]]()
    with (
        logged(lambda record: records.append(vars(record)), "", level),
        AdminClient(Login(port=sandbox.port, password="admin")) as client,
    ):
        plan_files(client, files)
        _, result = apply_files(client, files, ApplyRequest(PlanOptions()))
    assert result is not None
    for record in records:
        assert record["exc_info"] is None
        assert isinstance(record["args"], tuple)
        # Another object could hold more than its repr shows.
        assert all(isinstance(value, str | int | float) for value in record["args"])
        assert not [secret for secret in SECRETS.values() if secret in repr(record)]
    assert any("VALUES ('app','***',1" in repr(record) for record in records)
