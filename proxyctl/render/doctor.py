"""What the doctor found at one instance, or at many."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.doctor.finding import Examination, ExaminedFleet, Finding, listed
from proxyctl.errors import counted
from proxyctl.lint.check import Severity
from proxyctl.render.encode import INSTANCE, Shape
from proxyctl.render.fleet import FAILED, alike_text, failures, fleet_of
from proxyctl.render.style import PLAIN, Style, instance_text, listed_names
from proxyctl.stats.units import size_text

MOST_PLACES = 20
"""Servers that a finding names; the rest is counted."""


def doctor_text(fleet: ExaminedFleet, style: Style = PLAIN, *, is_all: bool) -> str:
    """Return the findings; one line where there is none.

    `is_all`: of a fleet, once for instances that have the same; then the failed ones, a summary.
    """
    if not is_all:
        return _page(instance_text(fleet.only()), fleet.only(), style)
    alike: dict[object, list[Examination]] = {}
    for one in fleet.examined:
        if one.findings:
            alike.setdefault((one.version, one.findings, one.ignored), []).append(one)
    pages = []
    for found in alike.values():
        head = instance_text(found[0])
        if len(found) > 1:
            head = alike_text([one.name for one in found], found[0].version)
        pages.append(_page(head, found[0], style))
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
    return fleet_of(len(fleet.examined), parts, fleet.failed)


def _page(head: str, one: Examination, style: Style) -> str:
    ignored = f", {one.ignored} ignored" if one.ignored else ""
    memory = f"; digests take {size_text(one.digest_bytes)}" if one.digest_bytes is not None else ""
    if not one.findings:
        return f"{head}: nothing is wrong{ignored}{memory}\n"
    lines = [style("bold", f"{head}{memory}")]
    for finding in one.findings:
        lines += _lines(finding, style)
    counts = ", ".join(counted(one.counts[s], str(s)) for s in Severity if one.counts[s])
    return "\n".join([*lines, f"{counts}{ignored}.", ""])


def _lines(one: Finding, style: Style) -> Iterator[str]:
    places = listed(one.places, MOST_PLACES)
    return style.finding(one.severity, one.where, one.code, one.message, one.fix, places=places)


def doctor_json(fleet: ExaminedFleet, *, is_all: bool) -> str:
    """Return the findings. `is_all`: of a fleet, with those that could not be read."""
    return DOCTOR_ALL.document(fleet) if is_all else DOCTOR.document(fleet.only())


FINDING: Shape[Finding] = Shape("finding of doctor", "code severity where places message fix")
DOCTOR: Shape[Examination] = Shape(
    "doctor",
    f"{INSTANCE} counts ignored digest_bytes findings",
    counts=lambda one: {severity: one.counts[severity] for severity in Severity},
    findings=lambda one: FINDING.each(one.findings),
)
DOCTOR_ALL: Shape[ExaminedFleet] = Shape(
    "doctor --all",
    "instances failed",
    instances=lambda one: DOCTOR.each(one.examined),
    failed=lambda one: FAILED.each(one.failed),
)
