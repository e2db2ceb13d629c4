"""`apply --drain-timeout`: servers that leave are OFFLINE_SOFT first, by a LOAD more."""

from __future__ import annotations

import re

import pytest

from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

TWO = """\
version: 1
mysql_servers:
  - {hostgroup_id: 10, hostname: db1}
  - {hostgroup_id: 10, hostname: db2}
"""
ONE = TWO.replace("  - {hostgroup_id: 10, hostname: db2}\n", "")
OTHER = TWO.replace("db2}", "db2, weight: 5}")


@pytest.fixture
def two(project: Project) -> Project:
    project.write(TWO)
    assert proxyctl("apply", "--auto-approve").code == 0
    return project


@pytest.mark.parametrize(
    ("files", "arguments", "loads"),
    [
        (ONE, ("--drain-timeout", "5"), "2 LOAD, 1 SAVE"),
        (ONE, (), "1 LOAD, 1 SAVE"),
        (OTHER, ("--drain-timeout", "5"), "1 LOAD, 1 SAVE"),
    ],
)
def test_the_plan_counts_the_loads_that_are_sent(
    two: Project, files: str, arguments: tuple[str, ...], loads: str
) -> None:
    two.write(files)
    done = proxyctl("apply", "--auto-approve", *arguments)
    assert done.code == 0, done.text
    assert re.findall(r"\d LOAD, \d SAVE", done.out) == [loads, loads]


def test_a_saved_plan_may_be_applied_softly(two: Project, instance: Instance) -> None:
    """How long to wait is no part of what was approved."""
    two.write(ONE)
    assert proxyctl("plan", "--out", "plan.json").code == 0
    done = proxyctl("apply", "plan.json", "--drain-timeout", "5")
    assert done.code == 0, done.text
    assert "2 LOAD, 1 SAVE" in done.out
    assert instance.query("SELECT hostname FROM mysql_servers") == [("db1",)]
