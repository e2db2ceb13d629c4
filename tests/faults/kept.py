"""What proxyctl promises, and the tests that prove it.

promises.toml is the list; docs/explanation has the same for users, above all apply-protocol.md.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

from tests.support.paths import ROOT

PROMISES = tomllib.loads(Path(__file__).with_name("promises.toml").read_text("utf-8"))["promise"]
NAMED = sorted({test for promise in PROMISES for test in promise["tests"]})
"""Path and name of each function, with `::` in between."""


def are_kept() -> bool:
    """Run every test that the list names, on all servers at hand; return whether all pass."""
    command = [sys.executable, "-m", "pytest", "-q", *NAMED]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0
