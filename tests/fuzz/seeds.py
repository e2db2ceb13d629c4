"""Inputs to start from: the project's own examples, templates and recorded data."""

from __future__ import annotations

from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def files_like(*patterns: str) -> tuple[bytes, ...]:
    """Return what the files of the project hold whose paths fit. Shape: sorted, each text once."""
    found = sorted(path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file())
    texts = dict.fromkeys(path.read_bytes() for path in found)
    if not texts:
        raise FileNotFoundError(f"no file fits {patterns}")
    return tuple(texts)
