"""Folders of the project."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
UNIT_DATA = ROOT / "tests" / "unit" / "data"
"""Answers of a real ProxySQL that tests of single functions read."""
