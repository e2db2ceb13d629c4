"""A real ProxySQL that starts on the DISK of an older one has an empty plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import applied, plan
from tests.support.every_table import whole_files
from tests.support.servers.instances import ProxySQL, binary_version, needed_binary, other_binary

pytestmark = [pytest.mark.sweep, pytest.mark.real]


def test_the_files_hold_after_an_upgrade(offline: Project, tmp_path: Path) -> None:
    older, newer = sorted((needed_binary(), other_binary()), key=binary_version)
    version = binary_version(older)
    with ProxySQL(older, tmp_path / "proxysql") as server:
        offline.connect(server.instance)
        offline.write(whole_files(version))
        applied()
        server.stop()
        server.binary = newer
        server.start()
        assert plan().code == 0
        assert proxyctl("drift").code == 0
        offline.write(whole_files(version).replace("4096", "4097"))
        applied()
        assert plan().code == 0
