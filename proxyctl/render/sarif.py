"""Findings of lint as SARIF 2.1.0, which tools for code review read.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import PurePath
from urllib.parse import quote

from proxyctl import __version__
from proxyctl.errors import Mistake
from proxyctl.lint.check import Check, Severity
from proxyctl.lint.run import Placed, Report
from proxyctl.render.lint import row_text

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_MISTAKE = "mistake"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def lint_sarif(report: Report, folder: PurePath, source: str = "") -> str:
    """Return the findings as SARIF. Files below `folder` are named relative to it.

    `source`: the place of a finding about what no file holds, such as a missing variable. GitHub
    refuses a whole document in which one result has no file. Empty for an instance.
    """
    rules = [_rule(check) for check in report.checks]
    places = {check.code: number for number, check in enumerate(report.checks)}
    driver = {"name": "proxyctl", "version": __version__, "rules": rules}
    seen: Counter[str] = Counter()
    results = []
    for one in report.findings:
        mark = _mark(one)
        seen[mark] += 1
        results.append(
            {
                "ruleId": one.finding.code,
                "ruleIndex": places[one.finding.code],
                "level": _LEVELS[one.severity],
                "message": {"text": _message(one)},
                "locations": [_location(at, folder, source) for at in (one, *one.others)],
                "partialFingerprints": {"row/v1": f"{mark}:{seen[mark]}"},
            }
        )
    return _document({"tool": {"driver": driver}, "results": results})


def mistakes_sarif(mistakes: Sequence[Mistake], folder: PurePath) -> str:
    """Return the mistakes that keep the files from being looked at, as a run that failed.

    Each is a result, too, since most readers show nothing else.
    """
    summary = {"text": "A mistake in the files, for which no check could run."}
    driver = {
        "name": "proxyctl",
        "version": __version__,
        "rules": [{"id": _MISTAKE, "name": _MISTAKE, "shortDescription": summary}],
    }
    notes: list[dict[str, object]] = []
    for one in mistakes:
        key = f"{one.key}: " if one.key else ""
        fix = f" ({one.fix})" if one.fix else ""
        text = f"{key}{one.message}{fix}".encode("utf-8", "backslashreplace").decode()
        location = {"physicalLocation": _place(one.path, one.line, one.column, folder)}
        notes.append({"level": "error", "message": {"text": text}, "locations": [location]})
    results = [{"ruleId": _MISTAKE, "ruleIndex": 0, **note} for note in notes]
    invocation = {"executionSuccessful": False, "toolConfigurationNotifications": notes}
    run = {"tool": {"driver": driver}, "invocations": [invocation], "results": results}
    return _document(run)


def _document(run: Mapping[str, object]) -> str:
    run = {**run, "columnKind": "unicodeCodePoints"}
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def _rule(check: Check) -> dict[str, object]:
    return {
        "id": check.code,
        "name": check.name,
        "shortDescription": {"text": check.summary},
        "fullDescription": {"text": check.text},
        "help": {"text": check.documentation, "markdown": check.documentation},
        "defaultConfiguration": {"level": _LEVELS[check.severity]},
    }


def _message(one: Placed) -> str:
    finding = one.finding
    fix = f" ({finding.fix})" if finding.fix else ""
    text = f"{row_text(finding)}: {finding.text}{fix}"
    return text.encode("utf-8", "backslashreplace").decode()


def _location(one: Placed, folder: PurePath, source: str) -> dict[str, object]:
    """Return where a finding is: its row, and its place in a file."""
    row = row_text(one.finding).encode("utf-8", "backslashreplace").decode()
    location: dict[str, object] = {"logicalLocations": [{"fullyQualifiedName": row, "kind": "row"}]}
    if one.where is not None:
        location["physicalLocation"] = _place(*one.where[:3], folder)
    elif source:
        location["physicalLocation"] = _place(source, 0, 0, folder)
    return location


def _place(path: str, line: int, column: int, folder: PurePath) -> dict[str, object]:
    place: dict[str, object] = {"artifactLocation": {"uri": _uri(path, folder)}}
    if line:
        place["region"] = {"startLine": line, "startColumn": max(column, 1)}
    return place


def _uri(path: str, folder: PurePath) -> str:
    given = PurePath(path)
    if given.is_absolute() and given.is_relative_to(folder):
        given = given.relative_to(folder)
    if given.is_absolute():
        return given.as_uri()
    # A path is relative already; `./` is left out, since tools compare texts.
    return quote(given.as_posix())


def _mark(one: Placed) -> str:
    """Return what tells a finding from others, and stays when lines move."""
    finding = one.finding
    parts = [finding.code, finding.table, *map(str, finding.key), finding.column or ""]
    return sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]
