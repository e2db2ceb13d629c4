"""The command digest watch."""

from __future__ import annotations

import typer


def register(group: typer.Typer) -> None:
    """Add the command to the group."""
