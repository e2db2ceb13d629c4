"""The verdict on files that are valid, the policies that they break, and changes of users."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxyctl.config.project import Project
from proxyctl.render.encode import document
from proxyctl.render.style import Style
from proxyctl.text import counted, printable

if TYPE_CHECKING:
    from proxyctl.interchange.update_users import UpdatedUsers
    from proxyctl.lint.run import LintReport


def validated_text(project: Project, report: LintReport | None, style: Style) -> str:
    """Return the rows that break a policy, and how many rows the files have in how many tables.

    `report`: None if the files have no policy.
    """
    counts = _counts(project)
    rows = counted(sum(counts.values()), "row")
    verdict = f"The files are valid: {rows} in {counted(len(counts), 'table')}."
    lines: list[str] = []
    if report is not None and report.findings:
        from proxyctl.render.lint import finding_lines, severities_text  # importing lint is slow

        lines = [line for finding in report.findings for line in finding_lines(finding, style)]
        if report.has_errors:
            verdict = f"The files break their policies: {severities_text(report)}."
    return "\n".join([*lines, verdict, ""])


def validated_json(project: Project, report: LintReport | None) -> str:
    """Return the number of rows by table, and the rows that break a policy."""
    content: dict[str, object] = {"valid": True, "tables": _counts(project)}
    if report is not None:
        from proxyctl.render.lint import finding_data  # as above

        content["valid"] = not report.has_errors
        content["findings"] = [*map(finding_data, report.findings)]
    return document(content)


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
    lines = [f"{updated.path}: {', '.join(words) or 'the same users in a different form'}"]
    lines += [f"  + user {user}" for user in updated.added]
    lines += [f"  ~ user {user}: password" for user in updated.changed]
    lines += [f"  - user {user}" for user in updated.removed]
    return "\n".join(map(printable, lines)) + "\n"
