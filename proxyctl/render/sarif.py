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
from proxyctl.lint.check import Check
from proxyctl.lint.finding import Severity
from proxyctl.lint.run import LintReport, LocatedFinding
from proxyctl.render.lint import row_text

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_MISTAKE = "mistake"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def lint_sarif(report: LintReport, folder: PurePath, source: str = "") -> str:
    """Return the findings as SARIF. Files below `folder` have relative names.

    `source`: the place of a finding without a file, such as one about a missing variable; empty for
    an instance. GitHub refuses a whole document if a result has no file.
    """
    rules = [_rule(check) for check in report.checks]
    positions = {check.code: number for number, check in enumerate(report.checks)}
    driver = {"name": "proxyctl", "version": __version__, "rules": rules}
    seen: Counter[str] = Counter()
    results = []
    for located in report.findings:
        fingerprint = _fingerprint(located)
        seen[fingerprint] += 1
        places = (located, *located.others)
        results.append(
            {
                "ruleId": located.finding.code,
                "ruleIndex": positions[located.finding.code],
                "level": _LEVELS[located.severity],
                "message": {"text": _message(located)},
                "locations": [_location(place, folder, source) for place in places],
                "partialFingerprints": {"row/v1": f"{fingerprint}:{seen[fingerprint]}"},
            }
        )
    return _document({"tool": {"driver": driver}, "results": results})


def mistakes_sarif(mistakes: Sequence[Mistake], folder: PurePath) -> str:
    """Return the mistakes that keep lint from reading the files, as a failed run.

    Each mistake is also a result, because most readers show only results.
    """
    summary = {"text": "A mistake in the files, for which no check could run."}
    driver = {
        "name": "proxyctl",
        "version": __version__,
        "rules": [{"id": _MISTAKE, "name": _MISTAKE, "shortDescription": summary}],
    }
    notes: list[dict[str, object]] = []
    for mistake in mistakes:
        key = f"{mistake.key}: " if mistake.key else ""
        advice = f" ({mistake.fix})" if mistake.fix else ""
        text = f"{key}{mistake.message}{advice}".encode("utf-8", "backslashreplace").decode()
        place = _place(mistake.path, mistake.line, mistake.column, folder)
        location = {"physicalLocation": place}
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
        "help": {"text": check.unlinked, "markdown": check.unlinked},
        "defaultConfiguration": {"level": _LEVELS[check.severity]},
    }


def _message(located: LocatedFinding) -> str:
    finding = located.finding
    advice = f" ({finding.fix})" if finding.fix else ""
    text = f"{row_text(finding)}: {finding.text}{advice}"
    return text.encode("utf-8", "backslashreplace").decode()


def _location(located: LocatedFinding, folder: PurePath, source: str) -> dict[str, object]:
    """Return where a finding is: its row, and its place in a file."""
    row = row_text(located.finding).encode("utf-8", "backslashreplace").decode()
    location: dict[str, object] = {"logicalLocations": [{"fullyQualifiedName": row, "kind": "row"}]}
    if located.where is not None:
        location["physicalLocation"] = _place(*located.where[:3], folder)
    elif source:
        location["physicalLocation"] = _place(source, 0, 0, folder)
    return location


def _place(path: str, line: int, column: int, folder: PurePath) -> dict[str, object]:
    place: dict[str, object] = {"artifactLocation": {"uri": _uri(path, folder)}}
    if line:
        place["region"] = {"startLine": line, "startColumn": max(column, 1)}
    return place


def _uri(path: str, folder: PurePath) -> str:
    file = PurePath(path)
    if file.is_absolute() and file.is_relative_to(folder):
        file = file.relative_to(folder)
    if file.is_absolute():
        return file.as_uri()
    # No `./` before a relative path: tools compare the texts.
    return quote(file.as_posix())


def _fingerprint(located: LocatedFinding) -> str:
    """Return a hash that identifies a finding even when its line moves."""
    finding = located.finding
    parts = [finding.code, finding.table, *map(str, finding.key), finding.column or ""]
    return sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]
