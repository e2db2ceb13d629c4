"""Text where ProxySQL takes a number: it reads one there, as C does, and so do we."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from proxyctl.sandbox import Sandbox
from tests.journeys.layers import everywhere
from tests.journeys.story import applied
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

FILES = """\
version: 1
mysql_galera_hostgroups:
  - {writer_hostgroup: 10, backup_writer_hostgroup: 20, reader_hostgroup: 30, offline_hostgroup: 40,
     max_writers: 1}
"""


@pytest.fixture
def odd(offline: Project) -> Iterator[Instance]:
    """A sandbox whose monitor is on, and MEMORY with text for a number."""
    with Sandbox(variables={"mysql-monitor_enabled": "true"}) as served:
        instance = Instance(served.host, served.port, sandbox=served)
        offline.connect(instance)
        instance.execute(
            "INSERT INTO mysql_galera_hostgroups (writer_hostgroup, backup_writer_hostgroup,"
            " reader_hostgroup, offline_hostgroup, max_writers) VALUES (10, 20, 30, 40, 'abc')"
        )
        yield instance
        instance.close()


def test_a_plan_is_made_and_applied_all_the_same(odd: Instance, offline: Project) -> None:
    offline.write(FILES)
    found = proxyctl("plan", "--detailed-exitcode")
    assert found.code == 3, found.text
    assert "mysql_galera_hostgroups 10: row added in MEMORY, not loaded to RUNTIME" in found.out
    applied("--discard-pending")
    sql = "SELECT max_writers FROM {}mysql_galera_hostgroups"
    assert everywhere(odd, sql) == [("1",)]
