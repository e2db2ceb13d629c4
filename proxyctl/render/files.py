"""The verdict on files that are valid, and the change of a file of users."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxyctl.config.project import Project
from proxyctl.errors import counted
from proxyctl.render.encode import document
from proxyctl.text import printable

if TYPE_CHECKING:
    from proxyctl.interchange.update_users import UpdatedUsers


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


def updated_users_text(updated: UpdatedUsers) -> str:
    """Return what changes in a file of users, a user a line."""
    if not updated.is_changed:
        return f"{updated.path}: no change\n"
    words = [
        f"{len(users)} to {verb}"
        for users, verb in (
            (updated.added, "add"),
            (updated.changed, "change"),
            (updated.removed, "delete"),
        )
        if users
    ]
    lines = [f"{updated.path}: {', '.join(words) or 'the same users in another form'}"]
    lines += [f"  + user {user}" for user in updated.added]
    lines += [f"  ~ user {user}: password" for user in updated.changed]
    lines += [f"  - user {user}" for user in updated.removed]
    return "\n".join(map(printable, lines)) + "\n"
