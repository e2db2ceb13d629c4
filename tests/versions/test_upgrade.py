"""Another ProxySQL is started on the DISK of an older one: nothing is left to do."""

from __future__ import annotations

import pytest

from tests.journeys.story import applied, plan
from tests.support.cli import Project, proxyctl
from tests.support.servers import ProxySQL, proxysql_binary
from tests.versions.test_versions import Server, project, server
from tests.versions.whole import whole_files

pytestmark = pytest.mark.sweep

__all__ = ["project", "server"]


def test_the_files_hold_after_an_upgrade(project: Project, server: Server) -> None:
    newest = proxysql_binary()
    process = server.running
    if not isinstance(process, ProxySQL) or newest is None:
        pytest.skip("an upgrade needs two real ones")
    if server.version >= (2, 7, 1):
        pytest.skip("this would be a downgrade")
    applied()
    process.stop()
    process.binary = newest
    process.start()
    assert plan().code == 0
    assert proxyctl("drift").code == 0
    project.write(whole_files(server.version).replace("4096", "4097"))
    applied()
    assert plan().code == 0
