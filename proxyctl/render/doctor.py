"""What the doctor found: for a terminal, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator

from proxyctl.doctor.finding import Examination, ExaminedFleet, Finding, Severity
from proxyctl.errors import counted
from proxyctl.render.fleet_text import failures, fleet_of, listed_names
from proxyctl.render.plan_machine import failed_object
from proxyctl.render.style import PLAIN, Style
from proxyctl.text import printable

FORMAT = 1

_COLOURS = {Severity.ERROR: "refuse", Severity.WARNING: "change", Severity.INFO: "dim"}


def doctor_text(one: Examination, style: Style = PLAIN) -> str:
    """Return the findings, a block each; one line where there is none."""
    name = f"{printable(one.name)}  " if one.name != one.address else ""
    return _page(f"{name}{printable(one.address)}  ProxySQL {printable(one.version)}", one, style)


def examined_fleet_text(fleet: ExaminedFleet, style: Style = PLAIN) -> str:
    """Return the findings, once for instances that have the same; the failed ones; a summary."""
    alike: dict[object, list[Examination]] = {}
    for one in fleet.examined:
        if one.findings:
            alike.setdefault((one.version, one.findings, one.ignored), []).append(one)
    pages = []
    for first, *others in alike.values():
        if others:
            count, names = len(others) + 1, listed_names([first.name, *(o.name for o in others)])
            head = f"{names}  {count} instances alike, ProxySQL {printable(first.version)}"
            pages.append(_page(head, first, style))
        else:
            pages.append(doctor_text(first, style))
    return "\n".join([*pages, *failures(fleet.failed, style), _fleet_summary(fleet) + "\n"])


def _fleet_summary(fleet: ExaminedFleet) -> str:
    """Return how many instances are well, and which have what at worst."""
    well = sum(one.worst is None for one in fleet.examined)
    parts = [f"{well} with nothing wrong"] if well else []
    for severity in Severity:
        names = [one.name for one in fleet.examined if one.worst is severity]
        if names:
            only = "" if severity is Severity.ERROR else " at worst"
            parts.append(f"{len(names)} with {severity}s{only}: {listed_names(names)}")
    return fleet_of(len(fleet.examined) + len(fleet.failed), parts, fleet.failed)


def _page(head: str, one: Examination, style: Style) -> str:
    ignored = f", {one.ignored} ignored" if one.ignored else ""
    if not one.findings:
        return f"{head}: nothing is wrong{ignored}\n"
    lines = [style("bold", head)]
    for finding in one.findings:
        lines += ["", *_block(finding, style)]
    counts = ", ".join(counted(one.counts[s], str(s)) for s in Severity if one.counts[s])
    return "\n".join([*lines, "", f"{counts}{ignored}.", ""])


def _block(finding: Finding, style: Style) -> Iterator[str]:
    severity = style(_COLOURS[finding.severity], str(finding.severity))
    yield f"{severity}  {printable(finding.where)}  ({finding.code})"
    yield f"  {printable(finding.message)}"
    yield f"  fix: {printable(finding.fix)}"


def doctor_json(one: Examination) -> str:
    """Return the findings as JSON. Shape: docs/reference/json-doctor.md."""
    return _written({"format": FORMAT, **_object(one)})


def examined_fleet_json(fleet: ExaminedFleet) -> str:
    """Return the findings of many instances; `failed` lists those that could not be read."""
    return _written(
        {
            "format": FORMAT,
            "instances": [_object(one) for one in fleet.examined],
            "failed": [failed_object(one) for one in fleet.failed],
        }
    )


def _object(one: Examination) -> dict[str, object]:
    return {
        "name": one.name,
        "address": one.address,
        "version": one.version,
        "counts": {str(severity): one.counts[severity] for severity in Severity},
        "ignored": one.ignored,
        "findings": [
            {
                "code": finding.code,
                "severity": str(finding.severity),
                "where": finding.where,
                "message": finding.message,
                "fix": finding.fix,
            }
            for finding in one.findings
        ],
    }


def _written(document: dict[str, object]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"
