"""Findings of lint for people, and the documentation of a check."""

from __future__ import annotations

from collections.abc import Iterable

from proxyctl.catalog import TABLES
from proxyctl.errors import counted
from proxyctl.lint.check import Check, Finding, Severity
from proxyctl.lint.run import Placed, Report
from proxyctl.render.style import Style, shown
from proxyctl.text import printable

_COLOURS = {Severity.ERROR: "refuse", Severity.WARNING: "change", Severity.NOTE: "dim"}


def lint_text(report: Report, style: Style) -> str:
    """Return the findings, one or two lines each, and a summary."""
    lines = [line for one in report.findings for line in _lines(one, report.name, style)]
    return "\n".join([*lines, _summary(report), ""])


def _lines(one: Placed, name: str, style: Style) -> Iterable[str]:
    finding = one.finding
    severity = style(_COLOURS[one.severity], f"[{one.severity}]")
    place, about = row_text(finding), ""
    if one.where is not None:
        place, about = str(one.where), f"{_short(finding)}: " if finding.key else ""
    elif name:
        place = f"{printable(name)}: {place}"
    yield f"{printable(place)}: {finding.code} {severity} {printable(about + finding.text)}"
    if finding.hint:
        yield f"  hint: {printable(finding.hint)}"


def _summary(report: Report) -> str:
    ignored = f", {report.ignored} ignored" if report.ignored else ""
    if not report.findings:
        return f"Nothing found{ignored}."
    counts = [counted(report.counts[one], str(one)) for one in Severity if report.counts[one]]
    return f"{', '.join(counts)}{ignored}."


def row_text(finding: Finding) -> str:
    """Return `mysql_query_rules rule_id 10`; the name alone for a variable."""
    table = TABLES.get(finding.table)
    if table is None or table.prefix is not None:
        return " ".join(map(shown, finding.key)) or finding.table
    pairs = (
        f"{column} {shown(value)}" for column, value in zip(table.key, finding.key, strict=False)
    )
    return " ".join([finding.table, *pairs])


def _short(finding: Finding) -> str:
    """Return a row as it is called beside its place: `rule 10`, `mysql_users app 1`."""
    key = " ".join(map(shown, finding.key))
    if finding.table == "mysql_query_rules":
        return f"rule {key}"
    table = TABLES.get(finding.table)
    return key if table is None or table.prefix is not None else f"{finding.table} {key}"


def checks_text(checks: Iterable[Check]) -> str:
    """Return a line for each check: code, severity, name, what it finds."""
    rows = list(checks)
    widest = max(len(one.name) for one in rows)
    return "".join(
        f"{one.code}  {one.severity:7}  {one.name:{widest}}  {one.summary}\n" for one in rows
    )


def check_text(check: Check) -> str:
    """Return the documentation of a check."""
    return f"{check.code} {check.name} [{check.severity}]\n\n{check.documentation}\n"
