"""A time in a store: the clocks that bound it, and what a store lacks of it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support.commands.cli import Project, proxyctl
from tests.support.digests.seen import seen_digest
from tests.support.digests.stored import add_hour

STORE = Path("digests.db")


@pytest.fixture(autouse=True)
def folder(offline: Project) -> Project:
    return offline


def calls(*arguments: str) -> int:
    found = proxyctl("digest", "top", "--store", str(STORE), "--format", "json", *arguments)
    assert found.code == 0, found.text
    return int(found.json["total"]["count_star"])


def test_an_instance_whose_clock_is_ahead_is_read_to_its_end() -> None:
    now = int(time.time())
    for name, at, count in (("px1", now - 60, 600), ("px3", now + 600, 60)):
        add_hour(STORE, name, at, [seen_digest("SELECT 1", count_star=count)])
    assert calls() == calls("--since", "2h") == 660
    assert calls("--since", "2h", "--until", "0s") == 600
