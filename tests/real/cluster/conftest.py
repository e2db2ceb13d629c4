"""Fixtures: a native cluster of three real ProxySQL, and files for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.cluster.rig import members
from tests.support.cli import Project
from tests.support.servers import ProxySQL


@pytest.fixture
def three(tmp_path: Path) -> Iterator[list[ProxySQL]]:
    """The members of one native cluster, which agree."""
    with members(tmp_path) as found:
        yield found


@pytest.fixture
def project(three: list[ProxySQL], offline: Project) -> Project:
    """Files that are applied at the first member, if nothing else is said."""
    offline.connect(three[0].instance)
    return offline
