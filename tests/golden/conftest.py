"""The comparison with recorded files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Recorded = Callable[[Path, str], None]


@pytest.fixture
def recorded(pytestconfig: pytest.Config) -> Recorded:
    """Compare a text with a file; --update-golden writes the file first."""

    def compare(path: Path, text: str) -> None:
        if pytestconfig.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8", errors="surrogateescape")
        assert text == path.read_text(encoding="utf-8", errors="surrogateescape"), path.name

    return compare
