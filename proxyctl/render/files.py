"""The verdict on files that are valid, as text and JSON."""

from __future__ import annotations

from proxyctl.config.project import Project
from proxyctl.errors import counted
from proxyctl.render.encode import document


def validated_text(project: Project) -> str:
    """Return how many rows the files have in how many tables."""
    counts = _counts(project)
    rows = counted(sum(counts.values()), "row")
    return f"The files are valid: {rows} in {counted(len(counts), 'table')}.\n"


def validated_json(project: Project) -> str:
    """Return the number of rows by table."""
    return document({"valid": True, "tables": _counts(project)})


def _counts(project: Project) -> dict[str, int]:
    return {name: len(table.rows) for name, table in project.desired.tables.items()}
