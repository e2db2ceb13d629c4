"""What lint finds stands in the plan that a person reads, and may refuse an apply."""

from __future__ import annotations

import os
import sys

import pytest

from tests.journeys.story import apply, plan, said
from tests.support.cli import Project, proxyctl
from tests.support.pseudo_terminal import PseudoTerminal

FILES = """\
version: 1
hostgroups: {writer: {id: 10}, reader: {id: 20}}
mysql_replication_hostgroups: [{writer_hostgroup: writer, reader_hostgroup: reader}]
mysql_servers:
  - {hostgroup_id: writer, hostname: db1}
  - {hostgroup_id: reader, hostname: db2}
mysql_users: [{username: app, password: example, default_hostgroup: writer}]
mysql_query_rules:
  - {rule_id: 1, match_digest: ^SELECT, destination_hostgroup: reader, apply: true}
"""
LOCKING = "lint PX301 at proxyctl.yaml:9:64: sends `SELECT"


def test_an_error_stands_in_the_plan_in_full(sandbox_project: Project) -> None:
    sandbox_project.write(FILES)
    found = plan()
    assert found.code == 2
    assert LOCKING in found.out
    assert "lint: 1 error" in found.out
    assert LOCKING in plan("--format", "markdown").out.replace("\\", "")
    assert LOCKING in proxyctl("apply").out  # which then asks


def test_the_guard_can_refuse(sandbox_project: Project) -> None:
    sandbox_project.write(FILES + "guards: {lint: refuse}\n")
    assert plan().code == 3
    said(apply(), 3, LOCKING, "(guards.lint)", "allow it with --force")
    assert apply("--force").code == 0


def test_on_a_terminal_a_refusal_stands_once_within_the_width(sandbox_project: Project) -> None:
    sandbox_project.write(FILES + "guards: {lint: refuse}\n")
    (sandbox_project.folder / "proxyctl.yaml").chmod(0o600)
    command = [sys.executable, "-m", "proxyctl", "apply", "--auto-approve", "--no-color"]
    with PseudoTerminal(command, {**os.environ, "COLUMNS": "80"}) as shown:
        assert shown.wait() == 3
    lines = shown.written.decode().splitlines()
    assert [line for line in lines if len(line) > 80] == []
    text = " ".join(" ".join(lines).split())
    assert text.count(LOCKING) == 1
    assert text.count("allow it with --force") == 1


@pytest.mark.parametrize(
    "changed",
    [
        FILES + "guards: {lint: off}\n",
        FILES + "lint: {ignore: [PX301, PX5]}\n",
        FILES.replace("^SELECT", "^SELECT 1$"),
    ],
    ids=["off", "ignored", "mended"],
)
def test_without_a_finding_the_plan_says_nothing_of_lint(
    sandbox_project: Project, changed: str
) -> None:
    sandbox_project.write(changed)
    assert "PX301" not in plan().out


def test_nobody_asked_reads_no_lint_and_a_plan_in_sync_has_none(sandbox_project: Project) -> None:
    sandbox_project.write(FILES)
    assert "lint" not in apply().text
    assert "lint" not in plan().text


def test_many_rows_are_left_to_lint_itself(sandbox_project: Project) -> None:
    rules = "".join(f"  - {{rule_id: {n}, match_digest: ^A{n}$}}\n" for n in range(10, 2010))
    sandbox_project.write(FILES + rules)
    found = plan()
    assert "lint: skipped for more than 2,000 rows" in found.out
    assert "PX301" not in found.out
