"""Findings of lint, the checks, and the commands that GitHub turns into annotations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from proxyctl.catalog import TABLES
from proxyctl.errors import Mistake, counted
from proxyctl.lint.check import Check, Finding, Severity
from proxyctl.lint.run import Placed, Report
from proxyctl.render.encode import ABSENT, Shape
from proxyctl.render.style import Style, shown
from proxyctl.state.row import row_name
from proxyctl.text import printable


def lint_text(report: Report, style: Style) -> str:
    """Return the findings, one or two lines each, and a summary."""
    lines = [line for one in report.findings for line in finding_lines(one, style, report.name)]
    return "\n".join([*lines, _summary(report), ""])


def finding_lines(one: Placed, style: Style, name: str = "", *, first: str = "") -> Iterable[str]:
    """Return the lines of a finding. `name`: its instance; `first`: as for `Style.finding`."""
    finding = one.finding
    row, about = row_text(finding), ""
    place = f"{name}: {row}" if name else row
    if one.where is not None:
        place = str(one.where)
        is_named = not finding.key or finding.text.startswith(row)
        about = "" if is_named else f"{row}: "
    text = about + finding.text
    if one.others:
        text += f"; also {', '.join(map(_other_text, one.others))}"
    return style.finding(one.severity, place, finding.code, text, finding.fix, first=first)


def _other_text(one: Placed) -> str:
    more = len(one.finding.also)
    row = row_text(one.finding) + (f" and {counted(more, 'more row')}" if more else "")
    return f"{row} at {one.where}" if one.where else row


def _summary(report: Report) -> str:
    ignored = f", {report.ignored} ignored" if report.ignored else ""
    if not report.findings:
        return f"Nothing found{ignored}."
    counts = [counted(report.counts[one], str(one)) for one in Severity if report.counts[one]]
    return f"{', '.join(counts)}{ignored}."


def row_text(finding: Finding) -> str:
    """Return what people call the row of a finding."""
    if finding.table not in TABLES:
        return " ".join(map(shown, finding.key)) or finding.table
    return printable(row_name(finding.table, finding.key))


def checks_text(checks: Sequence[Check], style: Style) -> str:
    """Return a line for each check: code, severity, name, what it finds."""
    width = max((len(one.name) for one in checks), default=0)
    lines: list[str] = []
    for one in checks:
        head = f"{one.code}  {one.severity:<7}  {one.name:<{width}}  "
        lines += style.lines(one.summary, first=head, then=" " * len(head))
    return "\n".join([*lines, ""])


def check_text(check: Check) -> str:
    """Return the documentation of a check."""
    return f"{check.code} {check.name} [{check.severity}]\n\n{check.documentation}\n"


# -- JSON.


LINT: Shape[Report] = Shape(
    "lint",
    "name findings counts ignored",
    findings=lambda one: [*map(placed, one.findings)],
    counts=lambda one: {severity: one.counts[severity] for severity in Severity},
)
FINDING: Shape[Finding] = Shape(
    "finding of lint",
    "code check severity table key also column message fix where origin others",
    others=lambda _: ABSENT,
)


def placed(one: Placed) -> dict[str, object]:
    """Return a finding and its place as plain data."""
    return FINDING.encode(
        one.finding,
        check=one.check.name,
        severity=one.severity,
        where=one.where and str(one.where),
        origin=(one.where and one.where.origin) or None,
        others=[*map(placed, one.others)] or ABSENT,
    )


CHECKS: Shape[Iterable[Check]] = Shape(
    "lint --list", "checks", checks=lambda checks: CHECK.each(checks)
)
CHECK: Shape[Check] = Shape(
    "check of lint", "code check severity summary", check=lambda one: one.name
)


# -- GitHub.


_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def mistakes_github(mistakes: Iterable[Mistake]) -> str:
    """Return a workflow command for each mistake that keeps the files from being looked at."""
    return "".join(f"{_mistake(one)}\n" for one in mistakes)


def _mistake(one: Mistake) -> str:
    given = {"file": one.path, "title": "wrong file"}
    if one.line:
        given |= {"line": str(one.line), "col": str(one.column)}
    key = f"{one.key}: " if one.key else ""
    return f"::error {_properties(given)}::{_text(key + one.message, one.fix)}"


def lint_github(report: Report) -> str:
    """Return a workflow command of GitHub Actions for each finding."""
    places = (place for one in report.findings for place in (one, *one.others))
    return "".join(f"{_command(one)}\n" for one in places)


def _command(one: Placed) -> str:
    finding, where = one.finding, one.where
    given = {"title": f"{finding.code} {one.check.name}"}
    if where is not None:
        given = {"file": where.path, **given}
        if where.line:
            given |= {"line": str(where.line), "col": str(where.column)}
    about = "" if where is not None else f"{row_text(finding)}: "
    text = _text(about + finding.text, finding.fix)
    return f"::{_LEVELS[one.severity]} {_properties(given)}::{text}"


def _properties(given: Mapping[str, str]) -> str:
    return ",".join(f"{name}={_property(value)}" for name, value in given.items())


def _text(message: str, fix: str | None) -> str:
    """Return the text of an annotation: one line, and the fix on another."""
    return "%0A".join([_escaped(message), *([_escaped(f"fix: {fix}")] if fix else [])])


def _escaped(text: str) -> str:
    return printable(text).replace("%", "%25")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
