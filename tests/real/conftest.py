"""A folder with files, connected to the instance of the test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Project
from tests.support.servers import Instance


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, instance: Instance) -> Project:
    """A folder connected to the sandbox, then to a real ProxySQL."""
    folder = tmp_path / "files"
    folder.mkdir()
    found = Project(folder, monkeypatch)
    found.connect(instance)
    return found
