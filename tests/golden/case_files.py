"""The files of a case beside those of its project."""

from __future__ import annotations

from pathlib import Path


def words(folder: Path, name: str) -> list[str]:
    """Return the lines of a file, or none where it does not exist."""
    path = folder / name
    return path.read_text().splitlines() if path.exists() else []
