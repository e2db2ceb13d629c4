"""What the doctor found, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.control_characters import printable
from proxyctl.doctor.examination import Examination
from proxyctl.doctor.finding import Finding, Severity
from proxyctl.doctor.fleet import ExaminedFleet
from proxyctl.errors import counted
from proxyctl.render.fleet_text import failures, fleet_of, listed_names
from proxyctl.render.style import PLAIN, Style

_COLOURS = {Severity.ERROR: "refuse", Severity.WARNING: "change", Severity.INFO: "dim"}


def doctor_text(examination: Examination, style: Style = PLAIN) -> str:
    """Return the findings, a block each; one line where there is none."""
    one = examination
    name = f"{printable(one.name)}  " if one.name != one.address else ""
    head = f"{name}{printable(one.address)}  ProxySQL {printable(one.version)}"
    if not one.findings:
        return f"{head}: nothing is wrong{_ignored(one)}\n"
    return _page(head, one, style)


def examined_fleet_text(fleet: ExaminedFleet, style: Style = PLAIN) -> str:
    """Return each page once, with who has it; those that could not be looked at; one line."""
    pages = []
    for alike in fleet.alike:
        if len(alike) == 1:
            pages.append(doctor_text(alike[0], style))
        else:
            named = listed_names([one.name for one in alike])
            count, version = counted(len(alike), "instance"), printable(alike[0].version)
            pages.append(_page(f"{named}  {count} alike, ProxySQL {version}", alike[0], style))
    return "\n".join([*pages, *failures(fleet.failed, style), _fleet_summary(fleet) + "\n"])


def _fleet_summary(fleet: ExaminedFleet) -> str:
    """Return how many are well, and who has what at worst."""
    well = [one for one in fleet.examined if one.gravest is None]
    parts = [f"{len(well)} with nothing wrong"] if well else []
    for severity in Severity:
        names = [one.name for one in fleet.examined if one.gravest is severity]
        if names:
            only = "" if severity is Severity.ERROR else " at worst"
            parts.append(f"{len(names)} with {_noun(severity)}s{only}: {listed_names(names)}")
    return fleet_of(len(fleet.examined) + len(fleet.failed), parts, fleet.failed)


def _page(head: str, examination: Examination, style: Style) -> str:
    lines = [style("bold", head)]
    for finding in examination.findings:
        lines += ["", *_block(finding, style)]
    return "\n".join([*lines, "", _summary(examination), ""])


def _block(finding: Finding, style: Style) -> Iterator[str]:
    severity = style(_COLOURS[finding.severity], str(finding.severity))
    yield f"{severity}  {printable(finding.where)}  ({finding.code})"
    yield f"  {printable(finding.message)}"
    yield f"  way out: {printable(finding.way_out)}"


def _summary(examination: Examination) -> str:
    counts = examination.counts
    parts = [counted(counts[s], _noun(s)) for s in Severity if counts[s]]
    return f"{', '.join(parts)}{_ignored(examination)}."


def _noun(severity: Severity) -> str:
    return "remark" if severity is Severity.INFO else str(severity)


def _ignored(examination: Examination) -> str:
    return f", {examination.ignored} ignored" if examination.ignored else ""
