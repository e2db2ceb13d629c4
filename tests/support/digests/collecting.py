"""Two queries of a sandbox, and `digest collect` into `digests.db` of the folder."""

from __future__ import annotations

import os
import sys

from tests.support.commands.cli import Outcome, proxyctl
from tests.support.paths import ROOT

READ, WRITE = "SELECT a FROM t WHERE id = 1", "UPDATE t SET a = 1"
READ_TEXT, WRITE_TEXT = "SELECT a FROM t WHERE id = ?", "UPDATE t SET a = ?"
COLLECT = [sys.executable, "-m", "proxyctl", "digest", "collect", "--store", "digests.db"]


def here() -> dict[str, str]:
    """Return the environment for a process of its own."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def collected(*arguments: str, code: int = 0) -> Outcome:
    """Collect, and return what was printed."""
    found = proxyctl("digest", "collect", "--store", "digests.db", *arguments)
    assert found.code == code, found.text
    return found
