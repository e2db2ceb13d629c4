"""Findings of lint for machines: JSON, and the commands that GitHub turns into annotations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from proxyctl.errors import Mistake
from proxyctl.lint.check import Check, Severity
from proxyctl.lint.run import Placed, Report
from proxyctl.render.lint_text import row_text
from proxyctl.text import printable

FORMAT = 1
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def lint_json(report: Report) -> str:
    """Return the findings as JSON. Shape: docs/reference/json-routing.md."""
    document = {
        "format": FORMAT,
        "name": report.name,
        "findings": [_object(one) for one in report.findings],
        "counts": {str(one): report.counts[one] for one in Severity},
        "ignored": report.ignored,
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def _object(one: Placed) -> dict[str, object]:
    finding, where = one.finding, one.where
    return {
        "code": finding.code,
        "check": one.check.name,
        "severity": str(one.severity),
        "table": finding.table,
        "key": list(finding.key),
        "also": [list(key) for key in finding.also],
        "column": finding.column,
        "message": finding.message,
        "hint": finding.hint,
        "where": None if where is None else str(where),
        "origin": (where.origin if where else "") or None,
    }


def checks_json(checks: Iterable[Check]) -> str:
    """Return the checks as JSON: code, name, severity, and what each finds."""
    rows = [
        {"code": one.code, "check": one.name, "severity": one.severity, "summary": one.summary}
        for one in checks
    ]
    return json.dumps({"format": FORMAT, "checks": rows}, indent=2, ensure_ascii=True) + "\n"


def mistakes_github(mistakes: Iterable[Mistake]) -> str:
    """Return a workflow command for each mistake that keeps the files from being looked at."""
    return "".join(f"{_mistake(one)}\n" for one in mistakes)


def _mistake(one: Mistake) -> str:
    given = {"file": one.path, "title": "wrong file"}
    if one.line:
        given |= {"line": str(one.line), "col": str(one.column)}
    key = f"{one.key}: " if one.key else ""
    return f"::error {_properties(given)}::{_text(key + one.message, one.hint)}"


def lint_github(report: Report) -> str:
    """Return a workflow command of GitHub Actions for each finding."""
    return "".join(f"{_command(one)}\n" for one in report.findings)


def _command(one: Placed) -> str:
    finding, where = one.finding, one.where
    given = {"title": f"{finding.code} {one.check.name}"}
    if where is not None:
        given = {"file": where.path, **given}
        if where.line:
            given |= {"line": str(where.line), "col": str(where.column)}
    about = "" if where is not None else f"{row_text(finding)}: "
    text = _text(about + finding.text, finding.hint)
    return f"::{_LEVELS[one.severity]} {_properties(given)}::{text}"


def _properties(given: Mapping[str, str]) -> str:
    return ",".join(f"{name}={_property(value)}" for name, value in given.items())


def _text(message: str, hint: str | None) -> str:
    """Return the text of an annotation: one line, and the hint on another."""
    return "%0A".join([_escaped(message), *([_escaped(f"hint: {hint}")] if hint else [])])


def _escaped(text: str) -> str:
    return printable(text).replace("%", "%25")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
