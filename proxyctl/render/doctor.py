"""The doctor's findings on one instance or a fleet, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.doctor.finding import Diagnosis, Examination, ExaminedFleet, listed
from proxyctl.lint.finding import Severity
from proxyctl.render.encode import INSTANCE, Shape
from proxyctl.render.fleet import FAILED, alike_text, counts_line, failures
from proxyctl.render.style import PLAIN, Style, instance_text, listed_names
from proxyctl.stats.units import size_text
from proxyctl.text import counted

MOST_PLACES = 20
"""Servers listed per finding; further servers are counted."""


def doctor_text(fleet: ExaminedFleet, style: Style = PLAIN, *, is_all: bool) -> str:
    """Return the findings; one line if there are none.

    `is_all`: render a fleet: the same findings of several instances once, then the instances that
    could not be read, and the counts.
    """
    if not is_all:
        return _page(instance_text(fleet.only()), fleet.only(), style)
    groups: dict[object, list[Examination]] = {}
    for examination in fleet.examined:
        if examination.findings:
            key = (examination.version, examination.findings, examination.ignored)
            groups.setdefault(key, []).append(examination)
    pages = []
    for group in groups.values():
        head = instance_text(group[0])
        if len(group) > 1:
            head = alike_text([examination.name for examination in group], group[0].version)
        pages.append(_page(head, group[0], style))
    return "\n".join([*pages, *failures(fleet.failed, style), _fleet_summary(fleet) + "\n"])


def _fleet_summary(fleet: ExaminedFleet) -> str:
    """Return the counts of instances by their worst finding, with names."""
    healthy = sum(examination.worst is None for examination in fleet.examined)
    parts = [f"{healthy} with nothing wrong"] if healthy else []
    for severity in Severity:
        names = [
            examination.name for examination in fleet.examined if examination.worst is severity
        ]
        if names:
            limit = "" if severity is Severity.ERROR else " at worst"
            parts.append(f"{len(names)} with {severity}s{limit}: {listed_names(names)}")
    return counts_line(len(fleet.examined), parts, fleet.failed)


def _page(head: str, examination: Examination, style: Style) -> str:
    ignored = f", {examination.ignored} ignored" if examination.ignored else ""
    memory = ""
    if examination.digest_bytes is not None:
        memory = f"; digests take {size_text(examination.digest_bytes)}"
    if not examination.findings:
        return f"{head}: nothing is wrong{ignored}{memory}\n"
    lines = [style("bold", f"{head}{memory}")]
    for finding in examination.findings:
        lines += _lines(finding, style)
    by_severity = examination.counts
    counts = ", ".join(counted(by_severity[s], str(s)) for s in Severity if by_severity[s])
    return "\n".join([*lines, f"{counts}{ignored}.", ""])


def _lines(finding: Diagnosis, style: Style) -> Iterator[str]:
    return style.finding(
        finding.severity,
        finding.where,
        finding.code,
        finding.message,
        finding.fix,
        places=listed(finding.places, MOST_PLACES),
    )


def doctor_json(fleet: ExaminedFleet, *, is_all: bool) -> str:
    """Return the findings. `is_all`: render a fleet: also the instances that could not be read."""
    return DOCTOR_ALL.document(fleet) if is_all else DOCTOR.document(fleet.only())


FINDING: Shape[Diagnosis] = Shape("finding of doctor", "code severity where places message fix")
DOCTOR: Shape[Examination] = Shape(
    "doctor",
    f"{INSTANCE} counts ignored digest_bytes findings",
    counts=lambda examination: {severity: examination.counts[severity] for severity in Severity},
    findings=lambda examination: FINDING.each(examination.findings),
)
DOCTOR_ALL: Shape[ExaminedFleet] = Shape(
    "doctor --all",
    "instances failed",
    instances=lambda fleet: DOCTOR.each(fleet.examined),
    failed=lambda fleet: FAILED.each(fleet.failed),
)
