"""Servers that no monitor places, to be drained: the files, an instance that holds them, a look."""

from __future__ import annotations

import pytest

from tests.support.cli import Outcome, Project, proxyctl
from tests.support.servers import Instance

FILES = """\
version: 1
mysql_servers:
  - {hostgroup_id: 10, hostname: db1, weight: 5}
  - {hostgroup_id: 10, hostname: db2}
  - {hostgroup_id: 20, hostname: db2, max_connections: 50}
  - {hostgroup_id: 20, hostname: db3, port: 3307}
"""


@pytest.fixture
def servers(project: Project, instance: Instance) -> Instance:
    """An instance that holds the servers of the files."""
    project.connect(instance)
    project.write(FILES)
    done = proxyctl("apply", "--auto-approve")
    assert done.code == 0, done.text
    return instance


def layer(instance: Instance, table: str) -> list[tuple[str | None, ...]]:
    return instance.query(f"SELECT * FROM {table} ORDER BY hostgroup_id, hostname")


def statuses(instance: Instance, host: str) -> set[str]:
    rows = instance.query(f"SELECT status FROM runtime_mysql_servers WHERE hostname='{host}'")
    return {str(status) for (status,) in rows}


def drained(*arguments: str) -> Outcome:
    done = proxyctl("nodes", "drain", *arguments)
    assert done.code == 0, done.text
    return done
