"""Findings and checks of lint as text and JSON, and findings as annotations for GitHub."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from proxyctl.catalog import TABLES
from proxyctl.errors import Mistake
from proxyctl.lint.check import Check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.run import LintReport, LocatedFinding
from proxyctl.render.encode import ABSENT, Shape
from proxyctl.render.style import Style, shown
from proxyctl.rows.row import row_name
from proxyctl.text import counted, printable


def lint_text(report: LintReport, style: Style) -> str:
    """Return the findings, one or two lines each, and a summary."""
    lines = [
        line for located in report.findings for line in finding_lines(located, style, report.name)
    ]
    return "\n".join([*lines, _summary(report), ""])


def finding_lines(
    located: LocatedFinding, style: Style, name: str = "", *, first: str = ""
) -> Iterable[str]:
    """Return the lines of a finding. `name`: its instance; `first`: as for `Style.finding`."""
    finding = located.finding
    row, row_prefix = row_text(finding), ""
    place = f"{name}: {row}{located.owner}" if name else f"{row}{located.owner}"
    if located.where is not None and not name:
        place = str(located.where)
        names_row = not finding.key or finding.text.startswith(row)
        row_prefix = "" if names_row else f"{row}: "
    text = row_prefix + finding.text
    if located.others:
        text += f"; also {', '.join(map(_other_text, located.others))}"
    return style.finding(located.severity, place, finding.code, text, finding.fix, first=first)


def _other_text(located: LocatedFinding) -> str:
    count = len(located.finding.also)
    row = f"{row_text(located.finding)}{located.owner}"
    row += f" and {counted(count, 'more row')}" if count else ""
    return f"{row} at {located.where}" if located.where else row


def _summary(report: LintReport) -> str:
    ignored = f", {report.ignored} ignored" if report.ignored else ""
    if not report.findings:
        return f"Nothing found{ignored}."
    return f"{severities_text(report)}{ignored}."


def severities_text(report: LintReport) -> str:
    """Return the number of findings by severity: `1 error, 2 warnings`."""
    return ", ".join(counted(report.counts[s], str(s)) for s in Severity if report.counts[s])


def row_text(finding: Finding) -> str:
    """Return the row of a finding as people write it: `rule 10`."""
    if finding.table not in TABLES:
        return " ".join(map(shown, finding.key)) or finding.table
    return printable(row_name(finding.table, finding.key))


def checks_text(checks: Sequence[Check], style: Style) -> str:
    """Return one line per check: code, severity, name, summary."""
    width = max((len(check.name) for check in checks), default=0)
    lines: list[str] = []
    for check in checks:
        head = f"{check.code}  {check.severity:<7}  {check.name:<{width}}  "
        lines += style.lines(check.summary, first=head, then=" " * len(head))
    return "\n".join([*lines, ""])


def check_text(check: Check) -> str:
    """Return the documentation of a check."""
    return f"{check.code} {check.name} [{check.severity}]\n\n{check.unlinked}\n"


# -- JSON.


LINT: Shape[LintReport] = Shape(
    "lint",
    "name findings counts ignored",
    findings=lambda report: [*map(finding_data, report.findings)],
    counts=lambda report: {severity: report.counts[severity] for severity in Severity},
)
FINDING: Shape[Finding] = Shape(
    "finding of lint",
    "code check severity table key also column message fix where origin others",
    others=lambda _: ABSENT,
)


def finding_data(located: LocatedFinding) -> dict[str, object]:
    """Return a finding and its place as plain data."""
    return FINDING.encode(
        located.finding,
        check=located.check.name,
        severity=located.severity,
        where=located.where and str(located.where),
        origin=(located.where and located.where.origin) or None,
        others=[*map(finding_data, located.others)] or ABSENT,
    )


CHECKS: Shape[Iterable[Check]] = Shape(
    "lint --list", "checks", checks=lambda checks: CHECK.each(checks)
)
CHECK: Shape[Check] = Shape(
    "check of lint", "code check severity summary", check=lambda check: check.name
)


# -- GitHub.


_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def mistakes_github(mistakes: Iterable[Mistake]) -> str:
    """Return a GitHub workflow command for each mistake that keeps lint from reading the files."""
    return "".join(f"{_mistake(mistake)}\n" for mistake in mistakes)


def _mistake(mistake: Mistake) -> str:
    properties = {"file": mistake.path, "title": "wrong file"}
    if mistake.line:
        properties |= {"line": str(mistake.line), "col": str(mistake.column)}
    key = f"{mistake.key}: " if mistake.key else ""
    return f"::error {_properties(properties)}::{_text(key + mistake.message, mistake.fix)}"


def lint_github(report: LintReport) -> str:
    """Return a GitHub workflow command for each finding."""
    places = (place for first in report.findings for place in (first, *first.others))
    return "".join(f"{_command(located)}\n" for located in places)


def _command(located: LocatedFinding) -> str:
    finding, where = located.finding, located.where
    properties = {"title": f"{finding.code} {located.check.name}"}
    if where is not None:
        properties = {"file": where.path, **properties}
        if where.line:
            properties |= {"line": str(where.line), "col": str(where.column)}
    row_prefix = "" if where is not None else f"{row_text(finding)}{located.owner}: "
    text = _text(row_prefix + finding.text, finding.fix)
    return f"::{_LEVELS[located.severity]} {_properties(properties)}::{text}"


def _properties(properties: Mapping[str, str]) -> str:
    return ",".join(f"{name}={_property(value)}" for name, value in properties.items())


def _text(message: str, fix: str | None) -> str:
    """Return the text of an annotation: a line for the message, one for the fix."""
    return "%0A".join([_escaped(message), *([_escaped(f"fix: {fix}")] if fix else [])])


def _escaped(text: str) -> str:
    return printable(text).replace("%", "%25")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
