"""nodes discover: which node is asked first."""

from __future__ import annotations

import pytest

from tests.cli import Project, proxyctl
from tests.journeys.story import said


@pytest.mark.parametrize("seed", ["", " ", ":3306", "n1,n2", "n1:99999", "n1:0"])
def test_a_seed_is_one_node(offline: Project, seed: str) -> None:
    """A text without a host would mean this machine; nobody is connected to."""
    found = proxyctl("nodes", "discover", "--seed", seed)
    said(found, 64, "--seed: one node is meant, HOST or HOST:PORT")
