"""A folder with files, connected to the instance of the test; and what the layers hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Project
from tests.support.servers import Instance


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A folder that is not connected to anything."""
    folder = tmp_path / "files"
    folder.mkdir()
    return Project(folder, monkeypatch)


@pytest.fixture
def project(offline: Project, instance: Instance) -> Project:
    """A folder connected to the sandbox, then to a real ProxySQL."""
    offline.connect(instance)
    return offline


@pytest.fixture
def sandbox_project(offline: Project, sandbox_instance: Instance) -> Project:
    """A folder connected to the sandbox."""
    offline.connect(sandbox_instance)
    return offline
